'use strict';
// What the directory remembers of a thing that was made from a device, beside its facts: the names that its records had
// before a restart, and what each of two sources made. Pure.

const { problemsOf } = require('./check-thing');

/** Names that are kept of a device, of those that its records have now and those of before. */
const MAX_KNOWN = 64;

/**
 * @typedef {object} Making
 * @property {[string, number][]} [known] names of the values in the device's records, and when they were last known: ms
 *   since 1970, 0 = in the run that wrote this
 * @property {boolean} [adds] true: the source adds to things that another source makes of the same device
 * @property {Parts} [parts] of two sources
 *
 * @typedef {object} Parts
 * @property {Record<string, any>} main of the source of the row
 * @property {Record<string, any>} added of the source that adds
 * @property {string} by that source
 */

/** @param {any} row @returns {Making} with all members, false or undefined = it has none */
function makingOf({ facts }) {
  const { known, adds = false, parts } = JSON.parse(facts);
  return { known, adds, parts };
}

/**
 * @param {any} row of a made thing
 * @param {string} source that asks
 * @param {number} since names that were known before this time are forgotten, ms since 1970
 * @returns {[string, number][]} names and when they were last known
 */
function knownOf(row, source, since) {
  const { known } = makingOf(row);
  // A file of an older version does not say which names are of records.
  const names = known ?? (row.source === source ? namesIn(JSON.parse(row.td)) : []);
  return names
    .map(([name, at]) => /** @type {[string, number]} */ ([name, at || Number(row.seen)]))
    .filter(([, at]) => at >= since);
}

/** The type of each property. One that a rule made has another one, too. */
const PLAIN_TYPE = 'sosa:ObservableProperty';

/**
 * @param {Record<string, any>} td
 * @returns {[string, number][]} names of properties that a rule has not made or placed
 */
function namesIn({ properties = {} }) {
  const plain = Object.entries(properties).filter(([, { '@type': types }]) =>
    [types ?? []].flat().every((/** @type {string} */ type) => type === PLAIN_TYPE)
  );
  return plain.map(([name]) => [name, 0]);
}

/**
 * @param {string[]} names that the records have
 * @param {[string, number][]} before
 * @returns {[string, number][]}
 */
function withNames(names, before) {
  const own = new Set(names);
  const others = before.filter(([name]) => !own.has(name));
  return [...names.map((name) => /** @type {[string, number]} */ ([name, 0])), ...others].slice(0, MAX_KNOWN);
}

/**
 * @param {any} before row of a made thing
 * @param {Making} old of this row
 * @param {{ td: Record<string, any>, source: string, adds: boolean }} made
 * @returns {Parts | undefined} undefined = the thing has one source
 */
function partsOf(before, { adds: isAdded, parts }, { td, source, adds }) {
  if (adds)
    return isAdded || before.source === source
      ? undefined
      : { main: parts?.main ?? JSON.parse(before.td), added: td, by: source };
  if (parts) return { ...parts, main: td };
  return isAdded ? { main: td, added: JSON.parse(before.td), by: before.source } : undefined;
}

/** @param {Parts} parts @returns {Record<string, any>} the thing of both; where they differ, that of the main source */
function merged({ main, added }) {
  const properties = { ...main.properties };
  const more = Object.entries(added.properties ?? {}).filter(([name]) => !Object.hasOwn(properties, name));
  const all = Object.fromEntries([...Object.entries(properties), ...more]);
  const whole = { ...added, ...main, ...(Object.keys(all).length > 0 && { properties: all }) };
  return problemsOf(whole).length > 0 ? main : whole;
}

module.exports = { knownOf, makingOf, merged, partsOf, withNames };
