'use strict';
// A system under test that is one process, or several that start and end together.

const { readGroups } = require('../../../../bench/harness/proc');
const { waitForPort } = require('../../../../bench/harness/net');

/** @typedef {import('../../../../bench/harness/child').Child} Child */

class ProcessSystem {
  /** @param {{home: string, devicePort: number, uplinkPort: number}} place */
  constructor({ home, devicePort, uplinkPort }) {
    this.home = home;
    this.devicePort = devicePort;
    this.uplinkPort = uplinkPort;
    /** @type {Child[]} */
    this.children = [];
    /** Output of ended processes. */
    this.log = '';
    /** Counts starts, to distinguish counters. */
    this.incarnation = 0;
    /** Called with each child that was started. @type {(child: Child) => void} */
    this.onStart = () => {};
  }

  /** @returns {Child[]} */
  spawn() {
    throw new Error('not this one');
  }

  /** Does not wait. */
  start() {
    this.incarnation += 1;
    this.children = this.spawn();
    for (const child of this.children) this.onStart(child);
  }

  get isAlive() {
    return this.children.length > 0 && this.children.every((child) => !child.exit);
  }

  async ready(timeoutMs = 30000) {
    const { children } = this;
    await waitForPort(this.devicePort, '127.0.0.1', timeoutMs, () => children.some(({ exit }) => exit));
  }

  /** @param {NodeJS.Signals} signal */
  signal(signal) {
    for (const child of this.children) child.kill(signal);
  }

  async kill() {
    this.signal('SIGKILL');
    await this.#ended();
  }

  /** @returns {Promise<(number | null)[]>} exit codes after SIGTERM */
  async stop(timeoutMs = 20000) {
    const exits = await Promise.all(this.children.map((child) => child.stop('SIGTERM', timeoutMs)));
    await this.#ended();
    return exits.map(({ code }) => code);
  }

  async #ended() {
    for (const child of this.children) {
      await child.exited;
      this.log += `--- ${child.name} ${this.incarnation}\n${child.output}`;
    }
    this.children = [];
  }

  get output() {
    return this.log + this.children.map(({ output }) => output).join('');
  }

  get rssBytes() {
    return this.children.length > 0 ? readGroups(this.children.map(({ pid }) => pid)).rssBytes : 0;
  }

  /** @returns {Promise<any>} counters, null = not available */
  async stats() {
    return null;
  }
}

module.exports = { ProcessSystem };
