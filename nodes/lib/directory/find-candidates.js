'use strict';
// The query behind a question: the properties of things that may answer it.

const { candidatesOf } = require('./thing-rows');

const MAX_CANDIDATES = 10000;

/**
 * @typedef {{ property: string, room: string, type: string, device: string, text: string }} Wanted terms, '' = any;
 *   device: an id; text: words
 */

/**
 * Finds properties that may answer a question. REQUIRES: the property is given.
 * @param {import('./directory-database').Database} db
 * @param {Wanted} wanted
 * @returns {import('./thing-rows').Candidate[]} in no particular order, at most MAX_CANDIDATES
 */
function findCandidates(db, { property, room, type, device, text }) {
  /** @type {[string, string][]} */
  const terms = [
    ['device', device],
    ['room', room],
    ['type', type],
    ['property', property]
  ];
  const given = terms.filter(([, term]) => term !== '');
  const words = text.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (text !== '' && words.length === 0) return [];
  const values = given.flat();
  // The first condition drives the query by its index, so the one that few things meet comes first.
  /** @type {string[]} */
  const conditions = given.map((_each, i) =>
    i === 0
      ? 'fact.kind = ? AND fact.term = ?'
      : 'EXISTS (SELECT 1 FROM fact AS f WHERE f.kind = ? AND f.term = ? AND f.thing = fact.thing)'
  );
  if (words.length > 0) {
    conditions.push('n IN (SELECT rowid FROM thing_text WHERE thing_text MATCH ?)');
    values.push(words.map((word) => `"${word}"`).join(' '));
  }
  const sql = `SELECT id, origin, facts FROM fact JOIN thing ON thing.n = fact.thing
    WHERE ${conditions.join(' AND ')} LIMIT ${MAX_CANDIDATES}`;
  const found = [];
  for (const row of db.prepare(sql).all(...values)) {
    found.push(...candidatesOf(row, property, room));
    if (found.length >= MAX_CANDIDATES) break;
  }
  return found.slice(0, MAX_CANDIDATES);
}

exports.findCandidates = findCandidates;
