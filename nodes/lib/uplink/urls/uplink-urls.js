'use strict';

const { placeName } = require('../../settings/broker-url');
const { UrlChoice } = require('./url-choice');

/** @typedef {import('../session/reason-codes').Reason} Reason */
/** @typedef {import('../../settings/uplink-options').CheckedOptions} CheckedOptions */

/**
 * A session of the uplink.
 * @typedef {object} Member
 * @property {Pick<import('../session/session').Session, 'connected' | 'goTo'>} session
 * @property {Pick<import('../sending/feeder').Feeder, 'pause' | 'resume' | 'inflight'>} feeder
 * @property {UrlChoice} choice
 * @property {boolean} leads its connection decides where the uplink is
 */

/**
 * @typedef {object} UrlsParts
 * @property {Pick<CheckedOptions, 'addresses' | 'returnMs' | 'reconnectMinMs' | 'reconnectMaxMs' | 'refusedMinMs' |
 *   'refusedMaxMs'>} options
 * @property {(index: number) => Promise<{ code: string, reason: string } | null>} probe tries a URL beside the
 *   sessions; null = it works
 * @property {() => void} onChange the view has changed
 * @property {() => number} [now] ms, monotonic
 * @property {() => number} [random] 0..1
 */

/**
 * @typedef {object} UrlView
 * @property {string} url host and port
 * @property {'active' | 'failed' | 'answers' | 'unknown'} state answers: a probe succeeded, and the uplink will return
 * @property {string} code why it failed
 * @property {string} reason
 */

/**
 * A change of the URL.
 * @typedef {{ from: string, to: string, at: number, code: string, reason: string, isReturn: boolean }} Move at: ms
 *   since 1970
 */

/** A connection that has lasted this long takes the other sessions with it. */
const FOLLOW_MS = 2000;
/** Longest wait for the acknowledgements of what is in flight, before a session follows another one. */
const FOLLOW_DRAIN_MS = 2000;
/** The same before a session leaves a URL that works. */
const RETURN_DRAIN_MS = 10000;
const STEP_MS = 10;
/** Interval of the probes: a part of the time for which a URL must answer, within limits. */
const PROBES = 5;
const PROBE_MIN_MS = 500;
const PROBE_MAX_MS = 60000;
/** A session does not follow to a URL that refused it within this time, or the time of a return if that is longer. */
const FORGIVE_MS = 60000;

/**
 * The URLs of an uplink, and where it is. All sessions are at one URL: the first that connects elsewhere takes the
 * others with it when its connection has lasted, so that a session without traffic leaves a dead broker before its next
 * record. A session that a broker refuses while it accepts others neither follows to that URL nor takes others away
 * from it.
 *
 * While the uplink is not at the first URL, the earlier ones are probed. The uplink returns to one that answered each
 * probe for a given time. The last session goes first, when nothing of it is in flight. The others follow only if it
 * was accepted, so a failure does not touch the most urgent one.
 */
class UplinkUrls {
  #parts;
  #now;
  #random;
  /** @type {Member[]} */
  #members = [];
  /** Why each URL failed last, null = it worked since then. @type {({ code: string, reason: string } | null)[]} */
  #failures;
  /** Since when each URL answers all probes, -1 = it does not. @type {number[]} */
  #answersSince;
  /** Where the uplink is; the first URL until it is connected elsewhere. */
  #active = 0;
  /** The URL to which a session returns now, -1 = none does. */
  #returning = -1;
  #failovers = 0;
  #returns = 0;
  /** @type {Move | null} */
  #moved = null;
  /** @type {NodeJS.Timeout | undefined} */
  #followTimer;
  /** @type {NodeJS.Timeout | undefined} */
  #probeTimer;
  #isFollowing = false;
  #isProbing = false;
  #isStopped = false;

