'use strict';
// The socket through which commands of the same user ask the running gateway: HTTP on a Unix socket in SEGANET_HOME. It
// works without an editor and needs no password, because only the gateway's user and root can open it.
//
//   GET /status                          the state as JSON
//   GET /why/<name>                      { answers }: why records of <name> wait, from each node that knows names
//   GET /events?open=yes                 the newest events; open=yes: only those that last
//   GET /events/<id>/acknowledge         acknowledges an event; 204 = there is no such event
//   GET /drain                           { devices, moved, records }: what is left of all engines, see Handover
//   GET /drain/start?rate=N&server=S     begins to hand the devices over; 400 = { error }
//   POST /nodes/<kind>/<verb>?…          what a node of this kind answers that has a method control()
//   GET /engines                         [{ engine, directory }]: the engines whose databases can be copied
//   GET /engines/<id>/log.db             a copy of the log with all that was stored before the request
//   GET /engines/<id>/commands.db        the same of the stored commands; 204 = there are none

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');

const SOCKET = 'gateway.sock';
/** Longest path of a Unix socket, bytes. */
const MAX_PATH = 107;
const COPY = /^backup-[0-9a-f]{12}\.db(-journal|-wal|-shm)?$/;
/** Longest name that /why takes. */
const MAX_NAME = 64;
/** Longest body that a node gets. */
const MAX_BODY_BYTES = 1 << 20;
/** Space that must stay free beside a copy. */
const HEADROOM_BYTES = 16 << 20;
/** A client may ask for the next database before the connection of the last one has closed. */
const WAIT_MS = 2000;

/** @param {string} home @returns {string} */
const socketIn = (home) => path.join(home, SOCKET);

/**
 * @typedef {{ verb: string, params: Record<string, string>, text: string }} Asked of a node
 *
 * @typedef {object} Copied a running engine
 * @property {string} id
 * @property {string} directory of its databases
 * @property {((file: string) => Promise<unknown>) | null} log copies the log into a new file; null = there is none
 * @property {(file: string) => Promise<boolean>} commands
 */

class ControlSocket {
  #file;
  #state;
  #engines;
  #why;
  #events;
  #drain;
  #ask;
  #report;
  /** @type {http.Server | null} */
  #server;
  /** The copy that is under way. @type {Promise<void> | null} */
  #copying;

  /**
   * @param {object} parts
   * @param {string} parts.home
   * @param {() => object} parts.state
   * @param {() => Copied[]} parts.engines
   * @param {(name: string) => Promise<object[]>} parts.why
   * @param {{ list: (isOpen: boolean) => object[], acknowledge: (id: number) => object | null }} parts.events
   * @param {{ view: () => object, start: (how: { perS: number, server: string }) => void }} parts.drain
   * @param {(kind: string, asked: Asked) => Promise<{ status: number, text: string }>} parts.ask text: JSON
   * @param {(sentence: string) => void} parts.report
   */
  constructor({ home, state, engines, why, events, drain, ask, report }) {
    this.#file = socketIn(home);
    this.#state = state;
    this.#engines = engines;
    this.#why = why;
    this.#events = events;
    this.#drain = drain;
    this.#ask = ask;
    this.#report = report;
    this.#server = null;
    this.#copying = null;
  }

