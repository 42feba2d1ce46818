'use strict';
// Joins the generator's report of sent records with the sink's report of arrived records.

/**
 * @typedef {{device: number, kind: number, issued: number, unacked: [number, number][],
 *           longestUs?: number}} SentStream longestUs: from the intended time of a message to its acknowledgement
 * @typedef {{device: number, kind: number, next: number, missing: [number, number][]}} ArrivedStream
 */

/** Kinds of records, numbered as in the generator's payloads ("k"), with the class that the gateway's rules assign. */
const kinds = [
  { name: 'normal', class: 3 },
  { name: 'alarm', class: 1 },
  { name: 'high', class: 2 },
  { name: 'bulk', class: 4 }
];

/** @param {number} device @param {number} kind */
const key = (device, kind) => device * kinds.length + kind;

/**
 * Counts lost records. A record is lost if its device has an acknowledgement and it did not arrive. The gateway never
 * promised delivery of an unacknowledged record.
 * @param {SentStream[]} sent @param {ArrivedStream[]} arrived
 * @returns {{lost: number, lostAlarms: number, lostByClass: Record<number, number>, missingUnacked: number,
 *            examples: string[]}}
 */
function compareStreams(sent, arrived) {
  const byKey = new Map(arrived.map((stream) => [key(stream.device, stream.kind), stream]));
  const result = {
    lost: 0,
    lostAlarms: 0,
    /** Includes classes that were sent and lost nothing. @type {Record<number, number>} */
    lostByClass: {},
    missingUnacked: 0,
    examples: /** @type {string[]} */ ([])
  };
  for (const stream of sent) {
    const found = byKey.get(key(stream.device, stream.kind));
    const kind = kinds[stream.kind];
    if (stream.issued > 0) result.lostByClass[kind.class] ??= 0;
    const gaps = found ? [...found.missing] : [];
    const next = found ? found.next : 0;
    if (next < stream.issued) gaps.push([next, stream.issued - 1]);
    const unacked = new Set(stream.unacked.map(([seq]) => seq));
    for (const [from, to] of gaps) {
      for (let seq = from; seq <= to; seq += 1) {
        if (unacked.has(seq)) {
          result.missingUnacked += 1;
          continue;
        }
        result.lost += 1;
        result.lostByClass[kind.class] += 1;
        if (kind.name === 'alarm') result.lostAlarms += 1;
        if (result.examples.length < 5) {
          result.examples.push(`device ${stream.device} ${kind.name} ${seq}`);
        }
      }
    }
  }
  return result;
}

module.exports = { compareStreams };
