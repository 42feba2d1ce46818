'use strict';
// Reads a command's options: numbers with a range, texts and flags. Generates --help from them.

const { parseArgs } = require('node:util');

/**
 * @typedef {Record<string, [string, number, number, string]>} Numbers name → default, range, description
 * @typedef {Record<string, [string, string]>} Texts name → default, description
 */

/** @param {string} text @returns {never} */
function fail(text) {
  console.error(text);
  process.exit(2);
}

/** @param {string} intro @param {[string, string, string][]} rows name, default, description */
function help(intro, rows) {
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value, what]) => `  --${name.padEnd(width)}  ${what} (${value || 'none'})`);
  return `${intro}\n\nOptions (defaults in parentheses):\n${lines.join('\n')}\n`;
}

/**
 * @param {string} intro first lines of --help
 * @param {object} known
 * @param {Numbers} known.numbers
 * @param {Texts} known.texts
 * @param {Record<string, string>} [known.flags] name → description; these take no value
 */
function readArguments(intro, { numbers, texts, flags = {} }) {
  const valued = [...Object.keys(numbers), ...Object.keys(texts)];
  /** @type {Record<string, any>} */
  let values = {};
  try {
    ({ values } = parseArgs({
      options: Object.fromEntries([
        ...['help', ...Object.keys(flags)].map((name) => [name, { type: 'boolean' }]),
        ...valued.map((name) => [name, { type: 'string' }])
      ])
    }));
  } catch (error) {
    fail(`${/** @type {Error} */ (error).message}. See --help.`);
  }
  if (values.help) {
    /** @type {[string, string, string][]} */
    const rows = [
      ...Object.entries(numbers).map(([name, [value, , , what]]) => [name, value, what]),
      ...Object.entries(texts).map(([name, [value, what]]) => [name, value, what]),
      ...Object.entries(flags).map(([name, what]) => [name, 'off', what])
    ];
    console.log(help(intro, rows));
    process.exit(0);
  }
  return {
    /** @param {string} name */
    number: (name) => {
      const [fallback, min, max] = numbers[name];
      const value = Number(values[name] || fallback);
      if (!(value >= min && value <= max)) fail(`--${name} must be a number from ${min} to ${max}`);
      return value;
    },
    /** @param {string} name @returns {string} */
    text: (name) => values[name] || texts[name][0],
    /** @param {string} name */
    flag: (name) => Boolean(values[name])
  };
}

module.exports = { readArguments, fail };
