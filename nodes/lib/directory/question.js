'use strict';
// Reads a question: the parameters of GET q, or msg.question. Pure. A wrong one is a DirectoryError 400.

const { shown } = require('../base/values');
const { DirectoryError } = require('./directory-error');
const { roomTerm, termOf } = require('./terms');

const NAMES = ['property', 'room', 'type', 'device', 'text', 'maxAge', 'ask', 'format'];
const MAX_TEXT = 256;
const MAX_AGE_S = 31536000;
const MAX_ASK_S = 60;
/** @type {Record<string, number>} */
const UNITS = { s: 1, m: 60, h: 3600, d: 86400 };

/**
 * @typedef {object} Question
 * @property {import('./directory-store').Wanted} wanted
 * @property {Record<string, string>} given as it was asked
 * @property {number} maxAgeMs
 * @property {number} askMs 0 = the device is not asked
 * @property {'json' | 'jsonld'} format
 */

/**
 * @param {unknown} input parameters by name, or the text of a query such as property=Temperature&room=105
 * @param {{ maxAgeS: number, askMs: number }} usual
 * @returns {Question}
 */
function readQuestion(input, usual) {
  const query = /** @type {Record<string, unknown>} */ (
    typeof input === 'string' ? fromText(input) : (input ?? {})
  );
  if (typeof query !== 'object' || Array.isArray(query))
    throw wrong('A question is an object such as {"property":"Temperature","room":"105"}.');
  const unknown = Object.keys(query).find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw wrong(`There is no parameter "${shown(unknown)}". The parameters are ${NAMES.join(', ')}.`);
  /** @type {Record<string, string>} */
  const given = {};
  for (const name of NAMES) {
    const value = query[name];
    if (value === undefined || value === '') continue;
    const text = ['number', 'boolean'].includes(typeof value) ? String(value) : value;
    if (typeof text !== 'string' || text.length > MAX_TEXT)
      throw wrong(`${name} must be given once, with at most ${MAX_TEXT} characters.`);
    given[name] = text;
  }
  const { property = '', room = '', type = '', device = '', text = '', format = 'json' } = given;
  const wanted = { property: termOf(property), room: roomTerm(room), type: termOf(type), device, text };
  if (wanted.property === '')
    throw wrong('property is missing. Ask for example ?property=Temperature&room=105.');
  if (format !== 'json' && format !== 'jsonld')
    throw wrong(`format must be json or jsonld, not "${shown(format)}".`);
  if ((room && !wanted.room) || (type && !wanted.type))
    throw wrong('room and type must have letters or digits.');
  return {
    wanted,
    given,
    maxAgeMs: secondsOf('maxAge', given.maxAge, usual.maxAgeS, MAX_AGE_S) * 1000,
    askMs: secondsOf('ask', given.ask, usual.askMs / 1000, MAX_ASK_S) * 1000,
    format
  };
}

/** @param {string} text */
function fromText(text) {
  /** @type {Record<string, unknown>} */
  const query = {};
  for (const [name, value] of new URLSearchParams(text.slice(0, 4096)))
    query[name] = Object.hasOwn(query, name) ? [] : value;
  return query;
}

/** @param {string} name @param {string | undefined} text @param {number} usual @param {number} max */
function secondsOf(name, text, usual, max) {
  if (text === undefined) return usual;
  if (/^(false|no|off)$/i.test(text)) return 0;
  if (/^(true|yes|on)$/i.test(text)) return usual;
  const [, digits = '', unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)([smhd])?$/.exec(text) ?? [];
  const seconds = Number(digits || NaN) * UNITS[unit];
  if (!(seconds >= 0 && seconds <= max))
    throw wrong(
      `${name} must be seconds from 0 to ${max}, or a duration such as 90s or 5m, not "${shown(text)}".`
    );
  return seconds;
}

/** @param {string} sentence */
const wrong = (sentence) => new DirectoryError(400, sentence);

module.exports = { readQuestion };
