'use strict';
// Records in the data of a Sparkplug edge node of a gateway, as docs/reference/messages.md describes them. The births
// name what the aliases in the data mean. All of it is network input.

const { deviceOfLevel } = require('../../base/sparkplug-topic');
const { setMember } = require('./cbor-reader');
const { MAX_DEPTH } = require('./json-reader');

/** @typedef {import('../items').Item} Item */
/** @typedef {import('./json-reader').JsonReader} JsonReader */
/** @typedef {import('../../base/sparkplug-payload').Payload} Payload */
/** @typedef {import('../../base/sparkplug-payload').Metric} Metric */
/** @typedef {import('../../base/sparkplug-topic').SparkplugTopic} SparkplugTopic */

/**
 * What an alias means.
 * @typedef {object} Meaning
 * @property {string} kind value, raw, record, trace or line
 * @property {string} topic of the records
 * @property {string[]} path of the value in the payload
 * @property {boolean} isJson the value is JSON text
 * @property {number} size see sizeOf()
 *
 * What is known of a device.
 * @typedef {object} Birth
 * @property {number} run of the gateway, FOREIGN = it is not from a gateway
 * @property {Map<number, Meaning>} aliases
 * @property {number} size of all of it
 */

const NOT_JSON = 'has a value that is not JSON';
const KINDS = ['value', 'raw', 'record', 'trace', 'line'];
/** Of all devices, and of one. A gateway has at most 65,536 at a time. One with long names counts as several. */
const MAX_ALIASES = 200000;
const NAME_CHARS = 128;
const MAX_DEVICE_ALIASES = 4096;
/** The number of the first record of a message: class, sequence number, run. */
const CLASS_RANGE = 2 ** 4;
const RECORD_RANGE = 2 ** 36;
const MAX_RUN = 65535;
const FOREIGN = 0;

/** The births of the devices behind gateways. */
class SparkplugBirths {
  /** The least recently used first. @type {Map<string, Birth>} */
  #devices = new Map();
  #size = 0;
  #most;

  /** @param {number} [most] aliases of all devices; births of the devices used least recently are forgotten */
  constructor(most = MAX_ALIASES) {
    this.#most = most;
  }

  /** @returns {number} known aliases, by size */
  get size() {
    return this.#size;
  }

  /**
   * Learns the birth of a device.
   * @param {SparkplugTopic} at
   * @param {Payload} payload
   * @returns {boolean} false: it is not from a gateway
   * @throws {TypeError} that ends the sentence "The birth …"
   */
  learn(at, { metrics }) {
    const run = metrics
      .map(({ properties }) => Number(properties.get('seganet.run')))
      .find((each) => each > 0);
    if (run === undefined) {
      if (!this.#take(at)) this.#keep(at, FOREIGN, new Map());
      return false;
    }
    if (metrics.length > MAX_DEVICE_ALIASES)
      throw new TypeError(`has ${metrics.length} metrics; at most ${MAX_DEVICE_ALIASES} are accepted`);
    const learned = metrics.map((metric) => /** @type {const} */ ([metric.alias, meaningOf(metric)]));
    const before = this.#take(at);
    // In one run of a gateway an alias keeps its meaning, and data of an earlier birth may come after this one.
    const aliases = before?.run === run ? before.aliases : new Map();
    for (const [alias, meaning] of learned) {
      aliases.delete(alias);
      aliases.set(alias, meaning);
    }
    for (const alias of aliases.keys()) {
      if (aliases.size <= MAX_DEVICE_ALIASES) break;
      aliases.delete(alias);
    }
    this.#keep(at, run, aliases);
    return true;
  }

  /** True if the device's birth is not from a gateway. @param {SparkplugTopic} at */
  isForeign(at) {
    return this.#take(at)?.run === FOREIGN;
  }

  /**
   * True if the birth that the data refers to is known.
   * @param {SparkplugTopic} at
   * @param {Payload} payload of which isOurs() is true
   */
  knows(at, { metrics }) {
    const device = this.#take(at);
    return device?.run === runOf(metrics) && metrics.every(({ alias }) => device.aliases.has(alias));
  }

  /**
   * @param {SparkplugTopic} at
   * @param {Payload} payload whose birth is known
   * @param {JsonReader} json
   * @returns {Generator<Item>}
   */
  *items(at, { metrics }, json) {
    const { aliases } = /** @type {Birth} */ (this.#take(at));
    const entries = metrics.map((metric) => ({
      metric,
      meaning: /** @type {Meaning} */ (aliases.get(metric.alias))
    }));
    const device = deviceOfLevel(at.device);
    let number = 0;
    for (let from = 0; from < entries.length;) {
      let to = from + 1;
      while (to < entries.length && entries[to].meaning.kind !== 'record') to++;
      number++;
      try {
        yield { number, fields: recordOf(device, entries.slice(from, to), json) };
      } catch (error) {
        yield { number, reason: /** @type {Error} */ (error).message };
      }
      from = to;
    }
  }

  /** Finds a device, and makes it the most recently used. @param {SparkplugTopic} at */
  #take(at) {
    const name = nameOf(at);
    const device = this.#devices.get(name);
    if (!device) return undefined;
    this.#devices.delete(name);
    this.#devices.set(name, device);
    return device;
  }

  /** @param {SparkplugTopic} at @param {number} run @param {Map<number, Meaning>} aliases */
  #keep(at, run, aliases) {
    const name = nameOf(at);
    let size = aliases.size > 0 ? sizeOf(name) - 1 : sizeOf(name);
    for (const meaning of aliases.values()) size += meaning.size;
    this.#size += size - (this.#devices.get(name)?.size ?? 0);
    this.#devices.set(name, { run, aliases, size });
    this.#forget();
  }

