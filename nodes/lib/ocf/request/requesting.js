'use strict';
// The requests and observations of one ocf request node.

const { RequestFailure } = require('../cloud/own-requests');
const { contentOf } = require('./answer-message');
const { readMessage } = require('./request-message');

/** @typedef {import('../node/clouds').Cloud} Cloud */
/** @typedef {import('../cloud/own-requests').OwnQuestion} OwnQuestion */
/** @typedef {(error?: Error) => void} Done */
/**
 * @typedef {object} Relation an observation
 * @property {OwnQuestion} question
 * @property {any} msg that started it
 * @property {Done} done of that message; has an effect once
 * @property {number} sequence of its next message
 * @property {import('../cloud/own-observations').OwnObservation | null} own null while the cloud is closed
 */
/**
 * @typedef {object} Parts
 * @property {() => Cloud | null} cloud
 * @property {{ timeoutMs: number, observe: boolean }} settings
 * @property {(msg: any) => any} copy returns a message of its own, with a new id
 * @property {(msg: any) => void} send
 * @property {(error: Error, msg: any) => void} report an error of an observation whose message is done
 */

const LIMITS = { relations: 256, requests: 1024 };

class Requesting {
  #parts;
  #ending = new AbortController();
  #open = 0;
  /** @type {Map<string, Relation>} */
  #relations = new Map();

  /** @param {Parts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** @param {any} msg @param {(msg: any) => void} send @param {Done} done @throws {RangeError} */
  take(msg, send, done) {
    const { question, wish } = readMessage(msg, this.#parts.settings);
    const key = JSON.stringify([question.di, question.path, question.query]);
    if (wish === 'stop') {
      this.#stop(key);
      return done();
    }
    const cloud = this.#parts.cloud();
    if (!cloud) throw failure('closed', 'The ocf cloud node is not open.');
    if (wish === 'observe') return void this.#observe(cloud, key, question, msg, done);
    if (this.#open >= LIMITS.requests) {
      throw failure('busy', `The node has ${LIMITS.requests} requests without an answer.`);
    }
    this.#open++;
    cloud.ownRequests
      .send(question, this.#ending.signal)
      .then((answer) => {
        Object.assign(msg, contentOf(answer));
        send(msg);
        done();
      })
      .catch((error) => done(coded(error)))
      .finally(() => this.#open--);
  }

  /** @param {Cloud} cloud @param {string} key @param {OwnQuestion} question @param {any} msg @param {Done} done */
  async #observe(cloud, key, question, msg, done) {
    try {
      if (!(await cloud.grants.of(question.di)))
        throw failure('unknown', `No device ${question.di} has signed up.`);
      if (this.#ending.signal.aborted || cloud.isClosed) throw failure('closed', 'The cloud is closing.');
      const before = this.#relations.get(key);
      if (!before && this.#relations.size >= LIMITS.relations)
        throw failure('busy', `The node has ${LIMITS.relations} observations.`);
      /** @type {Relation} */
      const relation = { question, msg, done, sequence: 0, own: null };
      this.#relations.set(key, relation);
      this.#start(cloud, key, relation);
      // After the start, so that both share the observation at the device.
      before?.own?.end();
      before?.done();
      // It waits for the device, possibly for days.
      if (!cloud.route.ownWayTo(question.di)) done();
    } catch (error) {
      done(coded(error));
    }
  }

  /** @param {Cloud} cloud @param {string} key @param {Relation} relation */
  #start(cloud, key, relation) {
    relation.own = cloud.ownObservations.start(relation.question, {
      answered: (answer, goesOn) => {
        if (!goesOn) this.#relations.delete(key);
        const content = contentOf(answer);
        const coap = { ...content.coap, sequence: relation.sequence++, observing: goesOn };
        this.#parts.send(Object.assign(this.#parts.copy(relation.msg), { ...content, coap }));
        relation.done();
      },
      failed: (error) => {
        this.#relations.delete(key);
        this.#parts.report(coded(error), relation.msg);
        relation.done();
        return 'end';
      }
    });
  }

  /** @param {string} key */
  #stop(key) {
    const relation = this.#relations.get(key);
    this.#relations.delete(key);
    relation?.own?.end();
    relation?.done();
  }

  /** The cloud has opened or closed. @param {Cloud | null} cloud */
  follow(cloud) {
    for (const [key, relation] of this.#relations) {
      relation.own = null;
      if (cloud) this.#start(cloud, key, relation);
      else relation.done();
    }
  }

  close() {
    this.#ending.abort();
    for (const key of [...this.#relations.keys()]) this.#stop(key);
  }

  get open() {
    return this.#open;
  }

  get relations() {
    return this.#relations.size;
  }
}

/** @param {import('../cloud/own-requests').FailureReason} reason @param {string} sentence */
function failure(reason, sentence) {
  return coded(new RequestFailure(reason, sentence));
}

/** @param {any} error @returns {Error} with `code`, such as SEGANET_OCF_TIMEOUT, if the device has not answered */
function coded(error) {
  if (!(error instanceof RequestFailure)) return error;
  const word = error.reason.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return Object.assign(error, { code: `SEGANET_OCF_${word}` });
}

module.exports = { Requesting, LIMITS };
