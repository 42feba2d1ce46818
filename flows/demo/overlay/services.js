'use strict';
// The overlay's services in a child process, and its commands.

const fs = require('node:fs');
const path = require('node:path');
const { spawn } = require('node:child_process');

const READY_MS = 20000;
const STOP_MS = 5000;
const MOST_OUTPUT = 16384;
const NETWORK = 'plant';

/**
 * @typedef {object} ServicesOptions
 * @property {string} program seganet-overlay
 * @property {string} folder of the state
 * @property {string} address of this machine, for the nodes
 * @property {number} port
 * @property {number} relayPort
 * @property {string} [relayAllow] private prefix that may be relayed to
 * @property {string[]} [within] prefix of commands, for a network namespace
 *
 * @typedef {{ url: string, root: string, token: string }} Invitation
 */

class Services {
  #options;
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null;
  #output = '';
  isEnding = false;
  /** @type {Promise<string>} how it ended */
  ended = new Promise(() => {});

  /** @param {ServicesOptions} options */
  constructor(options) {
    this.#options = options;
  }

  /** The last output. */
  get output() {
    return this.#output.trim();
  }

  /** @param {string[]} args @param {import('node:child_process').SpawnOptions} options */
  #spawn(args, options) {
    const { program, within = [] } = this.#options;
    const [command, ...rest] = [...within, program, ...args];
    return spawn(command, rest, options);
  }

  /** Starts them, and waits until they are ready. */
  async start() {
    const { folder, address, port, relayPort, relayAllow } = this.#options;
    const places = [
      ['--listen', `${address}:${port}`],
      ['--relay-listen', `${address}:${relayPort}`],
      ['--public', address],
      ['--relay-address', address],
      ...(relayAllow ? [['--relay-allow', relayAllow]] : [])
    ];
    const args = ['serve', '--until-eof', '--state', folder, '--network', NETWORK, ...places.flat()];
    // The end of its standard input ends it, so it ends with this process in every case.
    const child = this.#spawn(args, { stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child = child;
    this.isEnding = false;
    this.#output = '';
    let hasEnded = false;
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    void this.ended.then(() => (hasEnded = true));
    child.stdin?.on('error', () => {});
    await new Promise((resolve, reject) => {
      const fail = () => reject(new Error(`The overlay's services did not start:\n${this.output}`));
      const late = setTimeout(fail, READY_MS);
      void this.ended.then(fail);
      for (const stream of [child.stdout, child.stderr])
        stream?.setEncoding('utf8').on('data', (text) => {
          this.#output = (this.#output + text).slice(-MOST_OUTPUT);
          if (!hasEnded && /^ready$/m.test(this.#output)) {
            clearTimeout(late);
            resolve(undefined);
          }
        });
    });
  }

  /**
   * Runs one command of the administration.
   * @param {...string} args
   * @returns {Promise<string>} what it prints
   * @throws {Error} with its output
   */
  async command(...args) {
    const [name, ...rest] = args;
    const child = this.#spawn([name, '--state', this.#options.folder, ...rest], {
      stdio: ['ignore', 'pipe', 'pipe']
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text) => (output += text));
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw new Error(`seganet-overlay ${name} failed:\n${output.trim()}`);
    return output;
  }

  /** @param {string} name @param {string} group @returns {Promise<Invitation>} */
  async invite(name, group) {
    const { auth, root, token } = JSON.parse(
      await this.command('invite', '--name', name, '--group', group, '--json')
    );
    return { url: auth[0], root, token };
  }

  /** @param {object[]} allow rules */
  async allow(allow) {
    const file = path.join(this.#options.folder, 'policy.json');
    fs.writeFileSync(file, JSON.stringify({ version: 0, allow }), { mode: 0o600 });
    await this.command('policy', '--set', file);
  }

  /** Ends them in order. */
  async stop() {
    this.isEnding = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const late = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    child.stdin?.end();
    await this.ended;
    clearTimeout(late);
  }

  /** Ends them at once. */
  async kill() {
    this.isEnding = true;
    this.#child?.kill('SIGKILL');
    await this.ended;
  }
}

module.exports = { NETWORK, Services };
