'use strict';
// One path's health: what its link and its probes say, with hysteresis. Pure: the clock is the caller's.

const { FastProbe } = require('./fast-probe');

/** @typedef {'up' | 'down' | 'probing'} Name */
/** @typedef {{ exists: boolean, carrier: boolean, address: string }} Link */
/** @typedef {{ probes: boolean, everyMs: number, timeoutMs: number }} Settings */

const DEFAULTS = Object.freeze({ everyMs: 1000, timeoutMs: 700 });

/** So soon after a probe without an answer comes the next one. */
const RETRY_MS = 300;
/** One lost segment is no dead path. */
const MISSES = 2;
/** A path that was up for less has flapped: it has to answer twice as often as the last time before it is up again. */
const STABLE_MS = 30_000;
const MOST_GOODS = 32;
/** A path that is down for so long is asked as seldom as one that is up. */
const PATIENCE_MS = 30_000;

class Health {
  /** @param {Settings} settings @param {number} now ms, of any clock that does not go back */
  constructor(settings, now) {
    this.settings_ = settings;
    this.haste_ = new FastProbe(settings, now);
    /** @type {Name} */
    this.state = 'probing';
    this.why = 'not tried yet';
    this.since = now;
    /** Up or down has been known at least once: until then an endpoint that is there stays. */
    this.isKnown = false;
    /** ms; Infinity = it has no link to be asked by. */
    this.nextProbeAt = Infinity;
    this.address_ = '';
    this.hasLink_ = false;
    this.misses_ = 0;
    this.goods_ = 0;
    this.needed_ = 1;
  }

  /** @param {Link} link @param {number} now */
  link({ exists, carrier, address }, now) {
    const missing = !exists
      ? 'no such interface'
      : !carrier
        ? 'the link is down'
        : address === ''
          ? 'no IPv4 address'
          : '';
    const isOther = address !== '' && this.address_ !== '' && address !== this.address_;
    if (address !== '') this.address_ = address;
    if (missing !== '') {
      this.hasLink_ = false;
      this.nextProbeAt = Infinity;
      this.down_(missing, now);
      return;
    }
    if (this.hasLink_ && !isOther) return;
    this.hasLink_ = true;
    this.misses_ = 0;
    this.goods_ = 0;
    this.haste_.end();
    if (!this.settings_.probes) {
      this.up_('the link is up', now);
      return;
    }
    // An endpoint that is added at the moment of carrier is lost: its one SYN finds no neighbour yet.
    this.set_(
      'probing',
      isOther ? `new address ${address}` : this.isKnown ? 'the link is back' : this.why,
      now
    );
    this.nextProbeAt = now;
  }

  /** What a probe may take that is sent now. */
  get timeoutMs() {
    return this.haste_.isOn ? this.haste_.timeoutMs : this.settings_.timeoutMs;
  }

  /** The next probe is to be sent twice, and what comes of it is the answer to both. */
  get isHasty() {
    return this.haste_.isOn;
  }

  /**
   * Somebody who uses it hears nothing: it is asked at once, in fastProbe.
   * @param {number} rttMs that they know of, 0 = none @param {number} now @returns {boolean} whether it is to be asked now
   */
  suspect(rttMs, now) {
    if (this.state !== 'up' || !this.settings_.probes || !this.haste_.begin(rttMs, now)) return false;
    this.nextProbeAt = now;
    return true;
  }

  /** @param {import('./path-probe').Answer} answer of a probe by the address that it has now @param {number} now @param {number} [tookMs] */
  probed({ ok, why }, now, tookMs = 0) {
    if (!this.hasLink_) return;
    if (ok) this.haste_.answered(tookMs);
    const sent = this.haste_.isOn ? 2 : 1;
    this.haste_.end();
    if (ok === null) {
      // That says nothing of the path.
      if (this.state === 'probing') this.why = why;
      this.nextProbeAt = now + this.settings_.everyMs;
    } else if (ok) this.good_(why, now);
    else this.miss_(why, now, sent);
  }

  /** @param {string} why @param {number} now */
  good_(why, now) {
    this.misses_ = 0;
    this.goods_++;
    if (this.state !== 'up' && this.goods_ >= this.needed_) this.up_(why, now);
    if (this.state === 'down')
      this.set_('probing', `${why}; ${this.needed_} answers in a row are needed`, now);
    this.nextProbeAt = now + (this.state === 'up' ? this.settings_.everyMs : RETRY_MS);
  }

  /** @param {string} why @param {number} now @param {number} sent */
  miss_(why, now, sent) {
    this.goods_ = 0;
    this.misses_ += sent;
    if (this.state !== 'down' && this.misses_ >= MISSES) this.down_(why, now);
    const isOld = this.state === 'down' && now - this.since > PATIENCE_MS;
    this.nextProbeAt = now + (isOld ? this.settings_.everyMs : RETRY_MS);
  }

  /** @param {string} why @param {number} now */
  up_(why, now) {
    this.isKnown = true;
    this.set_('up', why, now);
  }

  /** @param {string} why @param {number} now */
  down_(why, now) {
    if (this.state === 'up') {
      const isFlap = now - this.since < STABLE_MS;
      this.needed_ = isFlap ? Math.min(this.needed_ * 2, MOST_GOODS) : 2;
    } else this.needed_ = Math.max(this.needed_, 2);
    this.isKnown = true;
    this.misses_ = 0;
    this.goods_ = 0;
    this.haste_.end();
    if (this.state !== 'down' || this.why !== why) this.set_('down', why, now);
  }

  /** @param {Name} state @param {string} why @param {number} now */
  set_(state, why, now) {
    if (this.state !== state) this.since = now;
    this.state = state;
    this.why = why;
  }
}

/**
 * What is to be with the endpoint of each path. One whose path is dead is taken away, so that its connections use another at once. If there is
 * no other, nothing is won by that: it stays, and its subflow goes on when the path comes back.
 * @param {{ state: Name, isKnown: boolean, isStale: boolean }[]} paths isStale: it was down since its endpoint was made
 * @returns {import('./desired-state').Fate[]}
 */
function fatesOf(paths) {
  const isAny = paths.some(({ state }) => state === 'up');
  return paths.map(({ state, isKnown, isStale }) => {
    // The kernel never tries a subflow again that has failed: only a new endpoint makes a new one.
    if (state === 'up') return isStale ? 'new' : 'there';
    return isAny && isKnown ? 'gone' : 'kept';
  });
}

module.exports = { Health, fatesOf, DEFAULTS };