  /** @param {UrlsParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
    this.#random = parts.random ?? Math.random;
    this.#failures = parts.options.addresses.map(() => null);
    this.#answersSince = parts.options.addresses.map(() => -1);
  }

  /**
   * Returns the choice of a session, which add() follows.
   * @param {{ follows?: boolean }} [how] follows: the session never leaves the uplink's URL on its own
   */
  choice({ follows = false } = {}) {
    const { options } = this.#parts;
    const choice = new UrlChoice(options.addresses, {
      ...options,
      now: this.#now,
      random: this.#random,
      follows,
      // The session for commands has a status of its own.
      ...(!follows && {
        onConnected: (index) => this.#connected(index, choice),
        onFailed: (index, why) => this.#failed(index, why)
      })
    });
    return choice;
  }

  /** @param {Member} member */
  add(member) {
    this.#members.push(member);
  }

  /** No session is moved from now on. */
  stop() {
    this.#isStopped = true;
    clearTimeout(this.#followTimer);
    clearTimeout(this.#probeTimer);
  }

  /** Returns the reported state; url: from 1. */
  view() {
    return {
      url: this.#active + 1,
      failovers: this.#failovers,
      returns: this.#returns,
      moved: this.#moved,
      urls: this.#parts.options.addresses.map((_, i) => this.#viewOf(i))
    };
  }

  /** @param {number} index @returns {UrlView} */
  #viewOf(index) {
    const failure = this.#failures[index];
    const isActive = index === this.#active && this.#hasSessionAt(index);
    return {
      url: this.#name(index),
      state: isActive
        ? 'active'
        : failure
          ? 'failed'
          : this.#answersSince[index] >= 0
            ? 'answers'
            : 'unknown',
      code: failure?.code ?? '',
      reason: failure?.reason ?? ''
    };
  }

  /** @param {number} index */
  #name(index) {
    return placeName(this.#parts.options.addresses[index]);
  }

  /** @param {number} index @param {UrlChoice} choice */
  #connected(index, choice) {
    this.#failures[index] = null;
    const staysAlone = this.#isRefused(choice) && this.#hasSessionAt(this.#active);
    if (index !== this.#active && !staysAlone) this.#move(index);
    else this.#parts.onChange();
    if (index === this.#active) this.#restartFollowing();
    else this.#followSoon();
    this.#probeLater();
  }

  /** @param {number} index */
  #move(index) {
    const from = this.#active;
    const isReturn = index === this.#returning;
    const { code, reason } = this.#failures[from] ?? { code: '', reason: '' };
    this.#active = index;
    this.#returning = -1;
    this.#answersSince.fill(-1);
    if (isReturn) this.#returns++;
    else this.#failovers++;
    // Probes have proven it since then.
    if (isReturn) for (const { choice } of this.#members) choice.forgive(index);
    this.#moved = {
      from: this.#name(from),
      to: this.#name(index),
      at: Date.now(),
      ...(isReturn ? { code: '', reason: '' } : { code, reason }),
      isReturn
    };
    // A session without a connection loses nothing by going at once.
    for (const member of this.#members) if (!member.session.connected) this.#lead(member);
    this.#parts.onChange();
  }

  /** @param {number} index @param {Reason} why */
  #failed(index, why) {
    this.#failures[index] = why;
    this.#answersSince[index] = -1;
    if (index === this.#returning) this.#returning = -1;
  }

  /** @param {Member} member */
  #mayFollow({ choice, leads }) {
    return choice.index !== this.#active && !(leads && this.#isRefused(choice));
  }

  /** True if the broker at the active URL refused this client. @param {UrlChoice} choice */
  #isRefused(choice) {
    const refusedAt = choice.refusedAt(this.#active);
    const { returnMs } = this.#parts.options;
    const restMs = returnMs === 0 ? Infinity : Math.max(FORGIVE_MS, returnMs);
    return refusedAt > -Infinity && this.#now() - refusedAt <= restMs;
  }

  /** True if a session that decides is connected at a URL. @param {number} index */
  #hasSessionAt(index) {
    return this.#members.some(
      ({ session, choice, leads }) => leads && session.connected && choice.index === index
    );
  }

  /** @param {Member} member without a connection */
  #lead(member) {
    if (this.#mayFollow(member)) member.session.goTo(this.#active, this.#following());
  }

  /** @returns {Reason} */
  #following() {
    return {
      code: 'URL_MOVED',
      reason: `The uplink is at ${this.#name(this.#active)} now. Reconnecting there.`,
      refused: false
    };
  }

  /** A connection at the active URL is new. */
  #restartFollowing() {
    clearTimeout(this.#followTimer);
    this.#followTimer = undefined;
    this.#followSoon();
  }

  /** Schedules follow(), if a session is elsewhere and it is not scheduled. */
  #followSoon() {
    if (this.#isStopped || this.#isFollowing || this.#followTimer) return;
    const isSplit = this.#members.some(({ choice }) => choice.index !== this.#active);
    if (isSplit) this.#followTimer = setTimeout(() => void this.#follow(), FOLLOW_MS);
  }

  async #follow() {
    this.#followTimer = undefined;
    this.#isFollowing = true;
    await this.#takeAlong(this.#active);
    this.#isFollowing = false;
    this.#followSoon();
  }

  /** Takes the other sessions along, if a session is connected at the active URL. @param {number} index of it */
  async #takeAlong(index) {
    for (const member of this.#hasSessionAt(index) ? this.#members : []) {
      if (!this.#mayFollow(member)) continue;
      await this.#drain(member, FOLLOW_DRAIN_MS);
      // Each of them may have gone elsewhere by itself meanwhile.
      if (this.#isStopped || this.#active !== index) return void member.feeder.resume();
      if (this.#mayFollow(member)) member.session.goTo(index, this.#following());
      else member.feeder.resume();
    }
  }

  /**
   * Waits until nothing of a session is in flight; it sends nothing from now on.
   * @param {Member} member
   * @param {number} timeoutMs
   * @returns {Promise<boolean>} false if something is still in flight, or the connection has ended
   */
  async #drain({ session, feeder }, timeoutMs) {
    feeder.pause();
    const until = this.#now() + timeoutMs;
    while (session.connected && feeder.inflight > 0 && this.#now() < until && !this.#isStopped)
      await new Promise((resolve) => setTimeout(resolve, STEP_MS));
    return session.connected && feeder.inflight === 0;
  }

  /** Schedules the next probes, if there is something to probe and they are not scheduled. */
  #probeLater() {
    const { returnMs } = this.#parts.options;
    if (returnMs === 0 || this.#active === 0 || this.#isStopped) return;
    if (this.#isProbing || this.#probeTimer) return;
    const everyMs = Math.min(PROBE_MAX_MS, Math.max(PROBE_MIN_MS, returnMs / PROBES));
    // Many gateways that left the same broker do not probe it at the same time.
    const waitMs = everyMs * (0.75 + 0.5 * this.#random());
    this.#probeTimer = setTimeout(() => void this.#probe(), waitMs);
  }

  async #probe() {
    this.#probeTimer = undefined;
    this.#isProbing = true;
    const index = await this.#probeBefore(this.#active);
    if (index >= 0) await this.#return(index);
    this.#isProbing = false;
    this.#parts.onChange();
    this.#probeLater();
  }

  /**
   * Probes the URLs before the active one.
   * @param {number} active
   * @returns {Promise<number>} the URL to return to, -1 = none
   */
  async #probeBefore(active) {
    for (let i = 0; i < active; i++) {
      const why = await this.#parts.probe(i);
      if (this.#isStopped || this.#active !== active) return -1;
      this.#failures[i] = why;
      if (why) this.#answersSince[i] = -1;
      else if (this.#answersSince[i] < 0) this.#answersSince[i] = this.#now();
    }
    const { returnMs } = this.#parts.options;
    const due = this.#answersSince
      .slice(0, active)
      .map((since) => since >= 0 && this.#now() - since >= returnMs);
    return due.indexOf(true);
  }

  /** Lets one session return to a URL. @param {number} index */
  async #return(index) {
    const member = this.#members.findLast(({ leads, session }) => leads && session.connected);
    if (!member) return;
    const isDrained = await this.#drain(member, RETURN_DRAIN_MS);
    if (!isDrained || this.#isStopped || this.#answersSince[index] < 0) return void member.feeder.resume();
    this.#returning = index;
    member.session.goTo(index, {
      code: 'URL_RETURN',
      reason: `${this.#name(index)} works again. Returning to it.`,
      refused: false
    });
  }
}

exports.UplinkUrls = UplinkUrls;
