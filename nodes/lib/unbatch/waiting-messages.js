'use strict';
// Messages that wait for a dictionary, because a broker may deliver an envelope before the retained message with its
// dictionary. Later messages of the same topic wait behind them, so that their order stays.

const MAX_MESSAGES = 1000;
const MAX_BYTES = 16 * 1024 * 1024;
const WAIT_MS = 30000;

/**
 * @typedef {object} Entry
 * @property {string} topic
 * @property {number} bytes
 * @property {() => string} missing returns the hash of the dictionary that it waits for, '' = none
 * @property {() => void} take
 * @property {(error: Error) => void} fail
 * @property {NodeJS.Timeout} timer
 */

class WaitingMessages {
  /** In order of arrival. @type {Entry[]} */
  #entries = [];
  #bytes = 0;
  #waitMs;

  /** @param {number} [waitMs] */
  constructor(waitMs = WAIT_MS) {
    this.#waitMs = waitMs;
  }

  get size() {
    return this.#entries.length;
  }

  /** True if a message of this topic must wait behind others. @param {string} topic */
  isBehind(topic) {
    return this.#entries.some((entry) => entry.topic === topic);
  }

  /**
   * Keeps a message, or fails it at once if too many wait.
   * @param {Omit<Entry, 'timer'>} message take, fail: called once, one of them
   */
  add(message) {
    if (this.#entries.length >= MAX_MESSAGES || this.#bytes + message.bytes > MAX_BYTES)
      return message.fail(new Error(`Too many envelopes wait for a dictionary. ${REMEDY}`));
    const entry = { ...message, timer: setTimeout(() => this.#expire(entry), this.#waitMs).unref() };
    this.#entries.push(entry);
    this.#bytes += message.bytes;
  }

  /** Takes the messages whose dictionaries have arrived. */
  arrived() {
    /** @type {Set<string>} */
    const held = new Set();
    for (const entry of [...this.#entries]) {
      if (held.has(entry.topic) || entry.missing() !== '') {
        held.add(entry.topic);
        continue;
      }
      this.#remove(entry);
      entry.take();
    }
  }

  /** The node closes: all fail. */
  close() {
    for (const entry of [...this.#entries]) {
      this.#remove(entry);
      entry.fail(new Error('The node was closed before the dictionary of this envelope arrived.'));
    }
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
    this.arrived();
  }

  /** @param {Entry} entry */
  #remove(entry) {
    clearTimeout(entry.timer);
    this.#entries.splice(this.#entries.indexOf(entry), 1);
    this.#bytes -= entry.bytes;
  }
}

const REMEDY =
  'Let an mqtt in node subscribe to the dictionaries of the gateways (such as gw/+/dictionary/+) and wire it to this node.';

exports.WaitingMessages = WaitingMessages;
