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

/** Before the content, in the payload (docs/reference/messages.md). */
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
/**
 * MQTT 3.1.1 has no refusal of a message: a broker that does not allow it may close the connection [MQTT-3.3.5-2]. As
 * many connections in a row that end within this time after a dictionary count as a refusal.
 */
const CLOSED_MS = 5000;
const CLOSED_TIMES = 3;
/** A new one must save this fraction of the bytes. */
const LEAST_SAVING = 0.05;
/** It must save this many times its own size within an hour. */
const LEAST_TIMES = 2;
const HOUR_S = 3600;
const SLOTS = 2;
const NO_HASH = Buffer.alloc(HASH_BYTES);
const NOTHING = Buffer.alloc(0);

/** @typedef {{ content: Buffer, hash: Buffer }} Content */

/**
 * The dictionary of all stages with one topic for it. A session uses it from its acknowledgement until the session's
 * connection ends: the next one may be to a broker that does not have it. Two topics take turns, so that a broker keeps
 * the previous one, and never more than two.
 */
class Dictionary {
  #sessions;
  #now;
  #problem;
  /** @type {number[]} */
  #stages = [];
  /** @type {Content | null} */
  #current = null;
  /** The sessions that use it. @type {Set<Session>} */
  #users = new Set();
  #isPublishing = false;
  /** Slots whose retained messages must be removed from the broker. @type {number[]} */
  #toErase = [];
  /** Number of calls of forget(). */
  #forgotten = 0;
  #slot;
  #lookAt = 0;
  #publishedAt = -Infinity;
  #renewedAt = -Infinity;
  #blockedUntil = -Infinity;
  /** Number of connections in a row that ended behind a dictionary. */
  #closed = 0;
  /** Bytes that the stages have sent compressed, when they were last looked at. */
  #sent = { at: 0, bytes: 0 };

  /**
   * @param {object} parts
   * @param {string} parts.topic without the number at its end
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
    // A new packer has none, and that of a stage whose topic changed still has the one of the old topic.
    this.#apply(this.#sessions);
  }

  /** Returns the hash of the dictionary in use, '' = none. */
  get hash() {
    return this.#current && this.#users.size > 0 ? this.#current.hash.toString('hex') : '';
  }

  /** True if it has no stages, and nothing to remove from the broker. */
  get isOver() {
    return this.#stages.length === 0 && this.#toErase.length === 0;
  }

