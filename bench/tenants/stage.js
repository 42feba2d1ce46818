'use strict';
// A real front, a real keeper and its tenants, each a gateway of its own.

const fs = require('node:fs');
const path = require('node:path');
const mqtt = require('mqtt');
const { Child } = require('../harness/child');
const { root } = require('../harness/gateway');
const { eventually, freePort, waitForPort } = require('../harness/net');
const { frontFlow, tenantFlow, ENGINE } = require('./flows');
const { Home, PASSWORD } = require('./home');
const { Keeper } = require('./keeper');

const HOST = '127.0.0.1';
const START_MS = 180_000;
const STOP_MS = 60_000;
/** Longest wait for a record, ms. */
const RECORD_MS = 120_000;
const HTTP_PORT = 8080;
const DEVICE = 'pump-1';
/** For a spare to load its modules. */
const SPARE_MS = 3000;

/**
 * Where tenants run.
 * @typedef {object} Driver
 * @property {string} name process, docker or podman
 * @property {string} [image] by its digest
 * @property {string[]} [command]
 * @property {Record<string, string>} [env] of the keeper
 */

/**
 * @typedef {object} StageOptions
 * @property {string[]} tenants that have a volume and a flow
 * @property {string[]} [asleep] tenants that only exist, without users
 * @property {import('./home').Entry[]} [others] more tenants, which are no gateways; what they lack is as that of the others
 * @property {object} [times] idleMs, stopMs, warm, always of the tenants
 * @property {Driver} [driver]
 * @property {boolean} [hasStatistics] the front has its admin API, which untilAcknowledged() needs
 * @property {boolean} [hasStore] tenants keep the values as series
 * @property {boolean} [hasPages] tenants have web pages
 * @property {number} [devices] of each tenant that may log in
 * @property {string[]} [command] of the tenants, in place of the gateway
 * @property {number} [frontIdleS] time until the front gives a lease back
 * @property {number} [mostAwake] places of the front
 * @property {number} [openFiles]
 */

