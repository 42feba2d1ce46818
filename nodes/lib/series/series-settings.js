'use strict';
// Settings of a series node.

const { choice, integer, text } = require('../base/options');
const { shown } = require('../base/values');
const { parsePath } = require('./json-path');
const { MAX_NAME_BYTES, UNFIT } = require('./numbers');

const SEARCH = /** @type {const} */ (['off', 'latest', 'all']);
const MAX_CHOICES = 64;

const schema = {
  folder: text(''),
  values: text(''),
  names: choice(/** @type {const} */ (['payload', 'topic']), 'payload'),
  maxValues: integer(1, 1000, 64),
  maxSeries: integer(1, 100000, 10000),
  maxPoints: integer(1000, 10000000, 1000000),
  days: integer(1, 3650, 30),
  meansDays: integer(0, 36500, 730),
  limitMiB: integer(8, 1048576, 1024),
  search: choice(SEARCH, 'latest'),
  searchMiB: integer(1, 65536, 64)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} SeriesSettings */

/**
 * @param {string} list "name = path" or only a path, separated by commas or lines; '' = none
 * @returns {import('./numbers').Choice[]}
 * @throws {RangeError} with a sentence
 */
function parseChoices(list) {
  const entries = parts(list);
  if (entries.length > MAX_CHOICES)
    throw new RangeError(`The node takes at most ${MAX_CHOICES} values, not ${entries.length}.`);
  const choices = entries.map((entry) => {
    // An equals sign in brackets belongs to a key.
    const [, given = '', path = ''] = /^([^=["']*)=(.*)$/s.exec(entry) ?? ['', '', entry];
    const keys = parsePath(path.trim());
    const name = given.trim() || String(keys.at(-1) ?? '') || 'value';
    if (Buffer.byteLength(name) > MAX_NAME_BYTES || name.search(UNFIT) >= 0)
      throw new RangeError(
        `The name "${shown(name)}" must have at most ${MAX_NAME_BYTES} bytes, and no bar or control character.`
      );
    return { name, keys };
  });
  const names = choices.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined)
    throw new RangeError(`The name "${shown(twice)}" occurs twice. Enter name = path.`);
  return choices;
}

/** @param {string} list */
function parts(list) {
  // A comma in quotes belongs to a key.
  const found = list.match(/(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[^,\n])+/g) ?? [];
  return found.map((part) => part.trim()).filter(Boolean);
}

module.exports = { parseChoices, schema };
