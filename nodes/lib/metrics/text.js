'use strict';
// The text format of Prometheus, version 0.0.4: a HELP and a TYPE line for each family, then its samples, together.
// https://prometheus.io/docs/instrumenting/exposition_formats/

/** @typedef {'counter' | 'gauge' | 'summary'} Type */
/** @typedef {Record<string, string | number>} Labels */
/** @typedef {{suffix: string, labels: Labels, value: number}} Sample */
/** @template {string} F @typedef {readonly (readonly [field: F, name: string, help: string])[]} Rows */
/** @template {string} F @typedef {{ readonly [K in F]?: number | boolean | null }} Values */

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';
/** Most characters of a label value. Users choose the names of nodes. */
const MAX_LABEL = 128;

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
/** Control characters except the line feed, which has an escape. */
const CONTROLS = /(?!\n)\p{Cc}/gu;
/** Suffixes of a family's name, by type. */
const SUFFIXES = { counter: [''], gauge: [''], summary: ['', '_count', '_sum'] };

class Family {
  /**
   * @param {string} name with its unit, in base units
   * @param {Type} type
   * @param {string} help
   */
  constructor(name, type, help) {
    if (!NAME.test(name)) throw new TypeError(`${name} is not a metric name.`);
    this.name = name;
    this.type = type;
    this.help = help;
    /** By suffix and labels, because a duplicate would make the whole response invalid. @type {Map<string, Sample>} */
    this.samples = new Map();
  }

  /**
   * Adds a sample, unless its value is unknown (null, undefined, NaN).
   * @param {Labels} labels
   * @param {number | boolean | null | undefined} value
   * @param {string} [suffix] of a summary
   */
  add(labels, value, suffix = '') {
    const wrong = Object.keys(labels).find((name) => !LABEL.test(name) || name.startsWith('__'));
    if (wrong !== undefined) throw new TypeError(`${wrong} is not a label name.`);
    if (!SUFFIXES[this.type].includes(suffix)) throw new TypeError(`A ${this.type} has no ${suffix}.`);
    const number = Number(value ?? NaN);
    if (!Number.isFinite(number)) return;
    this.samples.set(suffix + labelText(labels), { suffix, labels, value: number });
  }

  toString() {
    const { name, type, help } = this;
    if (this.samples.size === 0) return '';
    const head = `# HELP ${name} ${escape(help)}\n# TYPE ${name} ${type}\n`;
    const lines = [...this.samples.values()].map(
      ({ suffix, labels, value }) => `${name}${suffix}${labelText(labels)} ${value}\n`
    );
    return head + lines.join('');
  }
}

/** @param {Labels} labels */
function labelText(labels) {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${quoted(String(value))}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

/** @param {string} text */
function quoted(text) {
  const characters = [...text.slice(0, 2 * MAX_LABEL)];
  const short =
    characters.length > MAX_LABEL || text.length > 2 * MAX_LABEL
      ? `${characters.slice(0, MAX_LABEL - 1).join('')}…`
      : text;
  // A lone surrogate has no UTF-8 form, and some parsers stop at a NUL.
  const whole = Buffer.from(short).toString().replace(CONTROLS, '\uFFFD');
  return escape(whole).replaceAll('"', '\\"');
}

/** @param {string} text */
function escape(text) {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** Families by name, in the order of their first use. */
class Exposition {
  constructor() {
    /** @type {Map<string, Family>} */
    this.families = new Map();
  }

  /** @param {string} name @param {Type} type @param {string} help @returns {Family} */
  family(name, type, help) {
    const known = this.families.get(name);
    if (known) return known;
    const family = new Family(name, type, help);
    this.families.set(name, family);
    return family;
  }

  /** @param {string} name @param {string} help */
  gauge(name, help) {
    return this.family(name, 'gauge', help);
  }

  /** @param {string} name ends with _total @param {string} help */
  counter(name, help) {
    return this.family(name, 'counter', help);
  }

  /**
   * Adds a sample to each of several gauges.
   * @template {string} F
   * @param {string} prefix of the names
   * @param {Rows<F>} rows
   * @param {Labels} labels
   * @param {Values<F>} values
   */
  gauges(prefix, rows, labels, values) {
    for (const [field, name, help] of rows) this.gauge(`${prefix}_${name}`, help).add(labels, values[field]);
  }

  /**
   * Adds a sample to each of several counters.
   * @template {string} F
   * @param {string} prefix of the names
   * @param {Rows<F>} rows names without the prefix and _total
   * @param {Labels} labels
   * @param {Values<F>} values
   */
  counters(prefix, rows, labels, values) {
    for (const [field, name, help] of rows)
      this.counter(`${prefix}_${name}_total`, help).add(labels, values[field]);
  }

  toString() {
    return [...this.families.values()].join('');
  }
}

exports.CONTENT_TYPE = CONTENT_TYPE;
exports.Exposition = Exposition;
exports.Family = Family;
