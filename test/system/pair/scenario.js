'use strict';
// A pair of gateways under load on two machines, each with PostgreSQL under Patroni, and faults at seeded moments.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { startCloud } = require('../../../bench/harness/cloud');
const { gatewayCommand, root } = require('../../../bench/harness/gateway');
const { eventually, freePort } = require('../../../bench/harness/net');
const { startPair } = require('../../fixtures/pair/database');
const { PASSWORD } = require('../../fixtures/pair/machine');
const { Devices } = require('./devices');

/** @typedef {'a' | 'b'} Name */

const GATEWAY_ID = 'pair';
const LIMIT_MS = 60000;
/** A gateway that another one has replaced ends with it. */
const EXIT_FENCED = 75;

/** A gateway of the pair; a service manager starts it again when it ends. */
class Member {
  #scene;
  #isWanted = false;

  /** @param {Scene} scene @param {Name} name @param {number} port @param {number} editorPort */
  constructor(scene, name, port, editorPort) {
    this.#scene = scene;
    this.name = name;
    this.port = port;
    this.editorPort = editorPort;
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
      env: { ...this.#scene.env, ...this.#own() }
    });
    this.child = child;
    this.#scene.pair.take(this.name, Number(child.pid));
    void child.exited.then(({ code }) => {
      if (code === EXIT_FENCED) this.fenced++;
      if (this.child === child && this.#isWanted) this.start();
    });
  }

  #own() {
    return {
      SEGANET_HOME: this.home,
      SEGANET_MQTT_PORT: String(this.port),
      SEGANET_EDITOR_PORT: String(this.editorPort)
    };
  }

  /** @returns {Promise<Record<string, any>>} the answer of /readyz, {} = none */
  async ready() {
    try {
      const response = await fetch(`http://127.0.0.1:${this.editorPort}/seganet/readyz`, {
        signal: AbortSignal.timeout(1000)
      });
      return /** @type {any} */ (await response.json());
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
  /** @type {Record<string, string>} */
  env = {};
  /** @type {Record<Name, Member>} */
  members = /** @type {any} */ ({});

  /** @param {{ devices?: number, everyMs?: number, env?: Record<string, string> }} [options] */
  async start({ devices = 8, everyMs = 40, env = {} } = {}) {
    this.cloud = await startCloud();
    this.pair = await startPair();
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    this.env = {
      .../** @type {any} */ (Object.fromEntries(clean)),
      PGPASSWORD: PASSWORD,
      SEGANET_GATEWAY_ID: GATEWAY_ID,
      SEGANET_LOG_URL: this.pair.url,
      SEGANET_ACKNOWLEDGE: 'replicated',
      SEGANET_DEVICE_HOST: '127.0.0.1',
      SEGANET_UPLINK_URL: this.cloud.url,
      SEGANET_UPLINK_CA: this.cloud.files.ca,
      SEGANET_UPLINK_TOPIC: 'gw/{gateway}/{class}',
      SEGANET_RULES: JSON.stringify([{ topic: 'd/+/alarm', class: 1 }]),
      ...env
    };
    for (const name of /** @type {Name[]} */ (['a', 'b'])) {
      this.members[name] = new Member(this, name, await freePort(), await freePort());
      this.members[name].start();
    }
    await this.active();
    const ports = [this.members.a.port, this.members.b.port];
    this.devices = new Devices({ ports, devices, everyMs, cloudPort: this.cloud.plainPort });
    await this.devices.start();
  }

  /** @returns {Promise<Name>} the member that takes devices and whose checks are all good */
  async active() {
    const names = /** @type {Name[]} */ (['a', 'b']);
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
 * A Patroni 3.0 that hung may repeat "Synchronous replication key updated by someone else" until it is started again.
 * @param {any} scene
 */
async function reboot(scene) {
  const name = await scene.pair.primary();
  scene.reboots++;
  const member = scene.members[name];
  member.abandon();
  await scene.pair.kill(name);
  await member.stop('SIGKILL');
  scene.pair.restart(name, 'existing');
  member.start();
  await scene.pair.replicated();
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
    const { editorPort } = scene.members[active];
    const response = await fetch(`http://127.0.0.1:${editorPort}/flows`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'node-red-deployment-type': 'reload' },
      body: '[]'
    });
    if (response.status !== 204) throw new Error(`The deploy got ${response.status}.`);
    const now = await scene.active();
    if (now !== active) throw new Error('A deploy moved the log to the other gateway.');
  },
  'the primary moves': async (scene) => scene.pair.switchover(),
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
