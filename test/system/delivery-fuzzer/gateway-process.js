'use strict';
// The process of Node-RED, which can be killed and started again on the same files.

const { fork } = require('node:child_process');
const path = require('node:path');

class GatewayProcess {
  /** @param {object} options of makeFlow() */
  constructor(options) {
    this.options = options;
    /** Faults visible to a user. @type {string[]} */
    this.faults = [];
    this.output = '';
    /** @type {import('node:child_process').ChildProcess | null} */
    this.child = null;
    this.isKilled = false;
    /** @type {{ resolve: (value?: unknown) => void, reject: (error: Error) => void } | null} */
    this.waiting = null;
  }

  async start() {
    this.isKilled = false;
    const child = fork(path.join(__dirname, 'child.js'), [JSON.stringify(this.options)], {
      stdio: ['ignore', 'pipe', 'pipe', 'ipc']
    });
    this.child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (this.output = (this.output + text).slice(-8000)));
    child.on('message', (/** @type {any} */ { fault, answer }) => {
      // Messages of a killed process may arrive after its end.
      if (child !== this.child || this.isKilled) return;
      if (fault) this.faults.push(fault);
      if (answer) this.#settle(undefined, answer);
    });
    child.on('exit', (code, signal) => {
      if (this.isKilled) return this.#settle();
      const error = new Error(`the process of Node-RED ended (${signal ?? code}):\n${this.output}`);
      this.faults.push(error.message);
      this.#settle(error);
    });
    await this.#answer();
  }

  /** @param {string} type @param {number} version */
  async deploy(type, version) {
    await this.#ask({ name: 'deploy', type, version });
  }

  /** Records that the engine has not delivered yet. @returns {Promise<number>} */
  async left() {
    return /** @type {any} */ (await this.#ask({ name: 'left' }))?.held ?? 0;
  }

  /** @param {object} order @returns {Promise<unknown>} undefined at a kill */
  async #ask(order) {
    if (this.isKilled) return undefined;
    this.child?.send(order);
    return this.#answer();
  }

  /** kill -9 */
  async kill() {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    this.isKilled = true;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }

  #answer() {
    return new Promise((resolve, reject) => (this.waiting = { resolve, reject }));
  }

  /** @param {Error} [error] @param {unknown} [answer] */
  #settle(error, answer) {
    const { waiting } = this;
    this.waiting = null;
    if (error) waiting?.reject(error);
    else waiting?.resolve(answer);
  }
}

exports.GatewayProcess = GatewayProcess;
