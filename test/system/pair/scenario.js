'use strict';
// A pair of gateways under load on two machines, each with PostgreSQL under Patroni, and faults at seeded moments.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { startCloud } = require('../../../bench/harness/cloud');
const { gatewayCommand, root } = require('../../../bench/harness/gateway');
const { eventually } = require('../../../bench/harness/net');
const { PASSWORD, startPair } = require('../../fixtures/pair/database');
const { tearLog } = require('../../fixtures/pair/torn-log');
const { Devices } = require('./devices');
const { ownersOf, watchOwners } = require('./owners');

/** @typedef {'a' | 'b'} Name */
/** @typedef {{ integer: (below: number) => number }} Random */

const NAMES = /** @type {Name[]} */ (['a', 'b']);

const GATEWAY_ID = 'pair';
const [MQTT_PORT, EDITOR_PORT] = [1883, 1880];
const LIMIT_MS = 60000;
/** The other gateway may take the log of one that is busy for longer. */
const SILENCE_MS = 1000;
/** A gateway that another one has replaced ends with it. */
const EXIT_FENCED = 75;

/** A gateway of the pair; a service manager starts it again when it ends. */
class Member {
  #scene;
  #isWanted = false;

  /** @param {Scene} scene @param {Name} name */
  constructor(scene, name) {
    this.#scene = scene;
    this.name = name;
    this.home = path.join(scene.folder, name);
    /** Ends because another gateway had the log. */
    this.fenced = 0;
    /** @type {Child | null} */
    this.child = null;
  }

