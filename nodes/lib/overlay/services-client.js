'use strict';
// Asks the services of an overlay network, over their administration socket: HTTP with JSON, one connection a request.

const http = require('node:http');
const path = require('node:path');

const ANSWER_MS = 10000;
/** A page of 100 nodes with 16 groups each, and 100 invitations, has about 300 KiB. */
const MAX_ANSWER_BYTES = 1 << 20;
const MAX_SENTENCE = 1000;

/** @param {NodeJS.ProcessEnv} [env] @returns {string} absolute path of the socket, '' = none */
function adminSocket(env = process.env) {
  const given = env.SEGANET_OVERLAY_ADMIN?.trim();
  return given ? path.resolve(given) : '';
}

/** Reports a request that the services refused or did not answer. */
class ServicesError extends Error {
  /** @param {string} sentence @param {number} [status] of HTTP; 0 = no answer, and a change may have happened */
  constructor(sentence, status = 0) {
    super(sentence);
    this.status = status;
  }
}

/** @param {string} socket @param {NodeJS.ErrnoException} error @returns {ServicesError} */
function unreachable(socket, { code, message }) {
  if (code === 'ENOENT' || code === 'ECONNREFUSED' || code === 'ENOTSOCK')
    return new ServicesError(
      `No services of an overlay network answer on ${socket} (${code}). Start them (seganet-overlay serve), or correct SEGANET_OVERLAY_ADMIN.`,
      503
    );
  if (code === 'EACCES')
    return new ServicesError(
      `The services of the overlay network run as another user, so ${socket} is closed to the gateway. Run both as the same user.`,
      503
    );
  return new ServicesError(`The services of the overlay network did not answer: ${message}.`);
}

/**
 * @param {string} socket
 * @param {string} method
 * @param {string} url
 * @param {object | null} [body]
 * @param {number} [answerMs]
 * @returns {Promise<any>} the object or list of the answer; rejects with a ServicesError
 */
function askServices(socket, method, url, body = null, answerMs = ANSWER_MS) {
  const payload = body && Buffer.from(JSON.stringify(body));
  const headers = payload ? { 'content-type': 'application/json', 'content-length': payload.length } : {};
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath: socket, method, path: url, headers, agent: false });
    const timer = setTimeout(() => request.destroy(new Error(`not within ${answerMs / 1000} s`)), answerMs);
    const fail = (/** @type {Error} */ error) => {
      clearTimeout(timer);
      reject(error instanceof ServicesError ? error : unreachable(socket, error));
    };
    request.on('error', fail);
    request.on('response', (response) => {
      /** @type {Buffer[]} */
      const chunks = [];
      let bytes = 0;
      response.on('data', (chunk) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes > MAX_ANSWER_BYTES) request.destroy(new Error(`more than ${MAX_ANSWER_BYTES} bytes`));
      });
      response.on('error', fail);
      response.on('end', () => {
        clearTimeout(timer);
        try {
          resolve(read(response.statusCode ?? 0, Buffer.concat(chunks)));
        } catch (error) {
          reject(error);
        }
      });
    });
    request.end(payload ?? undefined);
  });
}

/** @param {number} status @param {Buffer} bytes @returns {object} */
function read(status, bytes) {
  let answer = null;
  try {
    answer = JSON.parse(bytes.toString());
  } catch {
    // It is not of the services.
  }
  if (typeof answer !== 'object' || answer === null)
    throw new ServicesError(
      'SEGANET_OVERLAY_ADMIN names a socket of another program: its answer is not JSON. Correct it.',
      503
    );
  if (status === 200) return answer;
  throw new ServicesError(
    String(answer.text ?? `The services answered ${status}.`).slice(0, MAX_SENTENCE),
    status
  );
}

module.exports = { ServicesError, adminSocket, askServices };
