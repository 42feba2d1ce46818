'use strict';
// The keeper in a child process, and what it reports.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { ownIdentity } = require('../../launcher/together');

const TENANT = path.join(__dirname, 'tenant.js');
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
  /** Commands that run. @type {Set<import('node:child_process').ChildProcess>} */
  #commands = new Set();
  /** Names of its tenants. @type {string[]} */
  #tenants = [];
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
   * Adds a tenant: a gateway that ends with this process, also if the keeper was killed before it could end it.
   * @param {string} name
   * @param {...string} options
   */
  async add(name, ...options) {
    const { pid, start } = ownIdentity();
    const command = [process.execPath, '--max-semi-space-size=1', TENANT, `${pid}`, start];
    this.#tenants.push(name);
    await this.command('add', name, '--driver', 'process', ...options, '--', ...command);
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
    this.#commands.add(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => (output += text));
    const code = await new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    this.#commands.delete(child);
    if (code !== 0) throw new Error(`seganet-tenants ${args[0]} failed:\n${output.trim()}`);
  }

  /** Starts it, and waits until it answers. */
  async start() {
    // The end of its standard input ends it and its tenants, so they end with this process, even after kill -9.
    const child = spawn(process.execPath, [MAIN, 'run', '--stop-tenants', '--until-eof'], {
      env: this.#env,
      stdio: ['pipe', 'pipe', 'pipe']
    });
    this.#child = child;
    child.stdin.on('error', () => {});
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
    for (const command of this.#commands) command.kill('SIGKILL');
    const child = this.#child;
    if (!child) return;
    child.stdin?.end();
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await this.ended;
    clearTimeout(timer);
    // Its tenants outlive a keeper that was killed.
    if (child.exitCode !== 0)
      await Promise.all(this.#tenants.map((name) => this.command('remove', name).catch(() => {})));
  }
}

exports.Keeper = Keeper;
