'use strict';
// The order of devices that could answer a question. The same facts give the same order. Pure.

/** Steps of the time since a device was last seen, s. Within a step, the signal decides. */
const SEEN_STEPS = [10, 60, 600, 3600, 86400];
/** Width of a step of the signal, dB. */
const SIGNAL_STEP = 10;
/** A device without a radio, or with an unknown signal, dBm. */
const USUAL_RSSI = -70;
/** An unknown class comes after all classes. */
const NO_CLASS = 9;

/**
 * @typedef {object} Facts
 * @property {number} seenMs since the device was last seen, Infinity = never
 * @property {number | null} rssi dBm
 * @property {number} cls 0 = unknown
 *
 * @typedef {Facts & { id: string, name: string, isMade: boolean }} Ranked id of the thing, name of its property
 */

/** @param {Facts} facts @returns {number[]} smaller is better, the first number first */
function keyOf({ seenMs, rssi, cls }) {
  const step = SEEN_STEPS.findIndex((seconds) => seenMs <= seconds * 1000);
  return [
    step < 0 ? SEEN_STEPS.length + (seenMs === Infinity ? 1 : 0) : step,
    -Math.floor((rssi ?? USUAL_RSSI) / SIGNAL_STEP),
    cls || NO_CLASS
  ];
}

/**
 * @template {Ranked} T
 * @param {T[]} candidates
 * @returns {T[]} the best first
 */
function rank(candidates) {
  const keyed = candidates.map((candidate) => ({ candidate, key: keyOf(candidate) }));
  keyed.sort((a, b) => {
    for (let i = 0; i < a.key.length; i++) if (a.key[i] !== b.key[i]) return a.key[i] - b.key[i];
    // What a person has posted counts more than what was made of a device.
    if (a.candidate.isMade !== b.candidate.isMade) return a.candidate.isMade ? 1 : -1;
    return compare(a.candidate.id, b.candidate.id) || compare(a.candidate.name, b.candidate.name);
  });
  return keyed.map(({ candidate }) => candidate);
}

/** @param {string} a @param {string} b */
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** @param {Facts} facts @returns {string} for people */
function whyOf({ seenMs, rssi, cls }) {
  const seen = seenMs === Infinity ? 'not seen yet' : `seen ${duration(seenMs)} ago`;
  return [
    seen,
    rssi === null ? 'signal unknown' : `signal ${rssi} dBm`,
    cls ? `class ${cls}` : 'class unknown'
  ].join(', ');
}

/** @param {number} ms */
function duration(ms) {
  const s = Math.round(ms / 1000);
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  return s < 172800 ? `${Math.round(s / 3600)} h` : `${Math.round(s / 86400)} days`;
}

module.exports = { rank, whyOf };
