'use strict';
// Spares: gateways of this package that have loaded their modules and wait for the tenant that they become, so that a
// start takes a part of its time. A spare has run no tenant's code and becomes one tenant only. It ends with the
// keeper, because it reads a pipe whose other end only the keeper has.

const { execFile, spawn } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { promisify } = require('node:util');
const { memoryOf, statOf } = require('../base/processes');
const { endOf } = require('./driver');

const run = promisify(execFile);

const ROOT = path.join(__dirname, '..', '..', '..', '..');
/** What a spare runs. */
const SPARE = path.join(ROOT, 'flows', 'launcher', 'spare.js');
const MIB = 1 << 20;
/** Available memory below which no spare starts, and below which all of them end. */
const START_BYTES = 256 * MIB;
const KEEP_BYTES = 128 * MIB;
/** Time between two looks at the memory, and between the starts of two spares. */
const LOOK_MS = 1000;
/** After this number of spares in a row that ended by themselves, no other one starts until the tenants change. */
const MAX_FAILURES = 3;
/** For a program that limits a spare. */
const LIMIT_MS = 5000;

/** @typedef {{ cwd: string, output: string, env: Record<string, string> }} Identity see flows/launcher/spare.js */
/**
 * @typedef {object} Spare
 * @property {string} id
 * @property {number} pid
 * @property {import('node:child_process').ChildProcess} child
 * @property {string} version of the packages that it has loaded
 * @property {(identity: Identity) => void} become
 */
/** @typedef {{ waiting: number, most: number, memoryBytes: number, reason: string }} SparesRow reason: why there are fewer */
/**
 * @typedef {object} SparesParts
 * @property {(id: string) => string[]} words before the command, such as a program that starts it in a scope
 * @property {() => Record<string, string>} env of a spare, until it becomes a tenant
 * @property {() => number} [available] bytes of memory
 * @property {() => string} [version] changes when other packages are installed: a spare has loaded the former ones
 * @property {string} [program] what a spare runs
 * @property {number} [lookMs] time between two looks, default LOOK_MS
 */

/** @returns {string} when this package and those beside it were installed */
function installed() {
  const files = [path.join(ROOT, 'package.json')];
  for (let folder = ROOT; folder !== path.dirname(folder); folder = path.dirname(folder))
    files.push(path.join(folder, 'node_modules', '.package-lock.json'));
  return files.map((file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? '').join();
}

class Spares {
  #parts;
  #most = 0;
  /** The oldest first: it has loaded most. @type {Spare[]} */
  #waiting = [];
  #failures = 0;
  #reason = '';
  #isBusy = () => false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {SparesParts} parts */
  constructor(parts) {
    this.#parts = {
      available: () => process.availableMemory(),
      version: installed,
      program: SPARE,
      lookMs: LOOK_MS,
      ...parts
    };
  }

  /**
   * Keeps this number of them from now on.
   * @param {number} most
   * @param {() => boolean} [isBusy] true while tenants start, which need the processor themselves
   */
  keep(most, isBusy = () => false) {
    this.#most = most;
    this.#isBusy = isBusy;
    this.#failures = 0;
    this.#reason = '';
    this.#end(most);
    clearInterval(this.#timer);
    this.#timer = most > 0 ? setInterval(() => this.look(), this.#parts.lookMs).unref() : undefined;
  }

  /** Ends all of them if memory is short. Else it starts a missing one, unless tenants start. */
  look() {
    const { available, version } = this.#parts;
    if (this.#waiting.some((spare) => spare.version !== version())) this.#end(0);
    const bytes = available();
    if (bytes < START_BYTES) {
      this.#reason = `only ${Math.floor(bytes / MIB)} MiB of memory are available`;
      if (bytes < KEEP_BYTES) this.#end(0);
      return;
    }
    if (this.#failures >= MAX_FAILURES) return;
    if (this.#waiting.length >= this.#most) this.#reason = '';
    else if (!this.#isBusy()) this.#start();
  }

  /**
   * Returns a spare that has the limits of a tenant, or null.
   * @param {(spare: { pid: number, id: string }) => string[][]} limits commands that set them
   * @returns {Promise<Spare | null>}
   */
  async take(limits) {
    const spare = this.#waiting.shift();
    if (!spare) return null;
    try {
      if (spare.version !== this.#parts.version())
        throw new Error('its packages are not those that are installed');
      // These programs find the manager of the user by the same variables.
      const options = { timeout: LIMIT_MS, env: this.#parts.env() };
      for (const [program, ...args] of limits(spare)) await run(program, args, options);
      if (spare.child.exitCode === null && spare.child.signalCode === null) {
        this.#failures = 0;
        return spare;
      }
    } catch (error) {
      // The tenant starts without a spare.
      this.#reason = `a spare was of no use: ${/** @type {Error} */ (error).message.split('\n')[0]}`;
    }
    spare.child.kill('SIGKILL');
    return null;
  }

  /** @returns {SparesRow} */
  get row() {
    const memoryBytes = this.#waiting.reduce((sum, { pid }) => {
      const stat = statOf(pid);
      return sum + (stat ? memoryOf(stat) : 0);
    }, 0);
    return { waiting: this.#waiting.length, most: this.#most, memoryBytes, reason: this.#reason };
  }

  close() {
    this.keep(0);
  }

  #start() {
    const { words, env, program, version } = this.#parts;
    const id = crypto.randomBytes(4).toString('hex');
    const command = [...words(id), process.execPath, '--max-semi-space-size=1', program];
    const child = spawn(command[0], command.slice(1), {
      env: env(),
      // As a tenant's process: it gets no signal of the keeper's terminal.
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore']
    });
    const failed = (/** @type {string} */ reason) => {
      const at = this.#waiting.findIndex((each) => each.child === child);
      // One that was taken is the tenant's, and its end is that of the tenant.
      if (at >= 0) this.#waiting.splice(at, 1);
      if (at >= 0 || child.pid === undefined) this.#failures++;
      if (at >= 0 || child.pid === undefined) this.#reason = `a spare ${reason}`;
    };
    child.once('error', (error) => failed(`cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => failed(endOf(code, signal)));
    if (child.pid === undefined) return;
    // It may have ended when it gets its identity.
    child.stdin?.on('error', () => {});
    child.unref();
    /** @type {import('node:net').Socket} */ (child.stdin).unref();
    const become = (/** @type {Identity} */ identity) =>
      void child.stdin?.end(`${JSON.stringify(identity)}\n`);
    this.#waiting.push({ id, child, pid: child.pid, version: version(), become });
  }

  /** @param {number} rest ends the others */
  #end(rest) {
    for (const { child } of this.#waiting.splice(rest)) child.kill('SIGKILL');
  }
}

exports.Spares = Spares;
