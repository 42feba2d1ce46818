'use strict';
// Runs the overlay's program as a child of the gateway: joins the network once, then keeps the node running. The
// program ends with the gateway, also after kill -9.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { Backoff } = require('../base/backoff');
const { deviceNames } = require('./device-names');

const MIN_MS = 500;
const MAX_MS = 30000;
/** A program that ran this long was well. */
const STABLE_MS = 10000;
const STOP_MS = 2000;
const MAX_LINE = 500;
/** Of sysexits.h: a restart alone does not help. */
const WRONG_CONFIGURATION = 78;

/**
 * @typedef {object} ProgramOptions
 * @property {string} file the program
 * @property {string} folder its state
 * @property {string} url of the services, '' = joined already
 * @property {string} root fingerprint of the network's root
 * @property {string} token of an invitation
 * @property {string} device name of the TUN interface, '' = none
 * @property {string[]} offers such as broker=tcp/1883@127.0.0.1:1883
 * @property {string} devices file with the table of devices, '' = none
 * @property {number} [minMs]
 * @property {number} [maxMs]
 */

/** @typedef {{ onProblem: (sentence: string) => void }} ProgramHandlers */

class OverlayProgram {
  #options;
  #handlers;
  #backoff;
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isClosed = false;

  /** @param {ProgramOptions} options @param {ProgramHandlers} handlers */
  constructor(options, handlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#backoff = new Backoff(options.minMs ?? MIN_MS, options.maxMs ?? MAX_MS);
  }

  open() {
    if (this.#isClosed) return;
    if (this.#hasJoined()) return this.#run(nodeArguments(this.#options), {});
    const { folder, url, token } = this.#options;
    if (!url) {
      // A membership may still come, by the program's own command join.
      this.#handlers.onProblem(
        `This machine is not a node of an overlay yet: ${folder} has no membership. To join a network, enter the address of its services, the fingerprint of its root and the token of an invitation.`
      );
      return this.#openLater(this.#backoff.maxMs);
    }
    this.#run(joinArguments(this.#options), { SEGANET_OVERLAY_TOKEN: token }, () => this.open());
  }

  #hasJoined() {
    return fs.existsSync(path.join(this.#options.folder, 'membership.json'));
  }

  /** @param {number} ms */
  #openLater(ms) {
    this.#timer = setTimeout(() => this.open(), ms);
    this.#timer.unref();
  }

  /**
   * @param {string[]} args
   * @param {Record<string, string>} env
   * @param {() => void} [onSuccess]
   */
  #run(args, env, onSuccess) {
    const startedAt = performance.now();
    const child = spawn(this.#options.file, args, {
      // The end of its standard input ends the program.
      stdio: ['pipe', 'ignore', 'pipe'],
      env: { ...process.env, ...env }
    });
    this.#child = child;
    let lastLine = '';
    child.stderr?.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
      const lines = (lastLine + text).split('\n').filter((line) => line.trim() !== '');
      lastLine = (lines.at(-1) ?? '').slice(-MAX_LINE);
    });
    let isOver = false;
    /** @param {number | null} code @param {string} why */
    const end = (code, why) => {
      if (isOver) return;
      isOver = true;
      this.#child = null;
      if (this.#isClosed) return;
      if (code === 0 && onSuccess) return onSuccess();
      if (performance.now() - startedAt > STABLE_MS) this.#backoff.reset();
      if (code === WRONG_CONFIGURATION) this.#backoff.step = this.#backoff.maxMs;
      this.#handlers.onProblem(`seganet-overlay ${args[0]} ended (${why}). ${lastLine}`.trim());
      this.#openLater(this.#backoff.next());
    };
    child.stdin?.on('error', () => {});
    child.on('error', (error) => end(null, error.message));
    child.on('close', (code, signal) => end(code, signal ?? `exit code ${code}`));
  }

  /** Ends the program. @returns {Promise<void>} when it has ended */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    await new Promise((resolve) => {
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      child.once('close', () => {
        clearTimeout(late);
        resolve(undefined);
      });
      // join ends by the signal, and the node by the end of its input.
      child.stdin?.end();
      child.kill('SIGTERM');
    });
  }
}

/** @param {ProgramOptions} options @returns {string[]} */
function joinArguments({ folder, url, root, devices }) {
  const names = deviceNames(devices).flatMap((name) => ['--device', name]);
  return ['join', '--state', folder, '--url', url, '--root', root, ...names];
}

/** @param {ProgramOptions} options @returns {string[]} */
function nodeArguments({ folder, device, offers, devices }) {
  return [
    'node',
    '--state',
    folder,
    '--until-eof',
    ...(device ? ['--tun', device] : []),
    ...offers.flatMap((offer) => ['--offer', offer]),
    ...(devices ? ['--devices', devices] : [])
  ];
}

module.exports = { OverlayProgram, joinArguments, nodeArguments };
