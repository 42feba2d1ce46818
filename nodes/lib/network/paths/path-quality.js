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
  /** @param {number} everyMs interval between probes */
  constructor(everyMs) {
    this.windowMs_ = PERIODS * everyMs;
    /** @type {{ at: number, ok: boolean }[]} */
    this.probes_ = [];
    /** @type {number | null} */
    this.rttMs_ = null;
    this.answeredAt_ = -Infinity;
    this.device_ = '';
    /** @type {{ at: number, dbm: number }[]} */
    this.signals_ = [];
    /** @type {{ at: number, rx: number, tx: number }[]} */
    this.bytes_ = [];
  }

  /** @param {Probed} probed @param {number} now */
  probed({ ok, ms, counts }, now) {
    if (ok === null) return;
    // Losses on a dead path say nothing about its quality after it recovers.
    if (counts) this.probes_ = this.probes_.concat({ at: now, ok }).slice(-MOST_PROBES);
    if (!ok) return;
    const old = this.answeredAt_ > now - this.windowMs_ ? this.rttMs_ : null;
    this.rttMs_ = old === null ? ms : old + (ms - old) * SMOOTHING;
    this.answeredAt_ = now;
  }

  /**
   * Adds a reading of the interface. Call it every second.
   * @param {Seen} seen
   * @param {number} now
   */
  seen({ device, dbm, bytes }, now) {
    const last = this.bytes_.at(-1);
    const isNew = device !== this.device_ || !bytes || (last && (bytes.rx < last.rx || bytes.tx < last.tx));
    if (isNew) this.bytes_ = [];
    if (device !== this.device_) this.signals_ = [];
    this.device_ = device;
    const isRecent = (/** @type {{ at: number }} */ { at }) => at >= now - WINDOW_MS;
    this.signals_ = this.signals_.filter(isRecent);
    this.bytes_ = this.bytes_.filter(isRecent);
    if (dbm !== null) this.signals_.push({ at: now, dbm });
    if (bytes) this.bytes_.push({ at: now, ...bytes });
  }

  /** @param {number} now @returns {Figures} */
  figures(now) {
    const isRecent = (/** @type {{ at: number }} */ { at }) => at > now - this.windowMs_;
    this.probes_ = this.probes_.filter(isRecent);
    const { length } = this.signals_;
    const dbm = length > 0 ? this.signals_.reduce((sum, signal) => sum + signal.dbm, 0) / length : null;
    const isHeard = this.answeredAt_ > now - this.windowMs_;
    return {
      signalDbm: dbm === null ? null : rounded(dbm),
      linkPercent: dbm === null ? null : rounded(linkPercentOf(dbm)),
      rttMs: isHeard && this.rttMs_ !== null ? rounded(this.rttMs_, 1) : null,
      lossPercent: this.loss_(),
      txBytesPerSecond: this.rate_('tx'),
      rxBytesPerSecond: this.rate_('rx')
    };
  }

  loss_() {
    const { length } = this.probes_;
    if (length < LEAST_PROBES) return null;
    return rounded((this.probes_.filter(({ ok }) => !ok).length / length) * 100);
  }

  /** @param {'rx' | 'tx'} way */
  rate_(way) {
    const [first] = this.bytes_;
    const last = this.bytes_.at(-1);
    if (!last || last.at <= first.at) return null;
    return rounded(((last[way] - first[way]) / (last.at - first.at)) * 1000);
  }
}

module.exports = { Quality, linkPercentOf, LEAST_PROBES, PERIODS };
