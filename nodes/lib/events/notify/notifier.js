'use strict';
// Notifies people and systems of events. Messages wait in a bounded queue for each target, one at a time is sent, and a
// target that does not take it is tried again with a back-off. Nothing here delays a record or an event.

const { Backoff } = require('../../base/backoff');
const { SEVERITIES, sentenceOf } = require('../kinds');
const mail = require('./mail');
const webhook = require('./webhook');

/** Messages that wait for a target; the oldest gives way. */
const MAX_WAITING = 100;
/** Attempts for one message; with the back-off, about two hours. */
const MAX_ATTEMPTS = 24;
const BACKOFF_MS = /** @type {const} */ ([2000, 600_000]);
/** Kinds with subjects that were notified lately. */
const MAX_QUIET = 2000;

/**
 * @typedef {import('../event-book').ShownEvent} ShownEvent
 * @typedef {import('../event-book').Change} Change
 * @typedef {Omit<ShownEvent, 'key' | 'params' | 'engine'> & { gateway: string, change: Change }} Message JSON of a webhook
 *
 * @typedef {object} Rules
 * @property {import('../kinds').Severity} severity the least
 * @property {string[]} kinds [] = all
 * @property {number} quietMs an event of the same kind and subject is not notified again within this time
 * @property {boolean} ended the end is notified, too
 * @property {'en-US' | 'de'} language
 *
 * @typedef {(message: Message, signal: AbortSignal) => Promise<void>} Send throws Refused if no further attempt helps
 */

/** Sends the messages of one target. */
class Target {
  #send;
  #warn;
  #random;
  /** @type {Message[]} */
  #waiting = [];
  #isBusy = false;
  #lost = 0;
  #closed = new AbortController();

  /** @param {Send} send @param {(sentence: string) => void} warn @param {() => number} [random] of the back-off */
  constructor(send, warn, random = Math.random) {
    this.#send = send;
    this.#warn = warn;
    this.#random = random;
  }

  /** @param {Message} message */
  add(message) {
    this.#waiting.push(message);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift();
      this.#lost++;
    }
    if (!this.#isBusy) void this.#run();
  }

  async #run() {
    this.#isBusy = true;
    for (let message; !this.#closed.signal.aborted && (message = this.#waiting.shift());)
      await this.#deliver(message);
    this.#isBusy = false;
  }

  /** @param {Message} message */
  async #deliver(message) {
    const { signal } = this.#closed;
    const backoff = new Backoff(...BACKOFF_MS, this.#random);
    for (let attempt = 1; !signal.aborted; attempt++) {
      try {
        await this.#send(message, signal);
        if (this.#lost > 0) this.#warn(`${this.#lost} notifications were left out, because too many waited.`);
        this.#lost = 0;
        return;
      } catch (error) {
        if (signal.aborted) return;
        const isOver = error instanceof webhook.Refused || attempt >= MAX_ATTEMPTS;
        const end = isOver ? `This notification is left out: ${message.sentence}` : 'It is tried again.';
        this.#warn(`${/** @type {Error} */ (error).message} ${end}`);
        if (isOver) return;
        await pause(backoff.next(), signal);
      }
    }
  }

  close() {
    this.#closed.abort();
  }
}

class Notifier {
  #rules;
  #gateway;
  #now;
  #startedAt;
  #targets;
  /** When an event was last notified, by kind and subject, oldest first. @type {Map<string, number>} */
  #notifiedAt = new Map();
  /** Ids of events whose begin was notified. @type {Set<number>} */
  #begun = new Set();

  /**
   * @param {Rules & { url: string, secret: string, mail: mail.Mail | null }} options url: '' = no webhook
   * @param {{ gateway: string, warn: (sentence: string) => void, now?: () => number, random?: () => number }} context
   *   now: ms, monotonic
   */
  constructor(options, { gateway, warn, now = () => performance.now(), random }) {
    this.#rules = options;
    this.#gateway = gateway;
    this.#now = now;
    this.#startedAt = Date.now();
    const { url, mail: letter } = options;
    /** @type {Send[]} */
    const sends = [];
    if (url) sends.push((message, signal) => webhook.post(options, message, signal));
    if (letter) sends.push((message) => mail.send(letter, message));
    this.#targets = sends.map((send) => new Target(send, warn, random));
  }

  /** @param {ShownEvent} event @param {Change} change */
  follow(event, change) {
    if (!this.#isWanted(event, change)) return;
    const { id, kind, severity, subject, since, until, count, acknowledged } = event;
    const { language } = this.#rules;
    const means = sentenceOf(event, language);
    const sentence = change === 'ended' ? `${OVER[language]} ${means}` : means;
    const shown = { id, kind, severity, subject, since, until, count, acknowledged, sentence };
    const message = { gateway: this.#gateway, change, ...shown };
    for (const target of this.#targets) target.add(message);
  }

  close() {
    for (const target of this.#targets) target.close();
  }

  /** @param {ShownEvent} event @param {Change} change */
  #isWanted({ id, kind, severity, subject, since }, change) {
    if (change === 'acknowledged') return false;
    const { kinds, quietMs } = this.#rules;
    if (SEVERITIES.indexOf(severity) < SEVERITIES.indexOf(this.#rules.severity)) return false;
    if (kinds.length > 0 && !kinds.includes(kind)) return false;
    // An end is news for those who know of the begin, perhaps from an earlier run.
    if (change === 'ended') return (this.#begun.delete(id) || since < this.#startedAt) && this.#rules.ended;
    const key = `${kind}\n${subject}`;
    const at = this.#notifiedAt.get(key);
    if (at !== undefined && this.#now() - at < quietMs) return false;
    this.#notifiedAt.delete(key);
    this.#notifiedAt.set(key, this.#now());
    if (this.#notifiedAt.size > MAX_QUIET) this.#notifiedAt.delete([...this.#notifiedAt.keys()][0]);
    this.#begun.add(id);
    if (this.#begun.size > MAX_QUIET) this.#begun.delete([...this.#begun][0]);
    return true;
  }
}

/** Begins the sentence of an event that is over. */
const OVER = { 'en-US': 'Over:', de: 'Vorbei:' };

/** @param {number} ms @param {AbortSignal} signal */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(end, ms);
    // It must not keep a process alive that ends.
    timer.unref();
    signal.addEventListener('abort', end, { once: true });
    function end() {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve(undefined);
    }
  });
}

module.exports = { MAX_WAITING, Notifier };
