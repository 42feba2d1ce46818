'use strict';
// Topics of a request desk: the engine makes records of the posts to them without JavaScript.

/**
 * @typedef {import('../../../../native/index.js').Engine} Engine
 * @typedef {import('../../../../native/index.js').DeskEvent} DeskEvent
 * @typedef {Pick<Engine, 'openTopic' | 'closeTopic' | 'followTopic' | 'askLatestPost'>} TopicEngine
 *
 * @typedef {object} Post
 * @property {number} number increases with each post of the engine
 * @property {Buffer} payload
 */

/** The latest handle. A late answer must not be one to a question of the stage's next desk. */
let lastQuestion = 0;

class DeskTopics {
  #engine;
  #stage;
  /** @type {Set<number>} */
  #open = new Set();
  /** Questions of latestPost(), by handle. @type {Map<number, (post: Post | null) => void>} */
  #questions = new Map();

  /** @param {TopicEngine} engine @param {number} stage */
  constructor(engine, stage) {
    this.#engine = engine;
    this.#stage = stage;
  }

  /**
   * Opens a topic: posts of its owner's connections become records without asked() (DeskOptions.posts). One with the
   * same owner and name is closed.
   * @param {string} owner
   * @param {string} name the path after the prefix, such as a/b
   * @param {string} subject topic of the records
   * @param {number} [recordClass] 1..8; 0 = that of the device
   * @returns {number} 0: there are too many, or the name or the subject is not allowed. Its posts go to asked()
   */
  openTopic(owner, name, subject, recordClass = 0) {
    const topic = this.#engine.openTopic(this.#stage, owner, name, subject, recordClass);
    if (topic !== 0) this.#open.add(topic);
    return topic;
  }

  /** @param {number} topic */
  closeTopic(topic) {
    if (this.#open.delete(topic)) this.#engine.closeTopic(topic);
  }

  /**
   * True: each post that becomes safe comes to posted(); if JavaScript is slow, the latest one.
   * @param {number} topic @param {boolean} on
   */
  followTopic(topic, on) {
    if (this.#open.has(topic)) this.#engine.followTopic(topic, on);
  }

  /**
   * Returns the latest post that is safe and had room: each one that was answered before this call, or a later one.
   * @param {number} topic
   * @returns {Promise<Post | null>} null: there is none, or the topic is closed
   */
  latestPost(topic) {
    if (!this.#open.has(topic)) return Promise.resolve(null);
    const handle = ++lastQuestion;
    return new Promise((resolve) => {
      this.#questions.set(handle, resolve);
      this.#engine.askLatestPost(this.#stage, handle, topic);
    });
  }

  /** The answer to a question. @param {Extract<DeskEvent, { kind: 'latest' }>} event */
  answered({ handle, number, payload }) {
    const resolve = this.#questions.get(handle);
    this.#questions.delete(handle);
    resolve?.(number > 0 ? { number, payload } : null);
  }

  /** Closes all topics. Open questions get null. */
  end() {
    for (const topic of [...this.#open]) this.closeTopic(topic);
    for (const resolve of this.#questions.values()) resolve(null);
    this.#questions.clear();
  }
}

exports.DeskTopics = DeskTopics;
