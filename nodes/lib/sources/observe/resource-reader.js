'use strict';
// Reads a resource once, for a message.

const { Peer } = require('./coap-peer');

const MAX_AT_ONCE = 16;
const MAX_WAITING = 1000;

/**
 * @typedef {import('./observe-settings').Resource} Resource
 * @typedef {{ resource: Resource, resolve: (payload: Buffer) => void, reject: (error: Error) => void }} Wanted
 */

class Reader {
  #options;
  /** @type {Wanted[]} */
  #waiting;
  /** @type {Set<Peer>} */
  #peers;
  #busy;
  #closed;

  /** @param {{ confirmable: boolean, timeoutMs: number, maxBodyBytes: number }} options */
  constructor(options) {
    this.#options = options;
    this.#waiting = [];
    this.#peers = new Set();
    this.#busy = 0;
    this.#closed = false;
  }

  /**
   * @param {Resource} resource
   * @returns {Promise<Buffer>} rejects with a sentence
   */
  read(resource) {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(
        new Error(`${MAX_WAITING} resources already wait to be read. Send fewer requests.`)
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resource, resolve, reject });
      this.#next();
    });
  }

  close() {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('The node is closed.'));
    for (const peer of this.#peers) peer.close();
  }

  #next() {
    if (this.#busy >= MAX_AT_ONCE) return;
    const wanted = this.#waiting.shift();
    if (!wanted) return;
    this.#busy++;
    const { url } = wanted.resource.target;
    this.#get(wanted.resource)
      .then(wanted.resolve, (error) =>
        wanted.reject(new Error(`${url} could not be read: ${error.message}.`))
      )
      .finally(() => {
        this.#busy--;
        this.#next();
      });
  }

  /** @param {Resource} resource @returns {Promise<Buffer>} */
  async #get({ target }) {
    const peer = await Peer.open(target, this.#options);
    this.#peers.add(peer);
    try {
      return await new Promise((resolve, reject) => {
        if (this.#closed) return reject(new Error('the node is closed'));
        peer.ask(false, {
          answer: ({ code, payload }) => {
            if (code.startsWith('2.')) resolve(payload);
            else reject(new Error(`the device answered ${code}`));
          },
          failed: reject
        });
      });
    } finally {
      this.#peers.delete(peer);
      peer.close();
    }
  }
}

exports.Reader = Reader;
