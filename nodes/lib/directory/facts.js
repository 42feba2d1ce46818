'use strict';
// What questions look for in a Thing Description: what it measures, where it is, and of which type it is. Pure.

const { isObject } = require('./merge-patch');
const { localName, measuredBy, roomTerm, termOf } = require('./terms');

/** Members, by their local names, that say where a thing or one of its properties is. */
const PLACES = new Set(['haslocation', 'islocatedin', 'location', 'room', 'hasspace']);
/** Members that say what is measured. */
const MEASURES = new Set(['measuresproperty', 'observes', 'relatestoproperty', 'forproperty']);
const MAX_TERMS = 16;

/**
 * @typedef {object} Property
 * @property {string} name
 * @property {string[]} terms what it may be called in a question
 * @property {string[]} rooms terms; empty = those of the thing
 * @property {string} unit '' = unknown
 * @property {string} kind the IRI or name with a prefix of what it measures, '' = unknown
 * @property {string} command topic of the command that asks for it, '' = none
 * @property {string} payload of that command
 * @property {string} url that answers with the value, '' = none
 * @property {string} desired key of the device's shadow by which it can be written, '' = none
 *
 * @typedef {object} Facts
 * @property {string} title
 * @property {string} device id of the device in the gateway, '' = unknown
 * @property {string[]} types terms
 * @property {string[]} rooms terms
 * @property {string} room as it is written, '' = unknown
 * @property {string} words for the text search
 * @property {Property[]} properties
 */

/** Longest text that each answer repeats, in characters. */
const MAX_TEXT = 1024;

/**
 * @param {Record<string, any>} td valid
 * @returns {Facts}
 */
function factsOf(td) {
  const own = namesOf(td['@type']);
  const places = placesOf(td);
  const device = typeof td['seganet:device'] === 'string' ? td['seganet:device'] : '';
  const properties = Object.entries(isObject(td.properties) ? td.properties : {});
  const measured = own.map(measuredBy).filter(Boolean);
  return {
    title: short(td.title),
    device,
    types: unique(own.map(termOf)),
    rooms: unique(places.map(roomTerm)),
    room: short(places[0]),
    words: [
      td.title,
      td.description ?? '',
      device,
      ...own,
      ...places,
      ...properties.map(([name]) => name)
    ].join(' '),
    properties: properties.map(([name, affordance]) =>
      // A thermometer with one property measures the temperature by it, however the property is called.
      propertyOf(name, affordance, properties.length === 1 ? measured : [])
    )
  };
}

/** @param {unknown} value @returns {string} */
const short = (value) => (typeof value === 'string' ? value.slice(0, MAX_TEXT) : '');

/** @param {string} name @param {any} affordance @param {string[]} more @returns {Property} */
function propertyOf(name, affordance, more) {
  const kinds = [...namesOf(affordance['@type']), ...membersOf(affordance, MEASURES)];
  const command = isObject(affordance['seganet:command']) ? affordance['seganet:command'] : {};
  const hrefs = affordance.forms.map((/** @type {{ href: string }} */ { href }) => href);
  // Part of a topic, payload or address would mean something else.
  const asked = (/** @type {unknown} */ value) =>
    typeof value === 'string' && value.length <= MAX_TEXT ? value : '';
  return {
    name,
    terms: unique([name, ...kinds, ...more].map(termOf)),
    rooms: unique(placesOf(affordance).map(roomTerm)),
    unit: short(affordance.unit),
    kind: short(kinds.find((each) => !/ObservableProperty$|^Property$/.test(localName(each))) ?? more[0]),
    command: asked(command.topic),
    payload: asked(command.payload),
    desired: affordance.readOnly === true ? '' : asked(affordance['seganet:desired']),
    // A form may come from a device, and must not make the gateway send requests to any address.
    url:
      asked(affordance['seganet:ask']) ||
      asked(hrefs.find((/** @type {string} */ href) => href.startsWith('ocf://')))
  };
}

/** @param {Record<string, any>} value @returns {string[]} labels and ids of its places, the best name first */
function placesOf(value) {
  return membersOf(value, PLACES);
}

/** @param {Record<string, any>} value @param {Set<string>} wanted @returns {string[]} */
function membersOf(value, wanted) {
  return Object.entries(value)
    .filter(([key]) => wanted.has(termOf(key)))
    .flatMap(([, member]) => (Array.isArray(member) ? member : [member]))
    .flatMap((member) => {
      if (typeof member === 'string' || typeof member === 'number') return [String(member)];
      if (!isObject(member)) return [];
      const names = Object.entries(member).filter(([key]) =>
        ['label', 'name', 'title'].includes(termOf(key))
      );
      return [...names.map(([, name]) => name), member['@id'] ?? member.id].filter(
        (name) => typeof name === 'string'
      );
    })
    .slice(0, MAX_TERMS);
}

/** @param {unknown} types @returns {string[]} */
function namesOf(types) {
  return (Array.isArray(types) ? types : [types])
    .filter((type) => typeof type === 'string')
    .slice(0, MAX_TERMS);
}

/** @param {string[]} terms */
const unique = (terms) => [...new Set(terms)].filter(Boolean);

module.exports = { factsOf };
