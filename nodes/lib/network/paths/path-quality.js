'use strict';
// Measures the quality of a path over a window: its signal, its probes and its bytes. Pure: the caller provides the
// clock.

/**
 * Quality of a path; null = unknown.
 * @typedef {object} Figures
 * @property {number | null} signalDbm of Wi-Fi, the mean of 5 s
 * @property {number | null} linkPercent 0 to 100, from the signal
 * @property {number | null} rttMs smoothed, from the probes
 * @property {number | null} lossPercent of the probes sent while the path was up
 * @property {number | null} txBytesPerSecond of the whole interface, the mean of 5 s
 * @property {number | null} rxBytesPerSecond of the whole interface, the mean of 5 s
 */
/**
 * Figures of the interface.
 * @typedef {{ device: string, dbm: number | null, bytes: import('./byte-counters').Bytes | null }} Seen
 */
/**
 * ms: until the answer; counts: for the loss rate, because it was sent while the path was up, and not as a fast probe.
 * @typedef {{ ok: boolean | null, ms: number, counts: boolean }} Probed
 */

/** The window covers the probes of this many periods: 20 s, with one each second. */
const PERIODS = 20;
/** Fewer probes give no loss rate: the two that make a path dead would be a large part of it. */
const LEAST_PROBES = 10;
/** Limit regardless of the rate of probes. */
const MOST_PROBES = 200;
/** Window of signal and bytes. */
const WINDOW_MS = 5000;
/** Fewer signals, or a shorter span of them, give no trend. */
const LEAST_SIGNALS = 4;
const LEAST_SPAN_MS = 2000;
/** Each new round trip counts for an eighth [RFC 6298, 2.3]. */
const SMOOTHING = 1 / 8;

/**
 * Returns the link quality for a received signal strength [T. Tsuru et al., An implementation and evaluation of
 * MPTCP-based IoT router, 2023, 4.1, equation 1].
 * @param {number} dbm
 * @returns {number} percent
 */
function linkPercentOf(dbm) {
  if (dbm >= -40) return 100;
  return Math.max(0, ((110 + dbm) / 70) * 100);
}

/** @param {number} value @param {number} [digits] */
const rounded = (value, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits;

class Quality {
  #windowMs;
  /** @type {number | null} */
  #rttMs;
  #answeredAt;
  #device;
  /** @type {{ at: number, dbm: number }[]} */
  #signals;
  /** @type {{ at: number, rx: number, tx: number }[]} */
  #bytes;

  /** @param {number} everyMs interval between probes */
  constructor(everyMs) {
    this.#windowMs = PERIODS * everyMs;
    /** @type {{ at: number, ok: boolean }[]} */
    this.probes = [];
    this.#rttMs = null;
    this.#answeredAt = -Infinity;
    this.#device = '';
    this.#signals = [];
    this.#bytes = [];
  }

  /** @param {Probed} probed @param {number} now */
  probed({ ok, ms, counts }, now) {
    if (ok === null) return;
    // Losses on a dead path say nothing about its quality after it recovers.
    if (counts) this.probes = this.probes.concat({ at: now, ok }).slice(-MOST_PROBES);
    if (!ok) return;
    const old = this.#answeredAt > now - this.#windowMs ? this.#rttMs : null;
    this.#rttMs = old === null ? ms : old + (ms - old) * SMOOTHING;
    this.#answeredAt = now;
  }

  /**
   * Adds a reading of the interface. Call it every second.
   * @param {Seen} seen
   * @param {number} now
   */
  seen({ device, dbm, bytes }, now) {
    const last = this.#bytes.at(-1);
    const isNew = device !== this.#device || !bytes || (last && (bytes.rx < last.rx || bytes.tx < last.tx));
    if (isNew) this.#bytes = [];
    if (device !== this.#device) this.#signals = [];
    this.#device = device;
    const isRecent = (/** @type {{ at: number }} */ { at }) => at >= now - WINDOW_MS;
    this.#signals = this.#signals.filter(isRecent);
    this.#bytes = this.#bytes.filter(isRecent);
    if (dbm !== null) this.#signals.push({ at: now, dbm });
    if (bytes) this.#bytes.push({ at: now, ...bytes });
  }

  /** @param {number} now @returns {Figures} */
  figures(now) {
    const isRecent = (/** @type {{ at: number }} */ { at }) => at > now - this.#windowMs;
    this.probes = this.probes.filter(isRecent);
    const { length } = this.#signals;
    const dbm = length > 0 ? this.#signals.reduce((sum, signal) => sum + signal.dbm, 0) / length : null;
    const isHeard = this.#answeredAt > now - this.#windowMs;
    return {
      signalDbm: dbm === null ? null : rounded(dbm),
      linkPercent: dbm === null ? null : rounded(linkPercentOf(dbm)),
      rttMs: isHeard && this.#rttMs !== null ? rounded(this.#rttMs, 1) : null,
      lossPercent: this.#loss(),
      txBytesPerSecond: this.#rate('tx'),
      rxBytesPerSecond: this.#rate('rx')
    };
  }

  /**
   * Returns the link quality that the trend of the signal leads to (least squares over the readings of 5 s).
   * @param {number} now
   * @param {number} aheadMs
   * @returns {number | null} percent; null: there are too few readings
   */
  expectedPercent(now, aheadMs) {
    const { length } = this.#signals;
    const span = length > 0 ? this.#signals[length - 1].at - this.#signals[0].at : 0;
    if (length < LEAST_SIGNALS || span < LEAST_SPAN_MS) return null;
    const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / length;
    const [at, dbm] = [
      mean(this.#signals.map((each) => each.at)),
      mean(this.#signals.map((each) => each.dbm))
    ];
    const products = this.#signals.map((each) => (each.at - at) * (each.dbm - dbm));
    const squares = this.#signals.map((each) => (each.at - at) ** 2);
    return rounded(linkPercentOf(dbm + (mean(products) / mean(squares)) * (now + aheadMs - at)));
  }

  #loss() {
    const { length } = this.probes;
    if (length < LEAST_PROBES) return null;
    return rounded((this.probes.filter(({ ok }) => !ok).length / length) * 100);
  }

  /** @param {'rx' | 'tx'} way */
  #rate(way) {
    const [first] = this.#bytes;
    const last = this.#bytes.at(-1);
    if (!last || last.at <= first.at) return null;
    return rounded(((last[way] - first[way]) / (last.at - first.at)) * 1000);
  }
}

module.exports = { Quality, linkPercentOf, LEAST_PROBES, PERIODS };