  /**
   * Opens the socket. A failure is reported and does not stop the gateway.
   * @returns {Promise<boolean>}
   */
  async open() {
    if (Buffer.byteLength(this.#file) > MAX_PATH) {
      this.#report(`${this.#file} is longer than the ${MAX_PATH} bytes of a socket's path${WITHOUT}`);
      return false;
    }
    try {
      if (await answers(this.#file)) {
        this.#report(`Another gateway uses ${path.dirname(this.#file)}${WITHOUT}`);
        return false;
      }
      fs.rmSync(this.#file, { force: true });
      const server = http.createServer((request, response) => void this.#handle(request, response));
      await new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(this.#file, () => resolve(undefined));
      });
      fs.chmodSync(this.#file, 0o600);
      server.on('error', (error) => this.#report(`${this.#file}: ${error.message}`));
      // The gateway ends when its flows end.
      server.unref();
      this.#server = server;
      return true;
    } catch (error) {
      this.#report(`${this.#file} cannot be opened (${/** @type {Error} */ (error).message})${WITHOUT}`);
      return false;
    }
  }

  close() {
    this.#server?.close();
    this.#server = null;
  }

  /** @param {http.IncomingMessage} request @param {http.ServerResponse} response */
  async #handle(request, response) {
    try {
      const url = new URL(request.url ?? '', 'http://gateway');
      const [, what = '', id = '', name = ''] = url.pathname.split('/').map(decodeURIComponent);
      if (request.method === 'POST' && what === 'nodes') {
        const params = Object.fromEntries(url.searchParams);
        const { status, text } = await this.#ask(id, { verb: name, params, text: await bodyOf(request) });
        return answerText(response, status, text);
      }
      request.resume();
      if (request.method !== 'GET') return answer(response, 405, { error: 'Only GET is allowed.' });
      if (what === 'status' && id === '') return answer(response, 200, this.#state());
      if (what === 'why' && id !== '' && id.length <= MAX_NAME)
        return answer(response, 200, { answers: await this.#why(id) });
      if (what === 'events' && id === '')
        return answer(response, 200, this.#events.list(url.searchParams.get('open') === 'yes'));
      if (what === 'events' && name === 'acknowledge') {
        const event = this.#events.acknowledge(Number(id));
        return answer(response, event ? 200 : 204, event);
      }
      if (what === 'drain' && ['', 'start'].includes(id)) {
        const { searchParams: how } = url;
        if (id === 'start')
          this.#drain.start({ perS: Number(how.get('rate')), server: how.get('server') ?? '' });
        return answer(response, 200, this.#drain.view());
      }
      if (what === 'engines' && id === '') {
        const rows = this.#engines().map((each) => ({ engine: each.id, directory: each.directory }));
        return answer(response, 200, rows);
      }
      const engine = this.#engines().find((each) => each.id === id);
      const copy = name === 'log.db' ? engine?.log : name === 'commands.db' ? engine?.commands : undefined;
      if (what !== 'engines' || !engine || copy === undefined)
        return answer(response, 404, { error: 'There is no such engine or database.' });
      if (copy === null) return answer(response, 204, null);
      await this.#send(response, engine.directory, name, copy);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (response.headersSent) response.destroy();
      else answer(response, error instanceof RangeError ? 400 : 500, { error: message });
    }
  }

  /**
   * Sends a copy of a database. The copy is a temporary file beside it.
   * @param {http.ServerResponse} response
   * @param {string} directory
   * @param {string} name
   * @param {(file: string) => Promise<unknown>} copy
   */
  async #send(response, directory, name, copy) {
    if (this.#copying) await Promise.race([this.#copying, sleep(WAIT_MS, undefined, { ref: false })]);
    if (this.#copying) return answer(response, 409, { error: 'Another backup is being made.' });
    let ended = () => {};
    this.#copying = new Promise((resolve) => (ended = resolve));
    const file = path.join(directory, `backup-${crypto.randomBytes(6).toString('hex')}.db`);
    try {
      removeCopies(directory);
      if (!fs.existsSync(path.join(directory, name))) return answer(response, 204, null);
      const short = missingSpace(directory, name);
      if (short) return answer(response, 507, { error: short });
      if ((await copy(file)) === false) return answer(response, 204, null);
      // The client left during the copy: the response emits no other 'close'.
      if (response.destroyed) return;
      response.writeHead(200, { 'Content-Length': fs.statSync(file).size });
      await new Promise((resolve, reject) => {
        const stream = fs.createReadStream(file);
        stream.once('error', reject);
        response.once('close', resolve);
        stream.pipe(response);
      });
    } finally {
      fs.rmSync(file, { force: true });
      this.#copying = null;
      ended();
    }
  }
}

const WITHOUT = '. "seganet-gateway status" and "backup" do not reach this gateway.';

/** @param {http.ServerResponse} response @param {number} status @param {object | null} body */
function answer(response, status, body) {
  answerText(response, status, body === null ? undefined : JSON.stringify(body));
}

/** @param {http.ServerResponse} response @param {number} status @param {string} [text] JSON */
function answerText(response, status, text) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(text);
}

/** @param {http.IncomingMessage} request @returns {Promise<string>} @throws {RangeError} if it is too long */
async function bodyOf(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    // The rest is read, too, so that the client gets the answer.
    if (bytes <= MAX_BODY_BYTES) parts.push(part);
  }
  if (bytes > MAX_BODY_BYTES)
    throw new RangeError(`At most ${MAX_BODY_BYTES} bytes are taken, not ${bytes}.`);
  return Buffer.concat(parts).toString();
}

/** Removes the copies of a gateway that was killed meanwhile. @param {string} directory */
function removeCopies(directory) {
  try {
    const names = fs.readdirSync(directory);
    for (const name of names) if (COPY.test(name)) fs.rmSync(path.join(directory, name), { force: true });
  } catch {
    // There is no folder yet, or it is none: the log says so.
  }
}

/** @param {string} directory @param {string} name @returns {string} a sentence, '' = there is room */
function missingSpace(directory, name) {
  const sizes = [name, `${name}-wal`].map(
    (each) => fs.statSync(path.join(directory, each), { throwIfNoEntry: false })?.size ?? 0
  );
  const wanted = sizes[0] + sizes[1] + HEADROOM_BYTES;
  const { bavail, bsize } = fs.statfsSync(directory);
  if (bavail * bsize >= wanted) return '';
  const mib = (/** @type {number} */ bytes) => Math.ceil(bytes / 2 ** 20);
  return `The copy of the log needs ${mib(wanted)} MiB in ${directory}, which has ${mib(bavail * bsize)} MiB. Make room there.`;
}

/** @param {string} file @returns {Promise<boolean>} true if a process listens on this socket */
function answers(file) {
  const net = require('node:net');
  return new Promise((resolve) => {
    const socket = net.connect(file);
    socket.once('connect', () => socket.destroy() && resolve(true));
    socket.once('error', () => resolve(false));
  });
}

exports.ControlSocket = ControlSocket;
exports.MAX_PATH = MAX_PATH;
exports.SOCKET = SOCKET;
exports.answers = answers;
exports.removeCopies = removeCopies;
exports.socketIn = socketIn;