/** They stop as soon as nothing uses them. */
const COLD = { idleMs: 100, stopMs: 100, warm: false };

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Stage {
  /** @param {StageOptions} options */
  constructor(options) {
    const { driver = { name: 'process' }, times = COLD, devices = 1, frontIdleS = 1 } = options;
    this.options = { ...options, driver, times, devices, frontIdleS };
    this.home = new Home();
    this.keeper = new Keeper(this.home, this.options.driver.env);
    /** @type {Child | null} */
    this.front = null;
    /** @type {import('mqtt').MqttClient[]} */
    this.clients = [];
    /** Connections of devices that ended although nobody ended them. */
    this.losses = 0;
    this.isClosing = false;
    this.port = 0;
    this.editorPort = 0;
    this.pagesPort = 0;
  }

  /** @param {string} name @param {object} [more] */
  entry(name, more = {}) {
    const { driver, times, hasPages, command } = this.options;
    const given = command ?? driver.command;
    return {
      name,
      driver: driver.name,
      ...(driver.image && { image: driver.image }),
      ...(given && { command: given }),
      ...(hasPages && { http: HTTP_PORT }),
      // Without systemd, the driver process counts the resident memory, also shared pages.
      limits: { memoryMiB: 1024, ...(driver.image && { cpus: 2 }) },
      ...times,
      ...more
    };
  }

  async open() {
    const {
      tenants,
      others = [],
      asleep = [],
      devices,
      hasStore,
      hasPages,
      hasStatistics,
      command
    } = this.options;
    const { frontIdleS: idleS, mostAwake, openFiles } = this.options;
    this.port = await freePort();
    if (hasStatistics) this.editorPort = await freePort();
    if (hasPages) this.pagesPort = await freePort();
    const names = Array.from({ length: devices }, (_, i) => `pump-${i + 1}`);
    const all = [...tenants, ...asleep];
    await this.home.writeUsers(
      tenants.flatMap((tenant) => [`${tenant}/alice`, ...names.map((device) => `${tenant}/${device}`)])
    );
    if (!command) for (const name of tenants) this.home.makeVolume(name, tenantFlow({ hasStore, hasPages }));
    this.home.writeTenants([
      ...all.map((name) => this.entry(name)),
      ...others.map(({ name, ...more }) => this.entry(name, more))
    ]);
    await this.keeper.start();
    const { front, users } = this.home;
    const places = { home: front, port: this.port, pagesPort: this.pagesPort, passwordFile: users };
    const flow = frontFlow(places, { idleS, mostAwake });
    fs.writeFileSync(path.join(front, 'gateway.json'), JSON.stringify(flow));
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    this.front = new Child(
      process.execPath,
      ['--max-semi-space-size=1', path.join(root, 'flows', 'launcher', 'start.js')],
      {
        name: 'front',
        cwd: root,
        openFiles,
        env: {
          ...Object.fromEntries(clean),
          SEGANET_HOME: front,
          SEGANET_GATEWAY_ID: 'front',
          SEGANET_EDITOR_PORT: hasStatistics ? String(this.editorPort) : 'off',
          // Without the variable, the gateway starts the demo of npm start.
          SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
          SEGANET_TENANTS: path.join(this.home.tenants, 'tenants.json'),
          SEGANET_TENANTS_SOCKET: this.home.socket
        }
      }
    );
    const child = this.front;
    await waitForPort(this.port, HOST, START_MS, () => Boolean(child.exit));
    if (child.exit) throw new Error(`The front ended:\n${child.output.slice(-3000)}`);
    return this;
  }

  /** @returns {number} process group of the front */
  get frontPid() {
    return /** @type {Child} */ (this.front).pid;
  }

  /** Adds tenants that only exist, and waits until keeper and front know them. @param {string[]} names */
  async grow(names) {
    const { tenants, asleep = [] } = this.options;
    const all = [...tenants, ...asleep, ...names];
    this.home.writeTenants(all.map((name) => this.entry(name)));
    await this.keeper.ask('POST', '/v1/reload');
    this.options.asleep = [...asleep, ...names];
  }

  /**
   * Starts and stops the tenants once, because a first start makes files that later ones find. If there are many, the
   * others get those of the first.
   */
  async prime() {
    const { tenants } = this.options;
    const [first, ...others] = tenants;
    await this.keeper.ask('POST', `/v1/tenants/${first}/wake`);
    await this.sleep([first]);
    for (const name of others) this.home.copyVolume(first, name);
  }

  /** Stops tenants that nobody uses. @param {string[]} names */
  async sleep(names) {
    for (const name of names) await this.keeper.ask('POST', `/v1/tenants/${name}/sleep`, { force: true });
    await this.untilStopped(names);
  }

  /** @param {string[]} names */
  untilStopped(names) {
    return this.keeper.untilState(names, ['stopped', 'created', 'absent'], STOP_MS);
  }

  /** Waits until the keeper has its spares, if there are any, and they have loaded their modules. */
  async untilSpares() {
    const spares = async () => (await this.keeper.ask('GET', '/v1/tenants')).spares;
    if ((await spares()).most === 0) return;
    await eventually(
      async () => {
        const { waiting, most } = await spares();
        return waiting === most;
      },
      { timeoutMs: START_MS, everyMs: 200, what: 'the spares' }
    );
    await pause(SPARE_MS);
  }

  /** @param {string} tenant @param {string} [device] @returns {Promise<import('mqtt').MqttClient>} */
  async device(tenant, device = DEVICE) {
    const client = await mqtt.connectAsync({
      host: HOST,
      port: this.port,
      clientId: `${tenant}-${device}`,
      reconnectPeriod: 0,
      username: `${tenant}/${device}`,
      password: PASSWORD,
      protocolVersion: 5,
      connectTimeout: START_MS
    });
    client.on('error', () => {});
    client.on('close', () => (this.losses += this.isClosing ? 0 : 1));
    this.clients.push(client);
    return client;
  }

  /**
   * Waits until the tenant has this number of records.
   * @param {string} name @param {number} count @param {number} [everyMs]
   * @returns {Promise<number>} when it had the last of them, ms since 1970
   */
  async untilArrived(name, count, everyMs = 2) {
    const what = `record ${count} in ${name}`;
    const lines = await eventually(
      () => {
        const found = this.home.arrived(name);
        return found.length >= count && found;
      },
      { timeoutMs: RECORD_MS, everyMs, what }
    );
    return lines[count - 1].at;
  }

  /** @returns {Promise<any>} of the front's engine */
  async stats() {
    const url = `http://${HOST}:${this.editorPort}/seganet/engines/${ENGINE}/stats`;
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`The front's statistics answered ${response.status}.`);
    return response.json();
  }

  /** Waits until the tenants have acknowledged all records. */
  async untilAcknowledged() {
    const sum = (/** @type {number[]} */ values) => values.reduce((a, b) => a + b, 0);
    await eventually(
      async () => {
        const { heldRecords, backlogRecords } = await this.stats();
        return sum(heldRecords) + sum(backlogRecords) === 0;
      },
      { timeoutMs: RECORD_MS, everyMs: 2, what: 'the acknowledgement of the tenants' }
    );
  }

  async close() {
    this.isClosing = true;
    for (const client of this.clients) client.end(true);
    await this.front?.stop('SIGTERM', STOP_MS);
    await this.keeper.stop();
    this.home.remove();
  }
}

/**
 * @template T
 * @param {StageOptions} options
 * @param {(stage: Stage) => Promise<T>} work
 * @returns {Promise<T>}
 */
async function onStage(options, work) {
  const stage = new Stage(options);
  try {
    await stage.open();
    return await work(stage);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const outputs = [stage.front, stage.keeper.child].map((child) => child?.output.slice(-1500) ?? '');
    throw new Error(`${message}\nfront: ${outputs[0]}\nkeeper: ${outputs[1]}`, { cause: error });
  } finally {
    await stage.close();
  }
}

/** @param {number} count @param {string} [prefix] @returns {string[]} names of tenants */
const names = (count, prefix = 't') => Array.from({ length: count }, (_, i) => `${prefix}${i + 1}`);

module.exports = { Stage, onStage, names, COLD, HOST, PASSWORD };
