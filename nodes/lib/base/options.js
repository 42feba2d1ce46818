'use strict';
// Parses a node's properties. A property may come from the dialog (string), from a flow file (number) or from the
// environment (string), so each is parsed and checked once, here. An error is a sentence with a remedy.

const { CLASS_WORDS, classOf } = require('./classes');
const { numbersByClass, durationsByClass, patienceByClass, weightsByClass } = require('./by-class');
const { asText, shown } = require('./values');
const { variableIn } = require('./variable-reference');

/**
 * Turns one property into its value. Throws a RangeError whose message completes "<label> …".
 * @template T
 * @typedef {(value: unknown) => T} Parser
 */

/**
 * @param {unknown} value
 * @returns {boolean} true if the default applies: no value, or a variable that is not set
 */
function isBlank(value) {
  return value === undefined || value === null || (typeof value === 'string' && /^\s*$/.test(value));
}

/**
 * @param {unknown} value
 * @returns {unknown} '' for a reference to a variable that is not set, which Node-RED does not replace
 */
function resolved(value) {
  return typeof value === 'string' && variableIn(value.trim()) ? '' : value;
}

/**
 * @param {number} min
 * @param {number} max
 * @param {number} fallback
 * @returns {Parser<number>}
 */
function integer(min, max, fallback) {
  return (value) => {
    if (isBlank(value)) return fallback;
    const number =
      typeof value === 'number' ? value : /^\s*-?\d+\s*$/.test(asText(value)) ? Number(value) : NaN;
    if (!Number.isInteger(number) || number < min || number > max) {
      throw new RangeError(`must be a whole number from ${min} to ${max}, not "${shown(value)}".`);
    }
    return number;
  };
}

/**
 * @param {number} fallback for a blank
 * @param {number} [min]
 * @param {number} [max]
 * @returns {Parser<number>}
 */
function decimal(fallback, min = -Infinity, max = Infinity) {
  return (value) => {
    if (isBlank(value)) return fallback;
    const number = typeof value === 'object' ? NaN : Number(value);
    if (Number.isFinite(number) && number >= min && number <= max) return number;
    const from = min === -Infinity ? '' : ` from ${min}`;
    const to = max === Infinity ? '' : ` to ${max}`;
    throw new RangeError(`must be a number${from}${to}, not "${shown(value)}".`);
  };
}

/**
 * @template {string} T
 * @param {readonly T[]} values
 * @param {T} fallback
 * @returns {Parser<T>}
 */
function choice(values, fallback) {
  return (value) => {
    if (isBlank(value)) return fallback;
    const found = values.find((candidate) => candidate === asText(value).trim());
    if (found === undefined)
      throw new RangeError(`must be one of ${values.join(', ')}, not "${shown(value)}".`);
    return found;
  };
}

/**
 * @param {string} fallback
 * @param {RegExp} [pattern]
 * @param {string} [shape] the pattern in words, completes "must be …"
 * @returns {Parser<string>}
 */
function text(fallback, pattern, shape) {
  return (value) => {
    if (isBlank(value)) return fallback;
    const string = asText(value).trim();
    if (pattern && !pattern.test(string)) throw new RangeError(`must be ${shape}, not "${shown(string)}".`);
    return string;
  };
}

/**
 * Parses a password. Spaces count.
 * @type {Parser<string> & { takesAll?: true }}
 */
const secret = Object.assign(
  (/** @type {unknown} */ value) => {
    if (value === undefined || value === null) return '';
    // A password of digits may be a number in JSON.
    if (!['string', 'number'].includes(typeof value)) throw new RangeError('must be text.');
    const string = String(value);
    // An unset variable is blank. Any other text of a similar form is a password.
    return /^\$[{(][A-Za-z_]\w*[})]$/.test(string) ? '' : string;
  },
  { takesAll: /** @type {const} */ (true) }
);

/**
 * Parses a check box. In the environment it is yes or no.
 * @param {boolean} fallback
 * @returns {Parser<boolean>}
 */
function flag(fallback) {
  return (value) => {
    if (isBlank(value)) return fallback;
    if (/^(true|yes|on|1)$/i.test(asText(value).trim())) return true;
    if (/^(false|no|off|0)$/i.test(asText(value).trim())) return false;
    throw new RangeError(`must be yes or no, not "${shown(value)}".`);
  };
}

/**
 * Parses a class, given by its number or name.
 * @param {number} fallback 0 = no class
 * @returns {Parser<number>}
 */
function recordClass(fallback) {
  return (value) => {
    if (isBlank(value)) return fallback;
    const number = classOf(value);
    if (number < 1) throw new RangeError(`must be a class: ${CLASS_WORDS}, not "${shown(value)}".`);
    return number;
  };
}

/**
 * Parses numbers by class, beginning with class 1. Blank: zeros.
 * @param {number} max
 * @returns {Parser<number[]>} index = class
 */
function numbers(max) {
  return (value) => sentence(() => numbersByClass(value, max));
}

/**
 * Parses durations by class, beginning with class 1, such as 0,0,7d,1d. Blank: zeros.
 * @returns {Parser<number[]>} seconds, index = class
 */
function durations() {
  return (value) => sentence(() => durationsByClass(value));
}

/**
 * Parses weights such as 0,8,4,1. Class 1 has none.
 * @returns {Parser<number[]>} index = class
 */
function weights() {
  return (value) => sentence(() => weightsByClass(value));
}

/**
 * Parses times to wait such as 0,100,1000,10000. Class 1 has none.
 * @returns {Parser<number[]>} ms, index = class
 */
function patience() {
  return (value) => sentence(() => patienceByClass(value));
}

/**
 * @template T
 * @param {() => T} parse
 * @returns {T}
 */
function sentence(parse) {
  try {
    return parse();
  } catch (error) {
    throw new RangeError(`${/** @type {Error} */ (error).message}.`, { cause: error });
  }
}

/**
 * Applies a parser to each property that the schema names.
 * @template {Record<string, Parser<any>>} S
 * @param {object} config the node's configuration
 * @param {S} schema
 * @returns {{ values: { [K in keyof S]: ReturnType<S[K]> }, problems: string[] }} no problems: all are valid
 */
function parseOptions(config, schema) {
  const given = /** @type {Record<string, unknown>} */ (config);
  const values = /** @type {Record<string, unknown>} */ ({});
  /** @type {string[]} */
  const problems = [];
  for (const [name, parse] of Object.entries(schema)) {
    try {
      values[name] = parse('takesAll' in parse ? given[name] : resolved(given[name]));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      problems.push(
        `"${name}" ${reason} Correct it in the node, or in the environment variable that the node uses.`
      );
    }
  }
  return { values: /** @type {any} */ (values), problems };
}

module.exports = {
  integer,
  choice,
  decimal,
  text,
  flag,
  secret,
  recordClass,
  numbers,
  durations,
  weights,
  patience,
  parseOptions,
  isBlank
};