  #forget() {
    for (const [name, { size }] of this.#devices) {
      if (this.#size <= this.#most || this.#devices.size === 1) return;
      this.#devices.delete(name);
      this.#size -= size;
    }
  }
}

/** @param {SparkplugTopic} at */
function nameOf({ group, node, device }) {
  return `${group}/${node}/${device}`;
}

/** Returns how many aliases with short names need as much memory as one with this name. @param {string} name */
function sizeOf(name) {
  return Math.max(1, Math.ceil(name.length / NAME_CHARS));
}

/** @param {Metric[]} metrics of data @returns {number} 0 = the data is not from a gateway */
function runOf([first]) {
  const isNumber = first && first.name === '' && first.alias > 0 && Number.isSafeInteger(first.value);
  const run = isNumber ? Math.floor(Number(first.value) / RECORD_RANGE) : 0;
  return run <= MAX_RUN ? run : 0;
}

/** True if the data may be from a gateway. @param {Payload} payload */
function isOurs({ metrics }) {
  return runOf(metrics) > 0;
}

/** @param {Metric} metric of a birth @returns {Meaning} */
function meaningOf({ alias, name, properties }) {
  const kind = String(properties.get('seganet.meaning'));
  if (!(alias > 0) || !KINDS.includes(kind))
    throw new TypeError(`has the unknown metric '${name.slice(0, 80)}'`);
  const pointer = String(properties.get('seganet.path') ?? '');
  if (pointer !== '' && pointer[0] !== '/') throw new TypeError('has a path that is no JSON pointer');
  // A hostile one may have millions of levels.
  const parts = pointer.split('/', MAX_DEPTH + 2).slice(1);
  if (parts.length > MAX_DEPTH) throw new TypeError(`has a path of more than ${MAX_DEPTH} levels`);
  const path = parts.map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const topic = String(properties.get('seganet.topic') ?? '');
  const isJson = properties.get('seganet.json') !== undefined;
  return { kind, topic, path, isJson, size: sizeOf(topic + pointer) };
}

/**
 * @param {string} device
 * @param {{ metric: Metric, meaning: Meaning }[]} entries the record's own metric, and its values
 * @param {JsonReader} json
 * @returns {Record<string, unknown>} the fields of an NDJSON line; `b` is a Buffer
 */
function recordOf(device, [{ metric, meaning }, ...values], json) {
  const number = Number(metric.value) % RECORD_RANGE;
  if (meaning.kind !== 'record' || !Number.isSafeInteger(number) || number < 0)
    throw new TypeError('has no number');
  const traces = values.filter((each) => each.meaning.kind === 'trace');
  const rest = values.filter((each) => each.meaning.kind !== 'trace');
  if (rest.length === 0) throw new TypeError('has no value');
  if (rest[0].meaning.kind === 'line') return fieldsOfLine(rest, json);
  const { topic } = rest[0].meaning;
  if (rest.some((each) => each.meaning.topic !== topic)) throw new TypeError('has values of several topics');
  // The first space ends the traceparent; others are in the tracestate.
  const [traceparent, ...states] = String(traces[0]?.metric.value ?? '').split(' ');
  const tracestate = states.join(' ');
  return {
    d: device,
    t: topic,
    ts: metric.timestamp,
    s: Math.floor(number / CLASS_RANGE),
    c: number % CLASS_RANGE,
    ...(traceparent && { traceparent }),
    ...(tracestate && { tracestate }),
    ...(rest[0].meaning.kind === 'raw' ? { b: bytesOf(rest) } : { p: payloadOf(rest, json) })
  };
}

/** @typedef {{ metric: Metric, meaning: Meaning }[]} Values */

/** @param {Values} values @param {JsonReader} json */
function fieldsOfLine(values, json) {
  const [{ metric }] = values;
  const fields =
    values.length === 1 && typeof metric.value === 'string'
      ? json.parse(metric.value, { around: 1, wrong: NOT_JSON })
      : null;
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    throw new TypeError('has a line that is not an object');
  return { ...fields, k: undefined };
}

/** @param {Values} values @returns {Buffer} */
function bytesOf(values) {
  const [{ metric }] = values;
  if (values.length === 1 && typeof metric.value === 'string') return Buffer.from(metric.value);
  if (values.length === 1 && Buffer.isBuffer(metric.value)) return Buffer.from(metric.value);
  throw new TypeError('has a payload that is neither text nor bytes');
}

/** @param {Values} values @param {JsonReader} json */
function payloadOf(values, json) {
  const [first] = values;
  if (first.meaning.path.length === 0 && values.length === 1) return valueOf(first, json);
  const object = {};
  for (const each of values) {
    if (each.meaning.kind !== 'value' || each.meaning.path.length === 0)
      throw new TypeError('has several values of which one is the payload');
    setAt(object, each.meaning.path, valueOf(each, json));
  }
  return object;
}

/** @param {Values[number]} value @param {JsonReader} json */
function valueOf({ metric: { value }, meaning }, json) {
  if (value === undefined || Buffer.isBuffer(value)) throw new TypeError('has a value of an unknown type');
  return meaning.isJson && value !== null ? json.parse(String(value), { wrong: NOT_JSON }) : value;
}

/**
 * @param {Record<string, any>} object
 * @param {string[]} path
 * @param {unknown} value
 */
function setAt(object, path, value) {
  let inner = object;
  for (const name of path.slice(0, -1)) {
    if (!Object.hasOwn(inner, name)) setMember(inner, name, {});
    inner = Object.getOwnPropertyDescriptor(inner, name)?.value;
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      throw new TypeError('has a value inside another one');
  }
  setMember(inner, path[path.length - 1], value);
}

module.exports = { SparkplugBirths, isOurs };
