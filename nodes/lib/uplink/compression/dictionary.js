'use strict';

const { createHash } = require('node:crypto');

/** @typedef {import('./aside').Aside} Aside */
/** @typedef {import('../../../../native').PublishWriter} Writer */

/**
 * A session of the uplink.
 * @typedef {object} Session
 * @property {Writer} writer
 * @property {Aside} aside
 * @property {() => number} bytes how much its link carries in 25 ms
 */

/** Before the content, in the payload (docs/messages.md). */
const HEAD = Buffer.from([0xfe, 0x53, 0x47, 0x01, 0xff]);
const HASH_BYTES = 8;
const MAX_BYTES = 32768;
/** A dictionary takes the link for at most this many times 25 ms, because an alarm may wait behind it. */
const LINK_TIMES = 4;
const MIN_LINES = 30;
/** Between two looks whether a new dictionary would pay; while there is none. */
const LOOK_MS = 5000;
const LOOK_AGAIN_MS = 60000;
/** Between two dictionaries. */
const RENEW_MS = 600000;
/** Between two publications of the same one, which each new connection needs. */
const REPEAT_MS = 60000;
/** A broker that refused it is asked again. */
const REFUSED_MS = 3600000;
/** A new one must save this fraction of the bytes. */
const LEAST_SAVING = 0.05;
/** It must save this many times its own size within an hour. */
const LEAST_TIMES = 2;
const HOUR_S = 3600;
const SLOTS = 2;
const NO_HASH = Buffer.alloc(HASH_BYTES);
const NOTHING = Buffer.alloc(0);

/**
 * The dictionary of all stages with one topic for it. It is used from its acknowledgement until the connection that
 * published it ends: another connection may be to a broker that does not have it. Two topics take turns, so that a
 * broker keeps the previous one, and never more than two.
 */
class Dictionary {
  #sessions;
  #now;
  #problem;
  /** @type {number[]} */
  #stages = [];
  /** @type {{ content: Buffer, hash: Buffer } | null} */
  #current = null;
  /** The session that published it, and the number of its connection. @type {{ session: Session, connection: number } | null} */
  #holder = null;
  #isPublishing = false;
  #slot;
  #lookAt = 0;
  #publishedAt = -Infinity;
  #renewedAt = -Infinity;
  #blockedUntil = -Infinity;
  /** Bytes that the stages have sent compressed, when they were last looked at. */
  #sent = { at: 0, bytes: 0 };

  /**
   * @param {object} parts
   * @param {string} parts.topic without the last level
   * @param {Session[]} parts.sessions the most urgent first
   * @param {() => number} parts.now ms, monotonic
   * @param {(code: string, reason: string) => void} parts.problem
   * @param {number} [parts.slot] first topic, 0 or 1
   */
  constructor({ topic, sessions, now, problem, slot = Math.floor(Date.now() / 1000) % SLOTS }) {
    this.topic = topic;
    this.#sessions = sessions;
    this.#now = now;
    this.#problem = problem;
    this.#slot = slot;
    this.#sent.at = now();
    /** Number of dictionaries that the broker acknowledged. */
    this.changes = 0;
  }

