'use strict';
// Tracks the health of one path from its link and its probes, with hysteresis. Pure: the caller provides the clock.

const { FastProbe } = require('./fast-probe');

/** @typedef {'up' | 'down' | 'probing'} Name */
/** @typedef {{ exists: boolean, carrier: boolean, address: string }} Link */
/** @typedef {{ probes: boolean, everyMs: number, timeoutMs: number }} Settings */

const DEFAULTS = Object.freeze({ everyMs: 1000, timeoutMs: 700 });

/** Time until the next probe after one without an answer. */
const RETRY_MS = 300;
/** One lost segment does not make a path dead. */
const MISSES = 2;
/**
 * A path that was up for a shorter time has flapped: the number of answers that it needs before it is up again doubles.
 */
const STABLE_MS = 30_000;
const MOST_GOODS = 32;
/** After being down for this long, a path is probed at the normal interval again. */
const PATIENCE_MS = 30_000;

class Health {
  #settings;
  #fastProbe;
  #address;
  #hasLink;
  #misses;
  #goods;
  #needed;

  /** @param {Settings} settings @param {number} now ms, of any monotonic clock */
  constructor(settings, now) {
    this.#settings = settings;
    this.#fastProbe = new FastProbe(settings, now);
    /** @type {Name} */
    this.state = 'probing';
    this.why = 'not tried yet';
    this.since = now;
    /** True once the path was up or down: until then, an existing endpoint stays. */
    this.isKnown = false;
    /** ms; Infinity = no link to probe over. */
    this.nextProbeAt = Infinity;
    this.#address = '';
    this.#hasLink = false;
    this.#misses = 0;
    this.#goods = 0;
    this.#needed = 1;
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
    const isOther = address !== '' && this.#address !== '' && address !== this.#address;
    if (address !== '') this.#address = address;
    if (missing !== '') {
      this.#hasLink = false;
      this.nextProbeAt = Infinity;
      this.#down(missing, now);
      return;
    }
    if (this.#hasLink && !isOther) return;
    this.#hasLink = true;
    this.#misses = 0;
    this.#goods = 0;
    this.#fastProbe.end();
    if (!this.#settings.probes) {
      this.#up('the link is up', now);
      return;
    }
    // An endpoint that is added at the moment of carrier fails: its only SYN finds no neighbor yet.
    this.#set(
      'probing',
      isOther ? `new address ${address}` : this.isKnown ? 'the link is back' : this.why,
      now
    );
    this.nextProbeAt = now;
  }

  /** Time-out of a probe that is sent now. */
  get timeoutMs() {
    return this.#fastProbe.isOn ? this.#fastProbe.timeoutMs : this.#settings.timeoutMs;
  }

  /** True if the next probe is a double probe. Its result counts for both. */
  get isFastProbe() {
    return this.#fastProbe.isOn;
  }

  /**
   * Begins a fast probe because a user of the path reports silence.
   * @param {number} rttMs round trip known to the user, 0 = unknown
   * @param {number} now
   * @returns {boolean} true if a probe is to be sent now
   */
  suspect(rttMs, now) {
    if (this.state !== 'up' || !this.#settings.probes || !this.#fastProbe.begin(rttMs, now)) return false;
    this.nextProbeAt = now;
    return true;
  }

  /**
   * @param {import('./path-probe').Answer} answer of a probe from its present address
   * @param {number} now
   * @param {number} [tookMs]
   */
  probed({ ok, why }, now, tookMs = 0) {
    if (!this.#hasLink) return;
    if (ok) this.#fastProbe.answered(tookMs);
    const sent = this.#fastProbe.isOn ? 2 : 1;
    this.#fastProbe.end();
    if (ok === null) {
      // No probe was sent, so nothing is known about the path.
      if (this.state === 'probing') this.why = why;
      this.nextProbeAt = now + this.#settings.everyMs;
    } else if (ok) this.#good(why, now);
    else this.#miss(why, now, sent);
  }

  /** @param {string} why @param {number} now */
  #good(why, now) {
    this.#misses = 0;
    this.#goods++;
    if (this.state !== 'up' && this.#goods >= this.#needed) this.#up(why, now);
    if (this.state === 'down')
      this.#set('probing', `${why}; ${this.#needed} answers in a row are needed`, now);
    this.nextProbeAt = now + (this.state === 'up' ? this.#settings.everyMs : RETRY_MS);
  }

  /**
   * @param {string} why
   * @param {number} now
   * @param {number} sent
   */
  #miss(why, now, sent) {
    this.#goods = 0;
    this.#misses += sent;
    if (this.state !== 'down' && this.#misses >= MISSES) this.#down(why, now);
    const isOld = this.state === 'down' && now - this.since > PATIENCE_MS;
    this.nextProbeAt = now + (isOld ? this.#settings.everyMs : RETRY_MS);
  }

  /** @param {string} why @param {number} now */
  #up(why, now) {
    this.isKnown = true;
    this.#set('up', why, now);
  }

  /** @param {string} why @param {number} now */
  #down(why, now) {
    if (this.state === 'up') {
      const isFlap = now - this.since < STABLE_MS;
      this.#needed = isFlap ? Math.min(this.#needed * 2, MOST_GOODS) : 2;
    } else this.#needed = Math.max(this.#needed, 2);
    this.isKnown = true;
    this.#misses = 0;
    this.#goods = 0;
    this.#fastProbe.end();
    if (this.state !== 'down' || this.why !== why) this.#set('down', why, now);
  }

  /**
   * @param {Name} state
   * @param {string} why
   * @param {number} now
   */
  #set(state, why, now) {
    if (this.state !== state) this.since = now;
    this.state = state;
    this.why = why;
  }
}

/**
 * Returns the fate of each path's endpoint. The endpoint of a dead path is removed, so that its connections use another
 * path at once. If there is no other path, the endpoint stays, and its subflow continues when the path comes back.
 * @param {{ state: Name, isKnown: boolean, isStale: boolean }[]} paths isStale: it was down since its endpoint was
 *   created
 * @returns {import('./desired-state').Fate[]}
 */
function fatesOf(paths) {
  const isAny = paths.some(({ state }) => state === 'up');
  return paths.map(({ state, isKnown, isStale }) => {
    // The kernel never retries a failed subflow: only a new endpoint creates a new one.
    if (state === 'up') return isStale ? 'new' : 'there';
    return isAny && isKnown ? 'gone' : 'kept';
  });
}

module.exports = { Health, fatesOf, DEFAULTS };
