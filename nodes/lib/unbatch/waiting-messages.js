'use strict';
// Messages that wait for a dictionary, because a broker may deliver an envelope before the retained message with its
// dictionary. Later messages of the same topic wait behind them, so that the order of each device and class stays. A
// topic may have the messages of several gateways: those that are certainly of another gateway or class do not wait.

const MAX_MESSAGES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
const WAIT_MS = 30000;
/** Uses of dictionaries that are remembered; a forgotten one makes messages wait that need not. */
const MAX_USES = 10000;

/**
 * @typedef {object} Message
 * @property {string} topic
 * @property {string} hash of its dictionary, '' = none
 * @property {() => string} lane returns its gateway and class, '' = unknown, at least until its dictionary is there
 *
 * @typedef {object} Held
 * @property {number} bytes
 * @property {() => string} missing returns the hash of the dictionary that it waits for, '' = none
 * @property {() => void} take
 * @property {(error: Error) => void} fail
 *
 * @typedef {Message & Held & { number: number, timer: NodeJS.Timeout }} Entry number: in the order of arrival
 *
 * @typedef {{ entries: Entry[], bytes: number }} Queue in order of arrival
 */

class WaitingMessages {
  /** By topic; none is empty. @type {Map<string, Queue>} */
  #queues = new Map();
  #size = 0;
  #bytes = 0;
  /** Number of messages that have waited so far. */
  #arrivals = 0;
  /** The value of #arrivals at the first use, by topic, lane and dictionary. @type {Map<string, number>} */
  #uses = new Map();
  #waitMs;

  /** @param {number} [waitMs] */
  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  get size() {
    return this.#size;
  }

  /** True if a message must wait behind others of its topic. @param {Message} message */
  isBehind(message) {
    const queue = this.#queues.get(message.topic);
    return queue !== undefined && !queue.entries.every((entry) => this.#mayPass(message, entry));
  }

  /** Call it when a message has passed: its lane used this dictionary. @param {Message} message */
  passed(message) {
    const use = useOf(message);
    if (message.hash === '' || message.lane() === '' || this.#uses.has(use)) return;
    this.#uses.set(use, this.#arrivals);
    if (this.#uses.size > MAX_USES) this.#uses.delete(/** @type {string} */ (this.#uses.keys().next().value));
  }

  /**
   * Keeps a message. If too many wait, the latest one fails of the topic with the most, which may be this one.
   * @param {Message & Held} message take, fail: called once, one of them
   */
  add(message) {
    while (this.#size >= MAX_MESSAGES || this.#bytes + message.bytes > MAX_BYTES) {
      const last = this.#lastOfLargest(message);
      (last ?? message).fail(new Error(`Too many envelopes wait for a dictionary. ${REMEDY}`));
      if (!last) return;
    }
    const number = ++this.#arrivals;
    const timer = setTimeout(() => this.#expire(entry), this.#waitMs).unref();
    /** @type {Entry} */
    const entry = { ...message, number, timer };
    const queue = this.#queues.get(message.topic) ?? { entries: [], bytes: 0 };
    this.#queues.set(message.topic, queue);
    queue.entries.push(entry);
    queue.bytes += message.bytes;
    this.#size++;
    this.#bytes += message.bytes;
  }

  /**
   * Removes and returns the latest message of the topic that has the most messages, or bytes, whichever is too much.
   * @param {Message & Held} message that needs the place
   * @returns {Entry | null} null = its topic would have the most
   */
  #lastOfLargest({ topic, bytes }) {
    const isFull = this.#size >= MAX_MESSAGES;
    const amountOf = (/** @type {Queue} */ queue) => (isFull ? queue.entries.length : queue.bytes);
    const own = this.#queues.get(topic);
    let most = (own ? amountOf(own) : 0) + (isFull ? 1 : bytes);
    /** @type {Entry | null} */
    let last = null;
    for (const queue of this.#queues.values()) {
      if (amountOf(queue) <= most) continue;
      most = amountOf(queue);
      last = queue.entries[queue.entries.length - 1];
    }
    if (last) this.#remove(last);
    return last;
  }

  /** Takes the messages whose dictionaries have arrived. */
  arrived() {
    for (const topic of [...this.#queues.keys()]) this.#takeReady(topic);
  }

  /** The node closes: all fail. */
  close() {
    for (const { entries } of [...this.#queues.values()]) {
      for (const entry of [...entries]) {
        this.#remove(entry);
        entry.fail(new Error('The node was closed before the dictionary of this envelope arrived.'));
      }
    }
  }

  /** @param {string} topic */
  #takeReady(topic) {
    /** @type {Entry[]} */
    const held = [];
    for (const entry of [...(this.#queues.get(topic)?.entries ?? [])]) {
      if (entry.missing() !== '' || !held.every((earlier) => this.#mayPass(entry, earlier))) {
        held.push(entry);
        continue;
      }
      this.#remove(entry);
      entry.take();
    }
  }

  /**
   * True if no device can have records in both messages in the same class. The lane of a message whose dictionary is
   * missing is unknown. But a session of a gateway does not return to an earlier dictionary after it used another one,
   * so a lane whose dictionary was in use before that message arrived is not its lane.
   * @param {Message} later
   * @param {Entry} earlier
   */
  #mayPass(later, earlier) {
    const lane = later.lane();
    const other = earlier.lane();
    if (lane === '' || (later.hash !== '' && later.hash === earlier.hash)) return false;
    if (other !== '') return lane !== other;
    if (later.hash === '' || earlier.hash === '') return false;
    return (this.#uses.get(useOf(later)) ?? Infinity) < earlier.number;
  }

  /** @param {Entry} entry */
  #expire(entry) {
    const hash = entry.missing();
    this.#remove(entry);
    // One that waited only behind others has another turn.
    if (hash === '') entry.take();
    else
      entry.fail(
        new Error(
          `The dictionary ${hash} of this envelope did not arrive within ${this.#waitMs / 1000} s. ${REMEDY}`
        )
      );
    this.#takeReady(entry.topic);
  }

  /** @param {Entry} entry */
  #remove(entry) {
    clearTimeout(entry.timer);
    const queue = this.#queues.get(entry.topic);
    const at = queue ? queue.entries.indexOf(entry) : -1;
    if (!queue || at < 0) return;
    queue.entries.splice(at, 1);
    queue.bytes -= entry.bytes;
    if (queue.entries.length === 0) this.#queues.delete(entry.topic);
    this.#size--;
    this.#bytes -= entry.bytes;
  }
}

/** @param {Message} message */
function useOf({ topic, hash, lane }) {
  return `${hash} ${lane()} ${topic}`;
}

const REMEDY =
  'Let an mqtt in node subscribe to the dictionaries of the gateways (such as gw/+/dictionary/+) and wire it to this node.';

exports.WaitingMessages = WaitingMessages;
