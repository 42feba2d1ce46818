'use strict';
// The keeper in a child process, and its socket.

const http = require('node:http');
const path = require('node:path');
const { Child } = require('../harness/child');
const { eventually } = require('../harness/net');

const MAIN = path.join(__dirname, '..', '..', 'docker', 'tenants', 'main.js');
const START_MS = 60_000;
const STOP_MS = 60_000;
const REQUEST_MS = 120_000;

/**
 * @typedef {object} TenantRow of GET /v1/tenants
 * @property {string} name @property {string} state @property {number} since ms since 1970
 * @property {number} memoryBytes @property {number} leases @property {string} reason
 */

class Keeper {
  #home;
  #env;
  /** @type {Child | null} */
  child = null;

  /** @param {import('./home').Home} home @param {Record<string, string>} [env] more variables */
  constructor(home, env = {}) {
    this.#home = home;
    const clean = Object.entries(process.env).filter(([name]) => !/^(SEGANET_|NODE_OPTIONS)/.test(name));
    this.#env = { ...Object.fromEntries(clean), ...env, SEGANET_HOME: home.folder };
  }

  get pid() {
    return /** @type {Child} */ (this.child).pid;
  }

  async start() {
    this.child = new Child(process.execPath, [MAIN, 'run', '--stop-tenants'], {
      name: 'keeper',
      env: this.#env
    });
    await this.child.until((output) => output.includes('listens on'), START_MS);
  }

  /**
   * @param {string} method @param {string} address such as /v1/tenants @param {object} [body]
   * @returns {Promise<any>} @throws {Error} with the keeper's sentence
   */
  ask(method, address, body) {
    const text = body === undefined ? '' : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const request = http.request({
        socketPath: this.#home.socket,
        method,
        path: address,
        agent: false,
        timeout: REQUEST_MS,
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
      });
      request.once('timeout', () => request.destroy(new Error(`The keeper did not answer ${address}.`)));
      request.once('error', reject);
      request.once('response', async (response) => {
        let answer = '';
        for await (const part of response.setEncoding('utf8')) answer += part;
        const value = answer ? JSON.parse(answer) : {};
        if ((response.statusCode ?? 500) < 400) resolve(value);
        else reject(new Error(value.error ?? `The keeper answered ${response.statusCode}.`));
      });
      request.end(text);
    });
  }

  /** @returns {Promise<Map<string, TenantRow>>} */
  async rows() {
    const { tenants } = await this.ask('GET', '/v1/tenants');
    return new Map(tenants.map((/** @type {TenantRow} */ row) => [row.name, row]));
  }

  /**
   * Waits until all these tenants have one of the states.
   * @param {string[]} names @param {string[]} states @param {number} timeoutMs
   * @param {number} [everyMs] a request costs the keeper time and memory for each tenant
   */
  async untilState(names, states, timeoutMs, everyMs = 50) {
    await eventually(
      async () => {
        const rows = await this.rows();
        return names.every((name) => states.includes(rows.get(name)?.state ?? ''));
      },
      { timeoutMs, everyMs, what: `state ${states.join(' or ')} of ${names.slice(0, 5).join(', ')}` }
    );
  }

  /**
   * @param {(event: any) => void} onEvent
   * @returns {Promise<() => void>} ends it
   */
  follow(onEvent) {
    return new Promise((resolve, reject) => {
      const request = http.get({ socketPath: this.#home.socket, path: '/v1/events', agent: false });
      request.on('error', reject);
      request.once('response', (response) => {
        let rest = '';
        response.on('error', () => {});
        response.setEncoding('utf8').on('data', (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines.filter(Boolean)) onEvent(JSON.parse(line));
        });
        resolve(() => request.destroy());
      });
    });
  }

  /** Ends it and its tenants in order. */
  async stop() {
    await this.child?.stop('SIGTERM', STOP_MS);
  }
}

exports.Keeper = Keeper;
