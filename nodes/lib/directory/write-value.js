'use strict';
// WoT writeproperty: the value becomes what is desired of the device, in its shadow.

const { shown } = require('../base/values');
const { DirectoryError } = require('./directory-error');
const { factsOf } = require('./facts');
const { isObject } = require('./merge-patch');

/** @typedef {import('./directory').Directory} Directory */

/**
 * @param {Directory} directory
 * @param {{ thing?: unknown, property?: unknown }} query
 * @param {unknown} body {"value":…}; other members, such as those of an answer, do not count
 * @returns {Promise<string>} the device, when what is desired is on disk
 * @throws {DirectoryError}
 */
async function writeValue(directory, { thing, property }, body) {
  if (typeof thing !== 'string' || typeof property !== 'string')
    throw new DirectoryError(400, 'thing and property must be given once.');
  if (!isObject(body) || !Object.hasOwn(body, 'value'))
    throw new DirectoryError(400, 'The body must be an object with the value, such as {"value":21}.');
  const { device, properties } = factsOf(await directory.ask('get', { id: thing }));
  const known = properties.find(({ name }) => name === property);
  if (!known) throw new DirectoryError(404, `The thing has no property ${shown(property)}.`);
  if (device === '' || known.desired === '')
    throw new DirectoryError(
      403,
      `The property ${shown(property)} cannot be written. Add "write" to a rule of the find node, or "seganet:desired" to a posted thing.`
    );
  await directory.desire(device, JSON.stringify({ desired: stateOf(known.desired, body.value) }));
  return device;
}

/**
 * @param {string} path names of the levels, with dots between them
 * @param {unknown} value
 */
function stateOf(path, value) {
  return path
    .split('.')
    .reduceRight((/** @type {unknown} */ inner, level) => Object.fromEntries([[level, inner]]), value);
}

exports.writeValue = writeValue;
