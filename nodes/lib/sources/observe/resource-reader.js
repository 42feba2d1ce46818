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
  /** @param {{ confirmable: boolean, timeoutMs: number, maxBodyBytes: number }} options */
  constructor(options) {
    this.options_ = options;
    /** @type {Wanted[]} */
    this.waiting_ = [];
    /** @type {Set<Peer>} */
    this.peers_ = new Set();
    this.busy_ = 0;
    this.closed_ = false;
  }

  /**
   * @param {Resource} resource
   * @returns {Promise<Buffer>} rejects with a sentence
   */
  read(resource) {
    if (this.waiting_.length >= MAX_WAITING) {
      return Promise.reject(
        new Error(`${MAX_WAITING} resources already wait to be read. Send fewer requests.`)
      );
    }
    return new Promise((resolve, reject) => {
      this.waiting_.push({ resource, resolve, reject });
      this.next_();
    });
  }

  close() {
    this.closed_ = true;
    for (const { reject } of this.waiting_.splice(0)) reject(new Error('The node is closed.'));
    for (const peer of this.peers_) peer.close();
  }

  next_() {
    if (this.busy_ >= MAX_AT_ONCE) return;
    const wanted = this.waiting_.shift();
    if (!wanted) return;
    this.busy_++;
    const { url } = wanted.resource.target;
    this.get_(wanted.resource)
      .then(wanted.resolve, (error) =>
        wanted.reject(new Error(`${url} could not be read: ${error.message}.`))
      )
      .finally(() => {
        this.busy_--;
        this.next_();
      });
  }

  /** @param {Resource} resource @returns {Promise<Buffer>} */
  async get_({ target }) {
    const peer = await Peer.open(target, this.options_);
    this.peers_.add(peer);
    try {
      return await new Promise((resolve, reject) => {
        if (this.closed_) return reject(new Error('the node is closed'));
        peer.ask(false, {
          answer: ({ code, payload }) => {
            if (code.startsWith('2.')) resolve(payload);
            else reject(new Error(`the device answered ${code}`));
          },
          failed: reject
        });
      });
    } finally {
      this.peers_.delete(peer);
      peer.close();
    }
  }
}

exports.Reader = Reader;