  everySecond() {
    const now = this.#now();
    if (this.#isPublishing || now < this.#blockedUntil) return;
    if (this.#toErase.length > 0) this.#erase();
    else if (this.#stages.length > 0) this.#follow(now);
  }

  /** @param {number} now */
  #follow(now) {
    // Only on their own connections they reach the brokers of the sessions that cannot use it yet.
    const publisher = this.#publisher((session) => !this.#users.has(session));
    if (this.#current && publisher && now - this.#publishedAt >= REPEAT_MS) {
      if (this.#current.content.length <= this.#room(publisher))
        this.#publish(this.#current, publisher, false);
      else this.#drop();
    } else if (now >= this.#lookAt) this.#look(now);
  }

  /** A connection has ended. */
  disconnected() {
    const gone = [...this.#users].filter(({ aside }) => !aside.isConnected);
    for (const session of gone) this.#users.delete(session);
    this.#apply(gone);
  }

  /** Stops using it, and removes it and the previous one from the broker: they have records that they must not have. */
  forget() {
    this.#forgotten++;
    this.#drop();
    this.#toErase = Array.from({ length: SLOTS }, (_, slot) => slot);
  }

  /** Stops using it. The next one is made as soon as that pays. */
  #drop() {
    this.#current = null;
    this.#users.clear();
    this.#renewedAt = -Infinity;
    this.#apply(this.#sessions);
  }

  /** Removes the next retained message from the broker. */
  #erase() {
    const publisher = this.#publisher();
    if (!publisher) return;
    const [slot] = this.#toErase;
    this.#send(publisher, slot, NOTHING, (isTaken) => {
      // If it was refused, nothing of ours is there.
      if (isTaken !== null) this.#toErase.splice(this.#toErase.indexOf(slot), 1);
    });
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
    const publisher = this.#publisher();
    const content = publisher ? this.#propose(publisher) : NOTHING;
    const saving = this.#saving(content);
    if (saving < LEAST_SAVING || saving * perSecond * HOUR_S < LEAST_TIMES * content.length) return;
    const hash = createHash('sha256').update(content).digest().subarray(0, HASH_BYTES);
    this.#publish({ content, hash }, /** @type {Session} */ (publisher), true);
  }

  /**
   * Returns recent lines of all sessions; those of the one that sends most are last, where they are found best.
   * @param {Session} publisher
   */
  #propose(publisher) {
    const most = Math.min(MAX_BYTES, LINK_TIMES * publisher.bytes(), this.#room(publisher));
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

  /**
   * Returns the least urgent session that can publish.
   * @param {(session: Session) => boolean} [isWanted]
   */
  #publisher(isWanted = () => true) {
    return this.#sessions.findLast((session) => session.aside.isReady && isWanted(session)) ?? null;
  }

  /** Returns how large the content may be for the broker. @param {Session} publisher */
  #room({ aside }) {
    return Math.max(0, aside.room(this.#topicOf(0)) - HEAD.length);
  }

  /** @param {number} slot */
  #topicOf(slot) {
    return `${this.topic}${slot + 1}`;
  }

  /** @param {Content} dictionary @param {Session} publisher @param {boolean} isNew */
  #publish(dictionary, publisher, isNew) {
    if (isNew) this.#slot = (this.#slot + 1) % SLOTS;
    this.#publishedAt = this.#now();
    const forgotten = this.#forgotten;
    const connections = new Map(
      this.#sessions
        .filter(({ aside }) => aside.isConnected)
        .map((session) => [session, session.aside.connections])
    );
    this.#send(publisher, this.#slot, Buffer.concat([HEAD, dictionary.content]), (isTaken) => {
      if (isTaken && this.#forgotten === forgotten) this.#taken(dictionary, connections, isNew);
    });
  }

  /**
   * @param {Session} publisher
   * @param {number} slot
   * @param {Buffer} payload
   * @param {(isTaken: boolean | null) => void} done null = the connection ended first
   */
  #send({ aside }, slot, payload, done) {
    const connection = aside.connections;
    const sentAt = this.#now();
    this.#isPublishing = true;
    aside.publish(this.#topicOf(slot), payload, (isTaken) => {
      this.#isPublishing = false;
      const isOpen = aside.connections === connection && aside.isConnected;
      if (isTaken || isOpen) this.#closed = 0;
      else if (this.#now() - sentAt <= CLOSED_MS) this.#closed++;
      const isRefused = !isTaken && (isOpen || this.#closed >= CLOSED_TIMES);
      if (isRefused) this.#refused(slot);
      done(isTaken || isRefused ? isTaken : null);
    });
  }

  /**
   * @param {Content} dictionary
   * @param {Map<Session, number>} connections numbers of the connections that there were when it was published
   * @param {boolean} isNew
   */
  #taken(dictionary, connections, isNew) {
    this.#current = dictionary;
    for (const [session, connection] of connections) {
      const { aside } = session;
      if (aside.isConnected && aside.connections === connection) this.#users.add(session);
      else this.#users.delete(session);
    }
    if (isNew) {
      this.changes++;
      this.#renewedAt = this.#now();
    }
    this.#apply(this.#sessions);
  }

  /** @param {number} slot */
  #refused(slot) {
    this.#blockedUntil = this.#now() + REFUSED_MS;
    const what = `the retained message ${this.#topicOf(slot)} with the dictionary of the compression`;
    const fact =
      this.#closed > 0
        ? `The connection ended ${this.#closed} times in a row right behind ${what}. A broker of MQTT 3.1.1 that does not allow a message closes the connection.`
        : `The broker does not take ${what}.`;
    this.#closed = 0;
    this.#problem(
      'DICTIONARY',
      `${fact} Allow this client to publish it. For the next hour, envelopes are compressed without a dictionary.`
    );
  }

  /** Sets what the sessions use. @param {Session[]} sessions */
  #apply(sessions) {
    for (const session of sessions) {
      const isUser = this.#current !== null && this.#users.has(session);
      const { content, hash } = isUser
        ? /** @type {Content} */ (this.#current)
        : { content: NOTHING, hash: NO_HASH };
      for (const stage of this.#stages) session.writer.setDictionary(stage, hash, content);
    }
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