  start() {
    this.#isWanted = true;
    const [command, ...args] = gatewayCommand();
    const child = new Child(command, args, {
      name: `gateway ${this.name}`,
      cwd: root,
      env: { ...this.#scene.env, SEGANET_HOME: this.home },
      within: this.#scene.pair.within(this.name)
    });
    this.child = child;
    this.#scene.pair.take(this.name, Number(child.pid));
    void child.exited.then(({ code }) => {
      if (code === EXIT_FENCED) this.fenced++;
      if (this.child === child && this.#isWanted) this.start();
    });
  }

  /**
   * Asks the admin API, which answers to its own machine only.
   * @param {string} page @param {http.RequestOptions} [options] @param {string} [body]
   * @returns {Promise<{ status: number, text: string }>}
   */
  ask(page, options = {}, body = '') {
    const headers = { ...options.headers, host: 'localhost' };
    const url = `http://${this.#scene.pair.address(this.name)}:${EDITOR_PORT}${page}`;
    return new Promise((resolve, reject) => {
      const request = http.request(url, { agent: false, ...options, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part) => (text += part));
        response.on('error', reject).on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      request.on('error', reject).end(body);
    });
  }

  /** @returns {Promise<Record<string, any>>} the answer of /readyz, {} = none */
  async ready() {
    try {
      return JSON.parse((await this.ask('/seganet/readyz', { signal: AbortSignal.timeout(1000) })).text);
    } catch {
      return {};
    }
  }

  /** @param {NodeJS.Signals} signal @returns {Promise<void>} */
  async stop(signal = 'SIGTERM') {
    this.#isWanted = false;
    const { child } = this;
    this.child = null;
    if (!child || child.exit) return;
    child.kill(signal);
    await child.exited;
  }

  /** Nothing starts it again. */
  abandon() {
    this.#isWanted = false;
  }
}

class Scene {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-pair-'));
  /** Machines that were started again because they had no standby. */
  reboots = 0;
  /** Servers that did not recover from torn writes and got a copy. */
  rebuilt = 0;
  /** Of the present fault. */
  notes = '';
  /** @type {Record<string, string>} */
  env = {};
  /** @type {Record<Name, Member>} */
  members = /** @type {any} */ ({});

  /** @param {{ devices?: number, everyMs?: number, env?: Record<string, string> }} [options] */
  async start({ devices = 8, everyMs = 40, env = {} } = {}) {
    this.pair = await startPair();
    this.cloud = await startCloud({ host: this.pair.here });
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    this.env = {
      .../** @type {any} */ (Object.fromEntries(clean)),
      PGPASSWORD: PASSWORD,
      SEGANET_GATEWAY_ID: GATEWAY_ID,
      SEGANET_LOG_URL: this.pair.url,
      SEGANET_ACKNOWLEDGE: 'replicated',
      SEGANET_MQTT_PORT: String(MQTT_PORT),
      SEGANET_EDITOR_PORT: String(EDITOR_PORT),
      SEGANET_DEVICE_HOST: '0.0.0.0',
      SEGANET_DEVICE_LOGIN: 'none',
      SEGANET_DEVICE_ALLOW_ANONYMOUS: 'yes',
      SEGANET_UPLINK_URL: this.cloud.url,
      SEGANET_UPLINK_CA: this.cloud.files.ca,
      SEGANET_UPLINK_TOPIC: 'gw/{gateway}/{class}',
      SEGANET_RULES: JSON.stringify([{ topic: 'd/+/alarm', class: 1 }]),
      ...env
    };
    for (const name of NAMES) {
      this.pair.expose(name, EDITOR_PORT);
      this.members[name] = new Member(this, name);
      this.members[name].start();
    }
    await this.active();
    await watchOwners(this.pair);
    const servers = NAMES.map((name) => ({ host: this.pair.address(name), port: MQTT_PORT }));
    this.devices = new Devices({ servers, devices, everyMs, cloudPort: this.cloud.plainPort });
    await this.devices.start();
  }

  /** @param {string} text about the present fault */
  note(text) {
    this.notes += `, ${text}`;
  }

  /** What the epochs in the database show. */
  owners() {
    return ownersOf(this.pair);
  }

  /**
   * @param {Name[]} [names] of the members to ask
   * @returns {Promise<Name>} the member that takes devices and whose checks are all good
   */
  async active(names = NAMES) {
    const find = async () => {
      const are = await Promise.all(names.map((name) => this.members[name].ready()));
      return names.find((_, i) => are[i].ok);
    };
    const tell = async () => {
      const outputs = names.map((name) => `${name}: ${this.members[name].child?.output.slice(-1500)}`);
      return `an active gateway:\n${outputs.join('\n')}\n${this.pair?.output}`;
    };
    let text = '';
    return eventually(async () => (await find()) ?? ((text = await tell()), undefined), {
      timeoutMs: LIMIT_MS,
      everyMs: 50,
      what: () => text
    });
  }

  async end() {
    await this.devices?.close();
    for (const member of Object.values(this.members)) await member.stop('SIGKILL');
    await this.pair?.end();
    await this.cloud?.close();
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** @param {Name} name @returns {Name} */
const other = (name) => (name === 'a' ? 'b' : 'a');
/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A machine is lost, with its files. @param {any} scene @param {Name} name */
async function burn(scene, name) {
  const member = scene.members[name];
  member.abandon();
  await scene.pair.burn(name);
  await member.stop('SIGKILL');
  fs.rmSync(member.home, { recursive: true, force: true });
}

/**
 * The machine of the primary loses its power, and starts again. A Patroni 3.0 that hung may repeat "Synchronous
 * replication key updated by someone else" until then.
 * @param {any} scene
 */
async function reboot(scene) {
  scene.reboots++;
  await cutPower(scene, await scene.pair.primary());
  await scene.pair.replicated();
}

/** @param {any} scene @param {Name} name @param {() => Promise<void>} [meanwhile] */
async function cutPower(scene, name, meanwhile = async () => {}) {
  const member = scene.members[name];
  member.abandon();
  await scene.pair.kill(name);
  await member.stop('SIGKILL');
  await meanwhile();
  scene.pair.restart(name, 'existing');
  member.start();
}

/**
 * The active machine loses others until the other gateway is active, and some time longer.
 * @param {any} scene @param {Name} active @param {Random} random
 * @param {('w' | 'here')[]} rest what it loses beside the other machine
 */
async function cut(scene, active, random, rest) {
  scene.pair.cut(active, [other(active), ...rest]);
  try {
    await scene.active([other(active)]);
    await sleep(random.integer(5000));
  } finally {
    scene.pair.heal(active);
  }
  await scene.pair.replicated().catch(() => reboot(scene));
}

/**
 * The records of some time are in the log only.
 * @param {any} scene @param {Random} random @param {() => Promise<void>} body
 */
async function withoutCloud(scene, random, body) {
  await scene.cloud.stop();
  await sleep(1000 + random.integer(1000));
  // Only one of the machines has a fault.
  await scene.pair.replicated();
  await body();
  await scene.cloud.start();
}

/**
 * Waits until both machines have the log. If the server of one with torn writes does not recover, it gets a copy of the
 * other one, which Patroni refuses if it is the primary.
 * @param {any} scene @param {Name} name of the machine with torn writes
 */
async function recovered(scene, name) {
  await scene.pair.replicated().catch(async () => {
    scene.rebuilt++;
    scene.note('copied');
    await scene.pair.reinit(name);
    await scene.pair.replicated();
  });
}

/** @param {any} scene @param {Name} name @param {Random} random */
function crashTorn(scene, name, random) {
  return withoutCloud(scene, random, async () => {
    await scene.pair.crashPostgres(name, (/** @type {string} */ data) => scene.note(tearLog(data, random)));
    await recovered(scene, name);
  });
}

/**
 * Each gets the scene and the active machine, and returns when both machines work again.
 * @type {Record<string, (scene: any, active: Name, random: { integer: (n: number) => number }) => Promise<void>>}
 */
const FAULTS = {
  'the active machine burns': async (scene, active) => {
    await burn(scene, active);
    await scene.active();
    await scene.pair.replace(active);
    scene.members[active].start();
  },
  'the standby machine burns': async (scene, active) => {
    const name = other(active);
    await burn(scene, name);
    await scene.active();
    await scene.pair.replace(name);
    scene.members[name].start();
  },
  'the active machine hangs and comes back': async (scene, active, random) => {
    await scene.pair.freeze(active);
    await sleep(5000 + random.integer(6000));
    await scene.pair.thaw(active);
    await scene.pair.replicated().catch(() => reboot(scene));
  },
  'the active gateway hangs and comes back': async (scene, active, random) => {
    const { child } = scene.members[active];
    child.kill('SIGSTOP');
    await sleep(2000 + random.integer(6000));
    child.kill('SIGCONT');
  },
  'the active gateway is killed': async (scene, active) => {
    scene.members[active].child.kill('SIGKILL');
    await sleep(500);
  },
  'the active gateway is stopped for an upgrade': async (scene, active) => {
    await scene.members[active].stop();
    await scene.active();
    scene.members[active].start();
  },
  'the active gateway deploys': async (scene, active) => {
    const headers = { 'content-type': 'application/json', 'node-red-deployment-type': 'reload' };
    const before = performance.now();
    const { status } = await scene.members[active].ask('/flows', { method: 'POST', headers }, '[]');
    if (status !== 204) throw new Error(`The deploy got ${status}.`);
    const tookMs = performance.now() - before;
    const now = await scene.active();
    if (now !== active && tookMs < SILENCE_MS)
      throw new Error('A deploy moved the log to the other gateway.');
  },
  'the primary moves': async (scene) => scene.pair.switchover(),
  'the active machine is cut off, devices and cloud reach it': (scene, active, random) =>
    cut(scene, active, random, ['w']),
  'the active machine is cut off from all others': (scene, active, random) =>
    cut(scene, active, random, ['w', 'here']),
  'the active machine is cut off while the cloud is away, devices reach it': async (
    scene,
    active,
    random
  ) => {
    await scene.cloud.stop();
    await sleep(1000);
    const back = sleep(6000 + random.integer(3000)).then(() => scene.cloud.start());
    await cut(scene, active, random, ['w']);
    await back;
  },
  'the database of the primary ends with torn writes': async (scene, _, random) =>
    crashTorn(scene, await scene.pair.primary(), random),
  'the database of the standby ends with torn writes': async (scene, _, random) =>
    crashTorn(scene, other(await scene.pair.primary()), random),
  'a machine loses its power with torn writes': (scene, active, random) =>
    withoutCloud(scene, random, async () => {
      const name = random.integer(2) === 0 ? active : other(active);
      await cutPower(scene, name, async () => {
        scene.note(tearLog(scene.pair.data(name), random));
        await sleep(random.integer(6000));
      });
      await recovered(scene, name);
    }),
  'the leader of etcd is killed': async (scene, _, random) => {
    const name = await scene.pair.etcdLeader();
    await scene.pair.killEtcd(name);
    await sleep(500 + random.integer(5000));
    await scene.pair.startEtcd(name);
  },
  'the cloud is away while the active machine burns': async (scene, active) => {
    await scene.cloud.stop();
    await sleep(1000);
    await burn(scene, active);
    await sleep(4000);
    await scene.cloud.start();
    await scene.active();
    await scene.pair.replace(active);
    scene.members[active].start();
  }
};

module.exports = { FAULTS, Scene, sleep };
