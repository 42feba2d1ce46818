'use strict';
// Parses the output of `ip -o monitor link address route`, one event per line. It yields only what changed; the new
// state is read separately.

/**
 * carrier: of a link, null = not included.
 * @typedef {{ kind: 'link' | 'address' | 'route', device: string, isGone: boolean, carrier: boolean | null }} Event
 */

/** No event is this long: longer lines are dropped. */
const MOST_LINE = 16_384;

/** @param {string} line @returns {Event | null} null if it is not one of these events */
function parseLine(line) {
  // Some versions label each line, some put the times of -t before it.
  const plain = line.replace(/^\s*(\[[^\]]{0,40}\]\s*)*/, '');
  const isGone = /^Deleted\s/.test(plain);
  const words = (isGone ? plain.slice(8) : plain).trim().split(/\s+/);
  if (/^\d{1,10}:$/.test(words[0]) && words.length > 2) {
    const device = words[1].replace(/[@:].*$/, '');
    if (device === '') return null;
    if (/^inet6?$/.test(words[2])) return { kind: 'address', device, isGone, carrier: null };
    const flags = /^<([A-Z0-9_,-]*)>$/.exec(words[2])?.[1].split(',');
    if (!flags) return null;
    const state = words[words.indexOf('state') + 1];
    const carrier =
      flags.includes('UP') && flags.includes('LOWER_UP') && (state === 'UP' || state === 'UNKNOWN');
    return { kind: 'link', device, isGone, carrier: isGone ? false : carrier };
  }
  const at = words.indexOf('dev');
  const isRoute =
    /^(default|local|broadcast|multicast|anycast|unreachable|blackhole|prohibit|[0-9a-f:.]+(\/\d+)?)$/.test(
      words[0]
    );
  if (!isRoute || at < 1 || at + 1 >= words.length) return null;
  return { kind: 'route', device: words[at + 1], isGone, carrier: null };
}

/** Splits a stream into lines, regardless of how it is cut. */
class Lines {
  #rest;
  #isTooLong;

  constructor() {
    this.#rest = '';
    this.#isTooLong = false;
  }

  /** @param {string} chunk @returns {string[]} */
  push(chunk) {
    const parts = (this.#rest + chunk).split('\n');
    this.#rest = /** @type {string} */ (parts.pop());
    const lines = [];
    for (const part of parts) {
      if (!this.#isTooLong && part.length <= MOST_LINE) lines.push(part);
      this.#isTooLong = false;
    }
    if (this.#rest.length > MOST_LINE) {
      this.#rest = '';
      this.#isTooLong = true;
    }
    return lines;
  }
}

module.exports = { parseLine, Lines, MOST_LINE };
