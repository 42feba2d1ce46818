'use strict';
// Shows the progress of the benchmark: a bar on a terminal, else a line per run.

const { headline } = require('./report');

/** @param {number} seconds @returns {string} */
function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return minutes < 90 ? `${minutes} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/**
 * Returns the remaining seconds, from the measured duration of each case, or its estimate if it has not run.
 * @param {{key: string, seconds: number}[]} left @param {Map<string, number>} measured seconds by key
 */
function remaining(left, measured) {
  return left.reduce((sum, { key, seconds }) => sum + (measured.get(key) ?? seconds), 0);
}

/** @typedef {import('./interleave').Turn} Turn @typedef {import('../options/chapter').Outcome} Outcome */

/** @param {Turn} turn */
const keyOf = ({ chapter, entry }) => `${chapter} ${entry.key}`;

class Progress {
  /**
   * @param {Turn[]} turns
   * @param {{isTTY?: boolean, columns?: number, write: (text: string) => any}} [stream]
   * @param {() => number} [now] ms
   */
  constructor(turns, stream = process.stderr, now = Date.now) {
    this.turns = turns;
    this.stream = stream;
    this.now = now;
    this.done = 0;
    this.failed = 0;
    /** @type {Map<string, number>} */
    this.measured = new Map();
    this.since = now();
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
  }

  /** @param {Turn} turn */
  started(turn) {
    this.turn = turn;
    this.since = this.now();
    if (!this.stream.isTTY) return;
    this.draw();
    this.timer ??= setInterval(() => this.draw(), 1000).unref();
  }

  /** @param {Outcome} outcome @param {Turn} turn */
  ended({ error, seconds = 0 }, turn) {
    this.done += 1;
    if (error) this.failed += 1;
    this.measured.set(keyOf(turn), seconds);
    this.turn = undefined;
    const state = error ? `FAILED: ${headline(error)}` : 'done';
    const rounds = (this.turns.at(-1)?.round ?? 0) + 1;
    const head = `${this.done}/${this.turns.length}, round ${turn.round + 1}/${rounds}`;
    const line = `${head}: ${turn.chapter}, ${turn.entry.label}: ${state}, ${duration(this.secondsLeft())} left`;
    if (!this.stream.isTTY) this.stream.write(`${line}\n`);
    else if (error) this.stream.write(`\r\x1b[K${line}\n`);
  }

  secondsLeft() {
    const from = this.done + (this.turn ? 1 : 0);
    const left = this.turns.slice(from).map((turn) => ({ key: keyOf(turn), seconds: turn.entry.seconds }));
    const whole = remaining(left, this.measured);
    if (!this.turn) return whole;
    const own = this.measured.get(keyOf(this.turn)) ?? this.turn.entry.seconds;
    return whole + Math.max(0, own - (this.now() - this.since) / 1000);
  }

  /** Draws the bar: `[#####-----] 12/60 peers, nodered, 1,000 devices | 14 min left`. */
  draw() {
    const { columns = 80 } = this.stream;
    const all = this.turns.length;
    const filled = Math.round((this.done / Math.max(1, all)) * 20);
    const bar = `[${'#'.repeat(filled)}${'-'.repeat(20 - filled)}]`;
    const what = this.turn ? `${this.turn.chapter}, ${this.turn.entry.label}` : '';
    const failed = this.failed > 0 ? `, ${this.failed} failed` : '';
    const line = `${bar} ${this.done}/${all}${failed} | ${duration(this.secondsLeft())} left | ${what}`;
    // A wrapped line could not be overwritten.
    this.stream.write(`\r\x1b[K${line.slice(0, columns - 1)}`);
  }

  close() {
    clearInterval(this.timer);
    if (this.stream.isTTY) this.stream.write('\r\x1b[K');
  }
}

module.exports = { Progress, duration };
