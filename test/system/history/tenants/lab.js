'use strict';
// A front, the real keeper and its tenants, which many runs use one after the other: what a run leaves is where the
// next one begins.

const { execFile, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { promisify } = require('node:util');
const { Child } = require('../../../../bench/harness/child');
const { eventually, freePort, waitForPort } = require('../../../../bench/harness/net');
const { hashPassword } = require('../../../../nodes/lib/login/password-hash');
const { Image } = require('../disks/image');
const { makeFront, makeTenant, root } = require('./flows');
const { TENANTS } = require('./schedule');

const KEEPER = path.join(root, 'docker/tenants/main.js');
const RED = path.join(root, 'node_modules/node-red/red.js');
const PASSWORD = 'history';
const READY_MS = 60000;
/** Exit code of a keeper whose tenants file is invalid. */
const INVALID = 78;
const VOLUME_BYTES = 2 << 20;
const MOST_DEVICES = 8;

/** @typedef {{idleMs: number, stopMs: number, warm: boolean}} Times of a tenant */

class Lab {
  /**
   * @param {string} folder exists, and is empty
   * @param {{isMounting?: boolean, hasPower?: boolean}} [options]
   *   isMounting: each tenant has a small volume of its own, which can be full
   *   hasPower: what front, keeper and tenants write stands on a disk that can lose its power
   */
  constructor(folder, { isMounting = false, hasPower = false } = {}) {
    this.isMounting = isMounting;
    this.image = hasPower ? new Image(folder) : null;
    /** Of the test's own files, such as the notes of what arrived. */
    this.home = folder;
    /** Of everything that front, keeper and tenants write. */
    this.disk = this.image?.root ?? folder;
    this.tenants = path.join(this.disk, 'tenants');
    this.file = path.join(this.tenants, 'tenants.json');
    this.socket = path.join(this.tenants, 'keeper.sock');
    /** File with the time that a record stays in the flow of its tenant. */
    this.delay = path.join(folder, 'delay');
    /** @type {Child | null} */
    this.front = null;
    /** @type {Child | null} */
    this.keeper = null;
    this.port = 0;
    this.adminPort = 0;
    this.hasVolumes = false;
    /** Processes of tenants that were killed, or stopped while they were used. @type {Set<number>} */
    this.killed = new Set();
    /** One step at a time for each part. @type {Map<string, Promise<unknown>>} */
    this.tails = new Map();
    /** Outputs of earlier processes. */
    this.outputs = '';
  }

  async open() {
    const { home } = this;
    this.port = await freePort();
    this.adminPort = await freePort();
    const passwords = path.join(home, 'passwords');
    const hash = await hashPassword(Buffer.from(PASSWORD), { ln: 10, r: 8, p: 1 });
    const users = TENANTS.flatMap((tenant) =>
      Array.from({ length: MOST_DEVICES }, (_, i) => `${tenant}/dev-${i}`)
    );
    fs.writeFileSync(passwords, users.map((user) => `${user}:${hash}\n`).join(''), { mode: 0o600 });
    fs.mkdirSync(this.tenants, { mode: 0o700 });
    this.slow(0);
    for (const name of TENANTS) this.#makeTenant(name);
    this.write(TENANTS.map(() => ({ idleMs: 500, stopMs: 60000, warm: true })));
    const { port, adminPort, file, socket } = this;
    makeFront(this.#userOf('front'), { port, adminPort, file, socket, passwords });
    this.sync();
    await Promise.all([this.startFront(), this.startKeeper()]);
    return this;
  }

  /** @param {string} name @returns {string} folder of Node-RED's files */
  #userOf(name) {
    return path.join(this.disk, name);
  }

  /** @param {string} name */
  #volumeOf(name) {
    return path.join(this.tenants, 'volumes', name);
  }

  /** @param {string} name */
  #makeTenant(name) {
    this.#mountVolume(name);
    const { delay } = this;
    makeTenant(this.#userOf(name), { arrived: this.arrived(name), volume: this.#volumeOf(name), delay });
  }

  /** @param {string} name */
  #mountVolume(name) {
    const volume = this.#volumeOf(name);
    fs.mkdirSync(volume, { recursive: true, mode: 0o700 });
    const options = ['-t', 'tmpfs', '-o', `size=${VOLUME_BYTES},mode=700`, 'tmpfs', volume];
    this.hasVolumes = this.isMounting && spawnSync('mount', options).status === 0;
  }

  #unmountVolumes() {
    if (!this.isMounting) return;
    for (const name of TENANTS) spawnSync('umount', ['-l', this.#volumeOf(name)]);
  }

  /** What the test wrote itself survives a power cut. */
  sync() {
    if (this.image) spawnSync('sync', ['-f', this.disk]);
  }

  /**
   * Stops everything at one moment and goes on with what had reached the disk by then. Every acknowledgement that a
   * device has was sent before.
   */
  async cutPower() {
    if (!this.image) throw new Error('This lab has no disk that can lose its power.');
    this.keeper?.kill('SIGSTOP');
    const stopped = () => this.#running().every((pid) => signalled(pid, 'SIGSTOP') && isStopped(pid));
    await eventually(stopped, { timeoutMs: 20000, what: 'everything has stopped' });
    this.image.copy();
    for (const pid of this.#running()) this.killed.add(pid);
    const ended = () => this.#running().filter((pid) => signalled(pid, 'SIGKILL')).length === 0;
    await eventually(ended, { timeoutMs: 20000, what: 'everything has ended' });
    await Promise.all([this.keeper?.exited, this.front?.exited]);
    this.#unmountVolumes();
    await eventually(() => this.#isCut(), { timeoutMs: 20000, what: 'the disk is unused' });
    for (const name of TENANTS) this.#mountVolume(name);
  }

  /** The threads of a process that has ended may still use the disk for a moment. @returns {boolean} */
  #isCut() {
    try {
      this.image?.cut();
      return true;
    } catch {
      return false;
    }
  }

  /** @returns {number[]} keeper, front and tenants, also one that the keeper has not noted yet */
  #running() {
    const all = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const ours = all.map(Number).filter((pid) => pid === this.keeper?.pid || isIn(pid, this.disk));
    return ours.filter((pid) => stateOf(pid) !== '');
  }

  /** @param {string} name @returns {string} file of what the tenant got */
  arrived(name) {
    return path.join(this.home, `${name}.ndjson`);
  }

  /** @param {string} tenant @param {number} i */
  loginOf(tenant, i) {
    return { clientId: `dev-${i}`, username: `${tenant}/dev-${i}`, password: PASSWORD };
  }

  /**
   * Runs a step when the earlier ones of the same part are over.
   * @param {string} part @param {() => Promise<any>} step
   */
  after(part, step) {
    const run = (this.tails.get(part) ?? Promise.resolve()).then(step);
    this.tails.set(
      part,
      run.catch(() => {})
    );
    return run;
  }

  /**
   * Replaces the tenants file.
   * @param {Times[]} times @param {string[]} [names] those that are in it
   */
  write(times, names = TENANTS) {
    const tenants = TENANTS.map((name, i) => this.#entry(name, times[i]));
    this.replace(JSON.stringify({ version: 1, tenants: tenants.filter(({ name }) => names.includes(name)) }));
  }

  /** @param {string} name @param {Times} times */
  #entry(name, times) {
    const user = this.#userOf(name);
    const command = [process.execPath, RED, '--userDir', user, '--settings', path.join(user, 'settings.js')];
    // A thread reserves much more memory than it uses.
    return { name, driver: 'process', command, limits: { memoryMiB: 4096 }, ...times };
  }

  /** @param {string} text */
  replace(text) {
    replaceFile(this.file, text);
    this.sync();
  }

  /** @param {number} ms that a record stays in the flow of its tenant */
  slow(ms) {
    replaceFile(this.delay, String(ms));
  }

  #environment() {
    const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
    return Object.fromEntries(clean);
  }

  #keeperEnvironment() {
    return { ...this.#environment(), SEGANET_HOME: this.disk, SEGANET_TENANTS_GRACE_MS: '15000' };
  }

  async startFront() {
    const user = this.#userOf('front');
    const env = this.#environment();
    this.#keepOutput(this.front);
    const args = [RED, '--userDir', user, '--settings', path.join(user, 'settings.js')];
    const child = new Child(process.execPath, args, { cwd: user, env, name: 'front' });
    this.front = child;
    await waitForPort(this.port, '127.0.0.1', READY_MS, () => Boolean(child.exit));
  }

  /** Starts it again, as a service manager does, while the tenants file is invalid. */
  async startKeeper() {
    const env = this.#keeperEnvironment();
    const end = performance.now() + READY_MS;
    for (;;) {
      this.#keepOutput(this.keeper);
      const keeper = new Child(process.execPath, [KEEPER, 'run'], { env, name: 'keeper' });
      this.keeper = keeper;
      try {
        await keeper.until((output) => output.includes('listens on'), READY_MS);
        return;
      } catch (error) {
        if (keeper.exit?.code !== INVALID || performance.now() > end) throw error;
      }
    }
  }

  /** @param {Child | null} child */
  #keepOutput(child) {
    if (child) this.outputs = `${this.outputs}--- ${child.name}\n${child.output}`.slice(-200000);
  }

  /** @param {'front' | 'keeper'} name */
  async kill(name) {
    this[name]?.kill('SIGKILL');
    await this[name]?.exited;
  }

  /** @param {string} name @returns {number} process of a tenant, 0 = none */
  #pidOf(name) {
    try {
      return JSON.parse(fs.readFileSync(path.join(this.tenants, 'state', name, 'process.json'), 'utf8')).pid;
    } catch {
      return 0;
    }
  }

  /** @param {string} name @param {NodeJS.Signals} signal @returns {boolean} false: the tenant has no process */
  signalTenant(name, signal) {
    const pid = this.#pidOf(name);
    try {
      if (pid > 0) process.kill(-pid, signal);
    } catch {
      return false;
    }
    if (pid > 0 && signal === 'SIGKILL') this.killed.add(pid);
    return pid > 0;
  }

  /**
   * Waits for a step that may stop a tenant while it is used.
   * @param {string} name @param {Promise<unknown>} step
   */
  async whileStopping(name, step) {
    const look = () => this.killed.add(this.#pidOf(name));
    look();
    const timer = setInterval(look, 10);
    await step.finally(() => clearInterval(timer));
  }

  /**
   * Asks the keeper.
   * @param {string} method @param {string} where @param {object} [body]
   * @returns {Promise<number>} HTTP status, 0 = no answer
   */
  ask(method, where, body) {
    return new Promise((resolve) => {
      const headers = { 'Content-Type': 'application/json' };
      const request = http.request({ socketPath: this.socket, method, path: where, headers, agent: false });
      request.setTimeout(20000, () => request.destroy());
      request.on('error', () => resolve(0));
      request.on('response', (answer) => {
        answer.resume();
        answer.on('close', () => resolve(answer.statusCode ?? 0));
      });
      request.end(body && JSON.stringify(body));
    });
  }

  /** Runs a command of the keeper's program. @param {...string} args */
  async command(...args) {
    await promisify(execFile)(process.execPath, [KEEPER, ...args], { env: this.#keeperEnvironment() });
  }

  /** @param {string} name @param {Times} times adds it as a person does */
  add(name, { idleMs, stopMs, warm }) {
    const { command } = this.#entry(name, { idleMs, stopMs, warm });
    const numbers = ['--memory', '4096', '--idle', String(idleMs / 1000), '--stop', String(stopMs / 1000)];
    return this.command('add', name, '--driver', 'process', ...numbers, ...(warm ? [] : ['--cold']), '--', ...command); // prettier-ignore
  }

  /** @param {string} where @param {RequestInit} [options] @returns {Promise<Response | null>} of the front */
  async fetch(where, options = {}) {
    try {
      const signal = AbortSignal.timeout(20000);
      const answer = await fetch(`http://127.0.0.1:${this.adminPort}${where}`, { signal, ...options });
      return answer.ok ? answer : null;
    } catch {
      return null; // it is starting, or gone
    }
  }

  /** Deploys the front's flow with another name of a node. @param {string} type @param {string} changed */
  async deploy(type, changed) {
    const flow = await (await this.fetch('/flows'))?.json();
    if (!flow) return;
    const next = flow.map((/** @type {any} */ each) =>
      each.id === changed ? { ...each, name: `changed ${Math.random()}` } : each
    );
    const headers = { 'content-type': 'application/json', 'Node-RED-Deployment-Type': type };
    await this.fetch('/flows', { method: 'POST', headers, body: JSON.stringify(next) });
  }

  /** @returns {Promise<any>} counters of the front's engine, null = no answer */
  async stats() {
    return (await (await this.fetch('/seganet/engines/engine/stats'))?.json()) ?? null;
  }

  /** Fills a tenant's volume. @param {string} name */
  fill(name) {
    const file = fs.openSync(path.join(this.#volumeOf(name), 'filler'), 'a');
    try {
      for (let i = 0; i <= VOLUME_BYTES; i += 4096) fs.writeSync(file, Buffer.alloc(4096));
    } catch {
      // It is full.
    } finally {
      fs.closeSync(file);
    }
  }

  /** @param {string} name */
  empty(name) {
    fs.rmSync(path.join(this.#volumeOf(name), 'filler'), { force: true });
  }

  /** Lets each start of a tenant fail. @param {string} name @returns {() => void} ends that */
  breakTenant(name) {
    const settings = path.join(this.#userOf(name), 'settings.js');
    const good = fs.readFileSync(settings, 'utf8');
    replaceFile(settings, 'throw new Error("broken");');
    return () => {
      replaceFile(settings, good);
      this.sync();
    };
  }

  /** All output, for a run that is not valid. */
  get output() {
    const now = [this.front, this.keeper].map((child) => `--- ${child?.name}\n${child?.output}`);
    const logs = TENANTS.map((name) => {
      const file = path.join(this.tenants, 'state', name, 'output.log');
      return `--- ${name}\n${fs.existsSync(file) ? fs.readFileSync(file, 'utf8').slice(-20000) : ''}`;
    });
    return [this.outputs, ...now, ...logs].join('\n');
  }

  /** @returns {Promise<(number | null)[]>} exit codes of the front and the keeper */
  async close() {
    const codes = [await this.front?.stop('SIGTERM', 20000), await this.keeper?.stop('SIGKILL')];
    for (const name of TENANTS) this.signalTenant(name, 'SIGKILL');
    this.#unmountVolumes();
    this.image?.close();
    return codes.map((each) => each?.code ?? null);
  }
}

/** @param {number} pid @returns {string} letter of its state, '' = it has ended */
function stateOf(pid) {
  try {
    const text = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    const state = text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3);
    return state === 'Z' || state === 'X' ? '' : state;
  } catch {
    return '';
  }
}

/** @param {number} pid @returns {boolean} */
const isStopped = (pid) => !/^[RSD]$/.test(stateOf(pid));

/** @param {number} pid @param {string} folder @returns {boolean} whether it works, or writes its output, there */
function isIn(pid, folder) {
  return ['cwd', 'fd/1'].some((link) => {
    try {
      return fs.readlinkSync(`/proc/${pid}/${link}`).startsWith(`${folder}/`);
    } catch {
      return false;
    }
  });
}

/** @param {number} pid @param {NodeJS.Signals} signal @returns {boolean} false: it has ended */
function signalled(pid, signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** @param {string} file @param {string} text */
function replaceFile(file, text) {
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}

module.exports = { Lab };