  /** @param {number[]} stages all with this topic */
  setStages(stages) {
    this.#stages = stages;
    // Packers that are new have none.
    if (this.#holder) this.#apply();
  }

  /** Returns the hash of the dictionary in use, '' = none. */
  get hash() {
    return this.#holder && this.#current ? this.#current.hash.toString('hex') : '';
  }

  everySecond() {
    const now = this.#now();
    const holder = this.#holder;
    if (holder && holder.session.aside.connections !== holder.connection) this.#suspend();
    if (this.#isPublishing || now < this.#blockedUntil) return;
    if (this.#current && !this.#holder && now - this.#publishedAt >= REPEAT_MS)
      this.#publish(this.#current, false);
    else if (now >= this.#lookAt) this.#look(now);
  }

  /** The connection has ended, on which it was published. */
  disconnected() {
    const holder = this.#holder;
    if (holder && !holder.session.aside.isConnected) this.#suspend();
  }

  #suspend() {
    this.#holder = null;
    this.#each((writer, stage) => writer.setDictionary(stage, NO_HASH, NOTHING));
  }

  /** Publishes a new one if that pays. @param {number} now */
  #look(now) {
    this.#lookAt = now + (this.#current ? LOOK_AGAIN_MS : LOOK_MS);
    const numbers = this.#each((writer, stage) => writer.compression(stage)).filter((each) => each !== null);
    const sum = (/** @type {'after' | 'fresh'} */ name) =>
      numbers.reduce((total, each) => total + each[name], 0);
    const bytes = sum('after');
    const perSecond = ((bytes - this.#sent.bytes) * 1000) / Math.max(1, now - this.#sent.at);
    this.#sent = { at: now, bytes };
    if (sum('fresh') < MIN_LINES || now - this.#renewedAt < RENEW_MS) return;
    const content = this.#propose();
    const saving = this.#saving(content);
    if (saving < LEAST_SAVING || saving * perSecond * HOUR_S < LEAST_TIMES * content.length) return;
    const hash = createHash('sha256').update(content).digest().subarray(0, HASH_BYTES);
    this.#publish({ content, hash }, true);
  }

  /** Returns recent lines of all sessions; those of the one that sends most are last, where they are found best. */
  #propose() {
    const publisher = this.#publisher();
    const most = publisher ? Math.min(MAX_BYTES, LINK_TIMES * publisher.bytes()) : 0;
    const sources = this.#each((writer, stage) => ({
      propose: (/** @type {number} */ bytes) => writer.proposeDictionary(stage, bytes),
      fresh: writer.compression(stage)?.fresh ?? 0
    }))
      .filter(({ fresh }) => fresh > 0)
      .sort((a, b) => a.fresh - b.fresh);
    return Buffer.concat(sources.map(({ propose }) => propose(Math.floor(most / sources.length))));
  }

  /** @param {Buffer} content @returns {number} fraction of the present bytes that it would save */
  #saving(content) {
    if (content.length === 0) return 0;
    let current = 0;
    let proposed = 0;
    for (const trial of this.#each((writer, stage) => writer.tryDictionary(stage, content))) {
      if (trial.plain === 0) continue;
      current += trial.current;
      proposed += trial.proposed;
    }
    return current === 0 ? 0 : 1 - proposed / current;
  }

  /** The least urgent session that can publish. */
  #publisher() {
    return this.#sessions.findLast(({ aside }) => aside.isReady) ?? null;
  }

  /** @param {{ content: Buffer, hash: Buffer }} dictionary @param {boolean} isNew */
  #publish(dictionary, isNew) {
    const session = this.#publisher();
    if (!session) return;
    if (isNew) this.#slot = (this.#slot + 1) % SLOTS;
    const connection = session.aside.connections;
    this.#isPublishing = true;
    this.#publishedAt = this.#now();
    const payload = Buffer.concat([HEAD, dictionary.content]);
    session.aside.publish(`${this.topic}/${this.#slot + 1}`, payload, (isTaken) => {
      this.#isPublishing = false;
      if (isTaken) this.#taken(dictionary, { session, connection }, isNew);
      else if (session.aside.connections === connection && session.aside.isConnected) this.#refused();
    });
  }

  /**
   * @param {{ content: Buffer, hash: Buffer }} dictionary
   * @param {{ session: Session, connection: number }} holder
   * @param {boolean} isNew
   */
  #taken(dictionary, holder, isNew) {
    this.#current = dictionary;
    this.#holder = holder;
    if (isNew) {
      this.changes++;
      this.#renewedAt = this.#now();
    }
    this.#apply();
  }

  #refused() {
    this.#blockedUntil = this.#now() + REFUSED_MS;
    this.#problem(
      'DICTIONARY',
      `The broker does not take the retained message ${this.topic}/${this.#slot + 1} with the dictionary of the compression. Allow this client to publish it; until then, envelopes are compressed without a dictionary.`
    );
  }

  #apply() {
    const { content, hash } = /** @type {{ content: Buffer, hash: Buffer }} */ (this.#current);
    this.#each((writer, stage) => writer.setDictionary(stage, hash, content));
  }

  /**
   * @template T
   * @param {(writer: Writer, stage: number) => T} fn
   * @returns {T[]}
   */
  #each(fn) {
    return this.#sessions.flatMap(({ writer }) => this.#stages.map((stage) => fn(writer, stage)));
  }
}

exports.Dictionary = Dictionary;
