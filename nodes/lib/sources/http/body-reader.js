'use strict';
// Reads request bodies within a limit for each body, and a budget for all bodies in memory.

const { HttpRefusal, retryAfter } = require('./http-refusal');

/** @param {number} limit */
const tooLarge = (limit) =>
  new HttpRefusal(413, `The body may have at most ${limit} bytes. Send several requests.`);

class BodyReader {
  /**
   * @param {number} limit bytes of a body
   * @param {number} budget bytes of all bodies in memory
   */
  constructor(limit, budget) {
    this.limit = limit;
    this.free = budget;
  }

  /**
   * Checks the headers before the body is read.
   * @param {import('node:http').IncomingMessage} request
   * @throws {HttpRefusal}
   */
  check({ headers }) {
    const length = Number(headers['content-length'] ?? 0);
    if (length > this.limit) throw tooLarge(this.limit);
    if (length > this.free) throw this.#full();
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      throw new HttpRefusal(415, 'The body must not be compressed.');
    }
  }

  #full() {
    return new HttpRefusal(503, 'Too many bytes are being received at once. Try again.', {
      headers: retryAfter(1)
    });
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @returns {Promise<{ body: Buffer, release: () => void }>} release returns the body's memory to the budget; call it
   *   once
   * @throws {HttpRefusal}
   */
  async read(request) {
    // The events of such a request are over, so none of them would come.
    if (request.destroyed && !request.readableEnded) {
      throw new HttpRefusal(400, 'The request ended too early.');
    }
    /** @type {Buffer[]} */
    const chunks = [];
    let size = 0;
    let isHeld = true;
    let isWhole = false;
    const release = () => {
      if (isHeld) this.free += size;
      isHeld = false;
    };
    const body = new Promise((resolve, reject) => {
      /** @param {HttpRefusal} refusal */
      const fail = (refusal) => {
        if (isWhole) return;
        request.off('data', take);
        release();
        reject(refusal);
      };
      /** @param {Buffer} chunk */
      const take = (chunk) => {
        size += chunk.length;
        this.free -= chunk.length;
        if (size > this.limit) fail(tooLarge(this.limit));
        else if (this.free < 0) fail(this.#full());
        else chunks.push(chunk);
      };
      request.on('data', take);
      request.once('end', () => {
        isWhole = true;
        resolve(Buffer.concat(chunks));
      });
      request.once('error', () => fail(new HttpRefusal(400, 'The request ended too early.')));
      request.once('close', () => fail(new HttpRefusal(400, 'The request ended too early.')));
    });
    return { body: await body, release };
  }
}

exports.BodyReader = BodyReader;
