'use strict';
// What a row of the database becomes: a thing with its registration, terms for questions, candidates. Pure.

const { DISCOVERY_CONTEXT } = require('./terms');

/**
 * A property of a thing that may answer a question.
 * @typedef {Omit<import('./facts').Property, 'terms' | 'rooms' | 'desired'> & { thing: string, title: string, device: string,
 *   room: string, isMade: boolean }} Candidate
 */

/**
 * @param {any} row
 * @param {number} now ms since 1970
 * @returns {object} the thing with what the directory knows of its registration (WoT Discovery, 6.2.2.1)
 */
function enriched(row, now) {
  const td = withRegistration(JSON.parse(row.td), row);
  const context = [td['@context']].flat();
  if (!context.includes(DISCOVERY_CONTEXT)) context.splice(1, 0, DISCOVERY_CONTEXT);
  const retrieved = new Date(now).toISOString();
  return { ...td, '@context': context, registration: { ...td.registration, retrieved } };
}

/** @param {Record<string, any>} td @param {any} row @returns {Record<string, any>} */
function withRegistration(td, { created, modified, ttl, expires }) {
  const time = (/** @type {number} */ ms) => new Date(ms).toISOString();
  const registration = {
    created: time(created),
    modified: time(modified),
    ...(ttl !== null && { ttl }),
    ...(expires !== null && { expires: time(expires) })
  };
  return { ...td, registration };
}

/** @param {import('./facts').Facts} facts @returns {[string, string][]} */
function termsOf({ properties, rooms, types, device }) {
  const all = [
    ...properties.flatMap(({ terms }) => terms.map((term) => ['property', term])),
    ...[...rooms, ...properties.flatMap((each) => each.rooms)].map((term) => ['room', term]),
    ...types.map((term) => ['type', term]),
    ...(device ? [['device', device]] : [])
  ];
  const unique = new Map(all.map((each) => [each.join(' '), each]));
  return /** @type {[string, string][]} */ ([...unique.values()]);
}

/** @param {any} row @param {string} property @param {string} room @returns {Candidate[]} */
function candidatesOf({ id: thing, origin, facts }, property, room) {
  /** @type {import('./facts').Facts} */
  const { title, device, room: place, rooms, properties } = JSON.parse(facts);
  return properties
    .filter((each) => property === '' || each.terms.includes(property))
    .filter((each) => room === '' || (each.rooms.length > 0 ? each.rooms : rooms).includes(room))
    .map(({ name, unit, kind, command, payload, url }) => ({
      thing,
      title,
      device,
      room: place,
      isMade: origin === 'made',
      name,
      unit,
      kind,
      command,
      payload,
      url
    }));
}

module.exports = { candidatesOf, enriched, termsOf, withRegistration };
