'use strict';
// A setting is one row: its type, default and limits, and the environment variable that sets it in
// flows/gateway.json. The
// parser of the node, the check of the variable, `npm start -- --help` and the table of docs/reference/configuration.md
// derive from the row. Tests compare the dialogs and the engine's own limits with it.

const { cpuList } = require('../base/cpus');
const options = require('../base/options');

/** @typedef {import('../base/options').Parser<any>} AnyParser */

/**
 * What the text of a variable contains. The launcher checks it more strictly than the node's parser, which leaves it
 * to the code that uses the value (flows/launcher/variables.js).
 * @typedef {'host' | 'file' | 'folder' | 'url' | 'groups' | 'paths' | 'template' | 'rules' | 'permissions' |
 *   'bridges' | 'subscribers' | 'proxies' | 'database' | 'text'} Form
 */

/**
 * @typedef {object} Shared
 * @property {string} [variable] name of the environment variable
 * @property {string} [help] of the variable: Markdown with inline code only
 * @property {string} [shown] the variable's default for display, where it is not the value itself
 * @property {string | number | boolean} [initial] value of a new node and of the variable, if it is not `default`
 * @property {Form} [form]
 * @property {string} [unit]
 */

/**
 * `default` is the value of a property that is missing or blank. `max` of a text: of each number in it.
 * @typedef {Shared & (
 *   { type: 'integer', min: number, max: number, default: number } |
 *   { type: 'choice', values: readonly string[], default: string } |
 *   { type: 'flag', default: boolean } |
 *   { type: 'text', default: string, pattern?: RegExp, shape?: string, max?: number } |
 *   { type: 'secret' } |
 *   { type: 'numbers', max: number } |
 *   { type: 'durations' | 'weights' | 'patience' | 'cpus' } |
 *   { type: 'class', default: number } |
 *   { type: 'list' | 'json' }
 * )} Row
 * @typedef {Record<string, Row>} Rows by property
 */

/**
 * What the parser of a row returns.
 * @template R
 * @typedef {R extends { type: 'integer' | 'class' } ? number
 *   : R extends { type: 'choice', values: readonly (infer V)[] } ? V
 *   : R extends { type: 'flag' } ? boolean
 *   : R extends { type: 'numbers' | 'durations' | 'weights' | 'patience' } ? number[]
 *   : R extends { type: 'list' | 'json' } ? unknown
 *   : string} ValueOf
 */

/** @param {Row} row @returns {AnyParser} */
function parserOf(row) {
  switch (row.type) {
    case 'integer':
      return options.integer(row.min, row.max, row.default);
    case 'choice':
      return options.choice(row.values, row.default);
    case 'flag':
      return options.flag(row.default);
    case 'text':
      return options.text(row.default, row.pattern, row.shape);
    case 'secret':
      return options.secret;
    case 'numbers':
      return options.numbers(row.max);
    case 'durations':
      return options.durations();
    case 'weights':
      return options.weights();
    case 'patience':
      return options.patience();
    case 'cpus':
      return cpuList();
    case 'class':
      return options.recordClass(row.default);
    default:
      // The node reads the list and its JSON together.
      return (value) => value;
  }
}

/**
 * Returns the parsers of a node's properties.
 * @template {Rows} const T
 * @param {T} rows
 * @returns {{ [K in keyof T]: import('../base/options').Parser<ValueOf<T[K]>> }}
 */
function schemaOf(rows) {
  const parsers = Object.entries(rows).map(([name, row]) => [name, parserOf(row)]);
  return /** @type {any} */ (Object.fromEntries(parsers));
}

/** Returns the value of a new node and of the variable. @param {Row} row @returns {string | number | boolean} */
function initialOf(row) {
  return row.initial ?? ('default' in row ? row.default : '');
}

module.exports = { initialOf, parserOf, schemaOf };
