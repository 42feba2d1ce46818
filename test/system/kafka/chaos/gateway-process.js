'use strict';
// The gateway and its devices, each a process.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { build } = require('../../../../bench/harness/build');

/** @typedef {{ cpu: { user: number, system: number }, rssKiB: number, state: any, counters: any }} Reading */

/** The process of the gateway (gateway.js). */
class Gateway {
  /**
   * @param {string} broker @param {string} folder @param {string} mode @param {object} [settings] of the cluster
   * @param {'safe' | 'replicated'} [acknowledge]
   */
  constructor(broker, folder, mode, settings = {}, acknowledge = 'safe') {
    this.folder = folder;
    const program = path.join(__dirname, 'gateway.js');
    const args = [program, broker, folder, mode, JSON.stringify(settings), acknowledge];
    this.child = spawn(process.execPath, args, {
      stdio: ['pipe', 'pipe', 'inherit']
    });
    this.lines = readline.createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  /** @returns {Promise<any>} its next line */
  async next() {
    const { value, done } = await this.lines.next();
    if (done) throw new Error('the gateway ended');
    return JSON.parse(value);
  }

  /** @returns {Promise<Reading>} */
  read() {
    this.child.stdin.write('\n');
    return this.next();
  }

  /** Ends it and removes its folder, as if its machine burned. */
  async burn() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill('SIGKILL');
    await ended;
    fs.rmSync(this.folder, { recursive: true, force: true });
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.stdin.end();
    await ended;
  }
}

/**
 * @param {Record<string, string | number>} options of loadgen
 * @param {AbortSignal} [signal] ends it early, and in order
 * @returns {Promise<any>} its result
 */
async function load(options, signal) {
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(build('loadgen'), flags, { stdio: ['ignore', 'ignore', 'inherit'] });
  signal?.addEventListener('abort', () => child.kill());
  const code = await new Promise((resolve) => child.once('exit', resolve));
  if (code !== 0) throw new Error(`loadgen ended with ${code}`);
  return JSON.parse(fs.readFileSync(String(options.out), 'utf8'));
}

module.exports = { Gateway, load };
