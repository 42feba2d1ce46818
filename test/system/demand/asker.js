'use strict';
// Asks over HTTP at a fixed rate, whatever the gateway does, and notes when each question was answered.

const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { draws } = require('../../fixtures/random');
const { Ledger } = require('./ledger');

const ASKERS = 10;
const EVERY_MS = [100, 250, 500];
/** Longest duration of most questions. */
const SHORT_S = 5;
/** Percentage of questions that last longer, so that they outlive a restart of the gateway. */
const LONG_PERCENT = 10;
const MAX_SOCKETS = 400;
/** Most questions that may wait for an answer. */
const MAX_OPEN = 2000;

/**
 * @typedef {object} AskerOptions
 * @property {string[]} devices
 * @property {number} perS questions a second
 * @property {number} longS duration of a long question
 * @property {ReturnType<typeof import('../../fixtures/random').seeded>} random
 * @property {() => number} adminPort
 */

class Asker {
  #options;
  #agent = new http.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
  #isOver = false;
  /** @type {Set<Promise<void>>} */
  #open = new Set();
  ledger = new Ledger();
  told = { asked: 0, on: 0, waiting: 0, refused: 0, unanswered: 0 };
  /**
   * Times from when a question was due to its answer, ms; sent: from when it was sent to the answer with the rate.
   * @type {{ on: number[], waiting: number[], sent: number[] }}
   */
  times = { on: [], waiting: [], sent: [] };
  /** Questions that are due from this time on count in `counted` when they are accepted. */
  countsFrom = Infinity;
  counted = 0;
  /** The first refusals. @type {string[]} */
  refusals = [];
  lateMs = 0;

  /** @param {AskerOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** Asks until stop(). */
  async run() {
    const { perS } = this.#options;
    const begun = performance.now();
    for (let n = 0; !this.#isOver; n++) {
      const dueAt = begun + (n * 1000) / perS;
      const now = performance.now();
      if (dueAt > now) await delay(dueAt - now);
      else this.lateMs = Math.max(this.lateMs, now - dueAt);
      if (this.#open.size >= MAX_OPEN) throw new Error(`${MAX_OPEN} questions wait for an answer`);
      const answered = this.#ask(dueAt).finally(() => this.#open.delete(answered));
      this.#open.add(answered);
    }
    await Promise.all(this.#open);
  }

  stop() {
    this.#isOver = true;
  }

  close() {
    this.#agent.destroy();
  }

  /** @param {number} dueAt */
  async #ask(dueAt) {
    const { devices, random, longS } = this.#options;
    const { pick, between, chance } = draws(random);
    const question = {
      device: pick(devices),
      by: `asker-${between(1, ASKERS)}`,
      everyMs: pick(EVERY_MS),
      forS: chance(LONG_PERCENT) ? longS : between(1, SHORT_S)
    };
    this.told.asked++;
    const counts = dueAt >= this.countsFrom;
    const sentAt = performance.now();
    const ended = this.ledger.enter(question, sentAt);
    try {
      const { status, body } = await this.request('POST', 'demand', question);
      const answeredAt = performance.now();
      ended(status === 200);
      if (status !== 200) {
        this.told.refused++;
        if (this.refusals.length < 5) this.refusals.push(`${status} ${body.error}`);
        return;
      }
      const state = body.state === 'on' ? 'on' : 'waiting';
      this.told[state]++;
      this.times[state].push(answeredAt - dueAt);
      if (state === 'on') this.times.sent.push(answeredAt - sentAt);
      if (counts) this.counted++;
    } catch {
      // The gateway was killed.
      this.told.unanswered++;
      ended(false);
    }
  }

  /** Returns all devices that have a question or are owed a restore. @returns {Promise<any[]>} */
  async views() {
    const views = [];
    for (let after = ''; after !== null;) {
      const { body } = await this.request('GET', `demand?limit=1000${after && `&after=${after}`}`);
      views.push(...body.devices);
      after = body.next;
    }
    return views;
  }

  /** Ends the questions that are open, as their askers do it. */
  async endAll() {
    for (const { device, askers } of await this.views()) {
      for (const by of askers) await this.request('DELETE', `demand/${device}?by=${by}`);
    }
  }

  /** Returns how many ms an answer takes that needs no disk and no device. @returns {Promise<number>} */
  async look() {
    const begun = performance.now();
    await this.request('GET', 'demand?device=none');
    return performance.now() - begun;
  }

  /**
   * @param {string} method
   * @param {string} url
   * @param {object} [given]
   * @returns {Promise<{ status: number, body: any }>}
   */
  request(method, url, given) {
    const text = given ? JSON.stringify(given) : '';
    const headers = given
      ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      : {};
    const port = this.#options.adminPort();
    return new Promise((resolve, reject) => {
      const request = http.request(
        { port, path: `/seganet/${url}`, method, agent: this.#agent, headers },
        (response) => {
          let got = '';
          response.setEncoding('utf8');
          response.on('data', (part) => (got += part));
          response.on('error', reject);
          response.on('end', () => {
            const isJson = response.headers['content-type']?.includes('json');
            resolve({ status: response.statusCode ?? 0, body: isJson ? JSON.parse(got) : got });
          });
        }
      );
      request.on('error', reject);
      request.end(text);
    });
  }
}

module.exports = { Asker, SHORT_S };
