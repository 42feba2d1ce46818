'use strict';
// The vocabularies of Thing Descriptions, and names that are compared without regard to how they are written. Pure.

/** Prefixes of the terms that made things use. A description may define others in its @context. */
const PREFIXES = {
  td: 'https://www.w3.org/2019/wot/td#',
  hctl: 'https://www.w3.org/2019/wot/hypermedia#',
  jsonschema: 'https://www.w3.org/2019/wot/json-schema#',
  discovery: 'https://www.w3.org/2022/wot/discovery#',
  rdf: 'http://www.w3.org/1999/02/22-rdf-syntax-ns#',
  rdfs: 'http://www.w3.org/2000/01/rdf-schema#',
  xsd: 'http://www.w3.org/2001/XMLSchema#',
  schema: 'https://schema.org/',
  saref: 'https://saref.etsi.org/core/',
  sosa: 'http://www.w3.org/ns/sosa/',
  ssn: 'http://www.w3.org/ns/ssn/',
  brick: 'https://brickschema.org/schema/Brick#',
  bot: 'https://w3id.org/bot#',
  seganet: 'urn:seganet:terms:'
};
const TD_CONTEXT = 'https://www.w3.org/2022/wot/td/v1.1';
const DISCOVERY_CONTEXT = 'https://www.w3.org/2022/wot/discovery';
/** What a made thing needs besides the context of Thing Descriptions. */
const OWN_CONTEXT = Object.fromEntries(
  /** @type {const} */ (['rdfs', 'saref', 'sosa', 'ssn', 'brick', 'bot', 'seganet']).map((name) => [
    name,
    PREFIXES[name]
  ])
);
/** The end of a type that names a device, such as TemperatureSensor. */
const DEVICE_SUFFIX = /(?:sensor|meter|actuator|detector)$/i;

/**
 * @param {string} name an IRI, a name with a prefix, or a plain name
 * @returns {string} what follows the last #, / or :
 */
function localName(name) {
  return name.slice(Math.max(...['#', '/', ':'].map((mark) => name.lastIndexOf(mark))) + 1);
}

/**
 * @param {string} name such as saref:Temperature, air_temperature or Temperature
 * @returns {string} for comparisons: letters and digits of the local name in lower case
 */
function termOf(name) {
  return localName(name)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** The version of the terms: a directory makes those of an older version again. */
const TERMS = 1;
const ROOM_IRI = /^(?:urn:|https?:\/\/)\S+$/i;
/** The word, with the character or the spaces behind it: Room 105, room-105. */
const ROOM_WORD = /^room(?:\s+|[^\p{L}\p{N}])?(?=.)/su;
const MINUS = /^[-\u2212](?=\p{N})/u;

/**
 * Returns a room for comparisons, without the word room: letters and digits in lower case, with one space for all that
 * is between them. A minus sign before a number stays: room -1.05 is below the ground.
 * @param {string} room such as 105, Room 105, A-1.05 or urn:seganet:room:105
 */
function roomTerm(room) {
  const name = ROOM_IRI.test(room) ? decoded(localName(room)) : room;
  const number = name.normalize('NFKC').toLowerCase().trim().replace(ROOM_WORD, '');
  const term = number.replace(/[^\p{L}\p{N}]+/gu, ' ').trim();
  return MINUS.test(number) ? `-${term}` : term;
}

/** @param {string} name part of an IRI */
function decoded(name) {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/**
 * @param {string} type such as saref:TemperatureSensor
 * @returns {string} what such a device measures: Temperature; '' = the type does not say
 */
function measuredBy(type) {
  const name = localName(type);
  return DEVICE_SUFFIX.test(name) ? name.replace(DEVICE_SUFFIX, '') : '';
}

module.exports = {
  DISCOVERY_CONTEXT,
  OWN_CONTEXT,
  PREFIXES,
  TD_CONTEXT,
  TERMS,
  localName,
  measuredBy,
  roomTerm,
  termOf
};
