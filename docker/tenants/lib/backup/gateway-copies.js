'use strict';
// Copies of databases that a running gateway holds with an exclusive lock (its log and its waiting commands). The
// gateway makes them itself and sends them through its control socket in the volume.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pipeline } = require('node:stream/promises');

const SOCKET = 'gateway.sock';
const ANSWER_MS = 10_000;
/** A copy of a large log on a slow card. */
const COPY_MS = 30 * 60_000;
/** Characters of an answer that is not a database. */
const MOST_TEXT = 1 << 20;

/**
 * @param {string} root path of the open volume, short enough for a socket
 * @param {string} name of the database, relative to the volume
 * @param {string} target does not exist
 * @param {number} most bytes
 * @returns {Promise<{ isDone: boolean, reason: string }>} reason: why the gateway did not send it, '' = there is no
 *   gateway
 *   that has it
 */
async function copyFromGateway(root, name, target, most) {
  const none = { isDone: false, reason: '' };
  const file = path.posix.basename(name);
  if (file !== 'log.db' && file !== 'commands.db') return none;
  const socket = path.join(root, SOCKET);
  if (!fs.lstatSync(socket, { throwIfNoEntry: false })?.isSocket()) return none;
  try {
    const engines = await listOf(socket);
    // In a container the volume has another path: the end of the path is the same.
    const folder = `/${path.posix.dirname(name)}`;
    const engine = engines.find(({ directory }) => directory.endsWith(folder));
    if (!engine) return none;
    const response = await ask(socket, `/engines/${encodeURIComponent(engine.engine)}/${file}`, COPY_MS);
    if (response.statusCode !== 200) return { isDone: false, reason: await refusal(response) };
    await pipeline(response, limited(most), fs.createWriteStream(target, { flags: 'wx', mode: 0o600 }));
    return { isDone: true, reason: '' };
  } catch (error) {
    fs.rmSync(target, { force: true });
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    // What a gateway that was killed leaves behind.
    return code === 'ECONNREFUSED' ? none : { isDone: false, reason: message };
  }
}

/** @param {http.IncomingMessage} response @returns {Promise<string>} */
async function refusal(response) {
  const { error } = await jsonOf(response).catch(() => ({ error: '' }));
  return typeof error === 'string' && error ? error.slice(0, 400) : `status ${response.statusCode}`;
}

/** @param {http.IncomingMessage} response @returns {Promise<any>} null = no body */
async function jsonOf(response) {
  let text = '';
  for await (const part of response.setEncoding('utf8')) {
    text += part;
    if (text.length > MOST_TEXT) throw new Error('The gateway in the volume sends too long an answer.');
  }
  return JSON.parse(text || 'null');
}

/** @param {string} socket @returns {Promise<{ engine: string, directory: string }[]>} */
async function listOf(socket) {
  const rows = await jsonOf(await ask(socket, '/engines', ANSWER_MS));
  if (!Array.isArray(rows)) return [];
  return rows.filter((row) => typeof row?.engine === 'string' && typeof row.directory === 'string');
}

/**
 * @param {string} socket
 * @param {string} url
 * @param {number} timeoutMs until the end of the answer
 * @returns {Promise<http.IncomingMessage>}
 * @throws {NodeJS.ErrnoException}
 */
function ask(socket, url, timeoutMs) {
  return new Promise((resolve, reject) => {
    const request = http.get({ socketPath: socket, path: url });
    /** @type {http.ClientRequest | http.IncomingMessage} */
    let open = request;
    const late = new Error(`no whole answer within ${timeoutMs / 1000} s`);
    // Not the time without a byte: whoever sends one now and then would never be late.
    const timer = setTimeout(() => open.destroy(late), timeoutMs);
    request.on('response', (response) => resolve((open = response)));
    request.on('error', reject).once('close', () => clearTimeout(timer));
  });
}

/** @param {number} most bytes */
function limited(most) {
  return async function* (/** @type {AsyncIterable<Buffer>} */ source) {
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > most) throw new Error('The gateway in the volume sends more than its volume may have.');
      yield chunk;
    }
  };
}

module.exports = { SOCKET, ask, copyFromGateway, jsonOf };
