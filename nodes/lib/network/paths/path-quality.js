'use strict';
// How good a path is: its signal, its probes and its bytes, over a window. Pure: the clock is the caller's.

/**
 * null = not known. signalDbm: of Wi-Fi, the mean of 5 s · linkPercent: 0 to 100, by the signal · rttMs: smoothed, of the probes · lossPercent:
 * of the probes that were sent while the path was up · bytes per second: of the whole interface, the mean of 5 s.
 * @typedef {object} Figures
 * @property {number | null} signalDbm @property {number | null} linkPercent @property {number | null} rttMs @property {number | null} lossPercent
 * @property {number | null} txBytesPerSecond @property {number | null} rxBytesPerSecond
 */
/** @typedef {{ device: string, dbm: number | null, bytes: import('./byte-counters').Bytes | null }} Seen of the interface */
/** ms: until the answer; counts: for loss, sent while the path was up, and not in haste. @typedef {{ ok: boolean | null, ms: number, counts: boolean }} Probed */

/** The probes of so many periods are looked at: 20 s, with one each second. */
const PERIODS = 20;
/** Fewer say nothing of loss: the two that a path dies by would be much of it. */
const LEAST_PROBES = 10;
/** Whatever sends them. */
const MOST_PROBES = 200;
/** Of signal and bytes. */
const WINDOW_MS = 5000;
/** Each new round trip counts for an eighth [RFC 6298, 2.3]. */
const SMOOTHING = 1 / 8;

/**
 * Link quality by received signal strength [T. Tsuru et al., An implementation and evaluation of MPTCP-based IoT router, 2023, 4.1, equation 1].
 * @param {number} dbm @returns {number} percent
 */
function linkPercentOf(dbm) {
  if (dbm >= -40) return 100;
  return Math.max(0, ((110 + dbm) / 70) * 100);
}

/** @param {number} value @param {number} [digits] */
const rounded = (value, digits = 0) => Math.round(value * 10 ** digits) / 10 ** digits;

class Quality {
  /** @param {number} everyMs from one probe to the next */
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
    // What is lost on a dead path is no quality of the living one, which it may be again.
    if (counts) this.probes_ = this.probes_.concat({ at: now, ok }).slice(-MOST_PROBES);
    if (!ok) return;
    const old = this.answeredAt_ > now - this.windowMs_ ? this.rttMs_ : null;
    this.rttMs_ = old === null ? ms : old + (ms - old) * SMOOTHING;
    this.answeredAt_ = now;
  }

  /** Each second. @param {Seen} seen @param {number} now */
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
