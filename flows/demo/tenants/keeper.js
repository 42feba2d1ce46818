'use strict';
// The keeper in a child process, and what it reports.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { spawn } = require('node:child_process');

const GUARD = path.join(__dirname, 'guard.js');
const MAIN = path.join(__dirname, '..', '..', '..', 'docker', 'tenants', 'main.js');
const READY_MS = 30000;
const STOP_MS = 40000;
const POLL_MS = 20;
const MOST_OUTPUT = 16384;
/** Variables that the keeper gets; the last two are how systemd limits the tenants of a user. */
const PASSED = /^(SEGANET_(CACHE|NATIVE)|XDG_RUNTIME_DIR|DBUS_SESSION_BUS_ADDRESS)$/;

/** @typedef {{ at: number, tenant: string, event: string, by?: string, class?: number, ms?: number, how?: string, reason?: string }} KeeperEvent */

class Keeper {
  #env;
  #socket;
  /** @type {import('node:child_process').ChildProcess | null} */
  #child = null;
  #output = '';

  /** @param {string} home */
  constructor(home) {
    this.#env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => PASSED.test(name))),
      SEGANET_HOME: home
    };
    this.#socket = path.join(home, 'tenants', 'keeper.sock');
    /** @type {Promise<string>} how it ended */
    this.ended = new Promise(() => {});
    this.isEnding = false;
  }

  /**
   * Runs one command.
   * @param {...string} args
   * @throws {Error} with its output
   */
  async command(...args) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe']
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    if (code !== 0) throw new Error(`seganet-tenants ${args[0]} failed:\n${output.trim()}`);
  }

  /** Starts it, and waits until it answers. */
  async start() {
    const child = spawn(process.execPath, [GUARD, MAIN, 'run', '--stop-tenants'], {
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe']
    });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream
        .setEncoding('utf8')
        .on('data', (text) => (this.#output = (this.#output + text).slice(-MOST_OUTPUT)));
    }
    let hasEnded = false;
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => resolve(error.message));
      child.once('close', (code, signal) => resolve(signal ?? `code ${code}`));
    });
    void this.ended.then(() => (hasEnded = true));
    const deadline = performance.now() + READY_MS;
    while (!fs.existsSync(this.#socket)) {
      if (hasEnded || performance.now() > deadline) {
        throw new Error(`The keeper did not start:\n${this.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
  }

  get output() {
    return this.#output.trim();
  }

  /**
   * @param {(event: KeeperEvent) => void} onEvent
   * @returns {Promise<() => void>} resolves when it listens; ends it
   */
  follow(onEvent) {
    return new Promise((resolve, reject) => {
      const request = http.get({ socketPath: this.#socket, path: '/v1/events', agent: false });
      request.once('error', reject);
      request.once('response', (response) => {
        resolve(() => request.destroy());
        response.on('error', () => {});
        let rest = '';
        response.setEncoding('utf8').on('data', (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines.filter(Boolean)) onEvent(JSON.parse(line));
        });
      });
      request.flushHeaders();
    });
  }

  /** Ends it and its tenants in order. */
  async stop() {
    this.isEnding = true;
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }
}

exports.Keeper = Keeper;
