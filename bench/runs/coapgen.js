'use strict';
// Runs coapgen, the CoAP load generator.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../harness/child');
const { build } = require('../harness/build');

/** @typedef {Record<string, string | number>} LoadOptions of coapgen */

/** A running generator. */
class CoapLoad {
  /**
   * @param {number} port @param {LoadOptions} options
   * @param {{ cpus?: string, openFiles?: number }} process
   */
  constructor(port, options, { cpus, openFiles }) {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-coap-'));
    this.file = path.join(this.folder, 'load.json');
    const flags = Object.entries({ port, ...options, out: this.file }).flatMap(([name, value]) => [
      `--${name}`,
      String(value)
    ]);
    this.child = new Child(build('coapgen'), flags, { name: 'coapgen', cpus, openFiles });
  }

  /** Waits for a line of its output: ready, start. @param {string} event @param {number} [timeoutMs] */
  async reached(event, timeoutMs = 90000) {
    await this.child.until(() => this.child.jsonLines().some((line) => line.event === event), timeoutMs);
  }

  /** Waits for its end. @returns {Promise<any>} its result, with the streams */
  async result() {
    const { code } = await this.child.exited;
    try {
      if (code !== 0) throw new Error(`coapgen failed:\n${this.child.output.slice(-2000)}`);
      return JSON.parse(fs.readFileSync(this.file, 'utf8'));
    } finally {
      fs.rmSync(this.folder, { recursive: true, force: true });
    }
  }

  /** Ends it early, if it runs. @returns {Promise<any>} its result */
  async stop() {
    await this.child.stop('SIGTERM');
    return this.result();
  }
}

/** @param {number} port @param {LoadOptions} options @param {string | undefined} cpus @param {number} openFiles */
async function generate(port, options, cpus, openFiles) {
  return new CoapLoad(port, options, { cpus, openFiles }).result();
}

module.exports = { CoapLoad, generate };
