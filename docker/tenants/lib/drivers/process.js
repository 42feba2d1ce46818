'use strict';
// Runs tenants as processes of this user, each with a folder, a session and an address of its own. They are not
// isolated:
// a tenant can read and do whatever this user can. For a first try, for tests, and for tenants that trust each other.

const { spawn } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { deletedBytes } = require('../base/deleted-files');
const { folderSize } = require('../base/folder-size');
const { livingStat } = require('../base/processes');
const { secretsOf } = require('../life/secrets');
const { accepts } = require('../life/readiness');
const { addressFor } = require('./addresses');
const { blockDeviceOf, unlimitedWrites } = require('./block-device');
const { endOf } = require('./driver');
const { environmentOf } = require('./environment');
const { Output, OutputWatch } = require('./output');
const { limiterOf } = require('./process-limits');
const { ProcessTable } = require('./process-table');
const { Spares } = require('./spares');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */
/** @typedef {{ pid: number, ended: Promise<{ reason: string }> }} Child */

/** The gateway of this package: what runs without a command. */
const GATEWAY = path.join(__dirname, '..', '..', '..', '..', 'flows', 'launcher', 'start.js');
/** Time between two looks at a process that is no child of this one. */
const LOOK_MS = 250;
/** The kernel ends a killed process within this time. */
const KILLED_MS = 5000;
/** Longest wait for a tenant's ports to be free, and the time between two looks. */
const PORT_MS = 1000;
const PORT_LOOK_MS = 20;
/** Time between two looks at the memory of tenants. */
const WEIGH_MS = 2000;
const MIB = 1 << 20;
/** Variables of this process that a tenant gets, too. */
const PASSED = ['PATH', 'LANG', 'LC_ALL', 'TZ'];

/** @implements {Driver} */
class ProcessDriver {
  name = 'process';
  isIsolated = false;
  canPause = true;
  #home;
  #unit;
  /** @type {import('./process-limits').Limiter | null} */
  #known;
  #table;
  /** @type {Map<string, Child>} started by this process */
  #children = new Map();
  /** @type {Map<string, string>} */
  #addresses = new Map();
  /** Tenants whose end somebody awaits. @type {Map<string, Spec>} */
  #running = new Map();
  /** Why this driver killed them. @type {Map<string, string>} */
  #killed = new Map();
  #outputs = new OutputWatch();
  #spares;
  #weighing;

  /**
   * @param {Pick<import('../base/home').Home, 'volumes' | 'state'>} home
   * @param {{ limiter?: import('./process-limits').Limiter }} [options]
   */
  constructor(home, { limiter } = {}) {
    this.#home = home;
    const mark = crypto.createHash('sha256').update(home.state).digest('hex').slice(0, 8);
    this.#unit = `seganet-tenant-${mark}`;
    this.#known = limiter ?? null;
    this.#table = new ProcessTable(home.state);
    this.#spares = new Spares({
      words: (id) => this.#limiter.spare(id),
      env: () => ({ ...this.#limiter.env, ...passed(), ...this.#compiled, NODE_ENV: 'production' })
    });
    this.#weighing = setInterval(() => void this.#limitMemory(), WEIGH_MS).unref();
  }

  async check() {
    const limits = {
      systemd: 'memory, processor and tasks are limited by systemd',
      prlimit: 'only memory (every 2 s), the size and the number of open files are limited',
      none: 'only memory is limited (every 2 s)'
    };
    return `processes are not isolated; ${limits[this.#limiter.kind]}`;
  }

  async problems() {
    const { problem, kind } = this.#limiter;
    if (problem) return [`Tenants of the driver process have fewer limits than systemd sets: ${problem}.`];
    const why = kind === 'systemd' ? unlimitedWrites(this.#home.volumes) : '';
    return why ? [`systemd does not limit what tenants write to the disk (limits.writeMiBps): ${why}.`] : [];
  }

  /** Asked for at the first start: it may make a scope to try. */
  get #limiter() {
    this.#known ??= limiterOf({ unit: this.#unit });
    return this.#known;
  }

  /** @param {Spec} spec */
  async create({ name }) {
    fs.mkdirSync(this.volume(name), { recursive: true, mode: 0o700 });
    fs.mkdirSync(this.#state(name), { recursive: true, mode: 0o700 });
    secretsOf(this.#state(name));
  }

  /** @param {Spec} spec */
  async start(spec) {
    const { name } = spec;
    const host = await this.address(spec);
    await this.#endRest(name);
    await this.#refuseStranger(spec, host);
    const output = new Output(this.#state(name));
    const fd = output.open();
    /** @type {import('./spares').Spare | null} */
    let spare = null;
    try {
      await output.turn();
      const env = this.#environment(spec, host, this.volume(name));
      if (isGateway(spec)) spare = await this.#spares.take((given) => this.#limits(spec, given));
      const child = spare?.child ?? this.#spawn(spec, env, fd);
      const ended = new Promise((/** @type {(end: { reason: string }) => void} */ resolve) => {
        child.once('exit', (code, by) => resolve({ reason: endOf(code, by) }));
        child.once('error', (error) => resolve({ reason: `cannot be started: ${error.message}` }));
      });
      if (child.pid === undefined) throw new Error((await ended).reason);
      child.unref();
      // A spare cannot be found by its variables, so it becomes a tenant when the next keeper would find it.
      this.#table.save(name, child.pid);
      spare?.become({ cwd: this.volume(name), output: output.make(), env });
      this.#outputs.add(name, output);
      const entry = { pid: child.pid, ended };
      this.#children.set(name, entry);
      void ended.then(() => this.#children.get(name) === entry && this.#children.delete(name));
    } catch (error) {
      spare?.child.kill('SIGKILL');
      throw error;
    } finally {
      fs.closeSync(fd);
    }
  }

  /** @param {Spec} spec @param {Record<string, string>} env @param {number} fd of its output */
  #spawn(spec, env, fd) {
    const [program, ...args] = this.#command(spec);
    return spawn(program, args, {
      cwd: this.volume(spec.name),
      env: { ...this.#limiter.env, ...env },
      // A session of its own, which gets no signal of the keeper's terminal and outlives the keeper.
      detached: true,
      stdio: ['ignore', fd, fd]
    });
  }

  /** @param {Spec} spec @param {{ pid: number, id: string }} spare @returns {string[][]} commands */
  #limits(spec, spare) {
    return this.#limiter.limits(spec, blockDeviceOf(this.volume(spec.name)), spare);
  }

  /** @type {Driver['keepSpares'] & {}} */
  keepSpares(specs, most, isBusy) {
    const possible = specs.filter((spec) => isGateway(spec) && !spec.always).length;
    this.#spares.keep(Math.min(most, possible), isBusy);
  }

  get spares() {
    return this.#spares.row;
  }

  /** @param {Spec} spec @param {number} graceMs */
  async stop({ name }, graceMs) {
    const identity = this.#table.find(name);
    if (identity) {
      const { pid } = identity;
      // The process itself gets the signal, not its group: a launcher passes it on in its own order.
      signal(pid, 'SIGTERM');
      signal(-pid, 'SIGCONT');
      const isOver = await this.#until(() => !livingStat(identity), graceMs);
      if (!isOver) signal(-pid, 'SIGKILL');
      await this.#until(() => !livingStat(identity), KILLED_MS);
    }
    await this.#endRest(name);
    this.#table.forget(name);
    this.#outputs.delete(name);
  }

  /** Ends what the tenant started and left behind. @param {string} name */
  async #endRest(name) {
    await this.#until(() => {
      const rest = this.#table.members(name);
      for (const pid of rest) signal(pid, 'SIGKILL');
      return rest.length === 0;
    }, KILLED_MS);
  }

  /** @param {Spec} spec */
  async pause({ name }) {
    const identity = this.#table.find(name);
    if (!identity) throw new Error(`${name} does not run.`);
    signal(-identity.pid, 'SIGSTOP');
    await this.#until(() => livingStat(identity)?.state === 'T' || !livingStat(identity), LOOK_MS * 4);
  }

  /** @param {Spec} spec */
  async unpause({ name }) {
    const identity = this.#table.find(name);
    if (!identity) throw new Error(`${name} does not run.`);
    signal(-identity.pid, 'SIGCONT');
  }

  /** @param {Spec} spec @returns {Promise<import('./driver').Observed>} */
  async inspect({ name }) {
    if (!fs.existsSync(this.#state(name)) || !fs.existsSync(this.volume(name)))
      return { state: 'absent', reason: '' };
    const identity = this.#table.find(name);
    if (identity) {
      // An earlier keeper may have started it.
      this.#outputs.add(name, new Output(this.#state(name)));
      return { state: livingStat(identity)?.state === 'T' ? 'paused' : 'running', reason: '' };
    }
    if (!this.#table.hasRecord(name)) return { state: 'stopped', reason: '' };
    return { state: 'stopped', reason: 'ended while the keeper did not run' };
  }

  /** @param {Spec} spec @param {AbortSignal} over @returns {Promise<{ reason: string }>} */
  async ended(spec, over) {
    const { name } = spec;
    this.#running.set(name, spec);
    const { reason } = await this.#end(name, over);
    // Another watch has taken its place.
    if (over.aborted) await new Promise(() => {});
    this.#running.delete(name);
    const killed = this.#killed.get(name);
    this.#killed.delete(name);
    return { reason: killed ?? reason };
  }

  /** @param {string} name @param {AbortSignal} over @returns {Promise<{ reason: string }>} */
  async #end(name, over) {
    const child = this.#children.get(name);
    if (child) return child.ended;
    const identity = this.#table.find(name);
    while (identity && livingStat(identity)) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS).unref());
      if (over.aborted) await new Promise(() => {});
    }
    return { reason: 'ended; its code is unknown, because an earlier keeper started it' };
  }

  /** @param {Spec} spec */
  async address({ name }) {
    let address = this.#addresses.get(name);
    if (address === undefined) {
      address = addressFor(this.#home.state, name, new Set(this.#addresses.values()));
      this.#addresses.set(name, address);
    }
    return address;
  }

  /** @param {Spec} spec */
  async memory({ name }) {
    const identity = this.#table.find(name);
    return identity ? (await this.#table.group(identity.pid)).bytes : 0;
  }

  /** @param {Spec} spec */
  async dataBytes({ name, limits }) {
    const most = limits.volumeMiB * MIB;
    const bytes = await folderSize(this.volume(name), most);
    if (bytes > most) return bytes;
    return bytes + (await deletedBytes(await this.#table.processes(name), this.volume(name), limits));
  }

  /** @param {Spec} spec @param {number} lines */
  async logs({ name }, lines) {
    return new Output(this.#state(name)).last(lines);
  }

  /** @param {Spec} spec @param {{ hasData: boolean }} options */
  async remove({ name }, { hasData }) {
    fs.rmSync(this.#state(name), { recursive: true, force: true });
    if (hasData) fs.rmSync(this.volume(name), { recursive: true, force: true });
    this.#addresses.delete(name);
  }

  close() {
    this.#spares.close();
    this.#outputs.close();
    clearInterval(this.#weighing);
  }

  /** @param {string} name @returns {string} folder of its data */
  volume(name) {
    return path.join(this.#home.volumes, name);
  }

  /**
   * All tenants share the compiled code of this package: each of them can change the files of the others anyway.
   * @returns {Record<string, string>}
   */
  get #compiled() {
    return { NODE_COMPILE_CACHE: path.join(this.#home.state, '.compile-cache') };
  }

  /** @param {string} name @returns {string} */
  #state(name) {
    return path.join(this.#home.state, name);
  }

  /** @param {Spec} spec @returns {string[]} */
  #command(spec) {
    const command = isGateway(spec) ? [process.execPath, '--max-semi-space-size=1', GATEWAY] : spec.command;
    return [...this.#limiter.words(spec, blockDeviceOf(this.volume(spec.name))), ...command];
  }

  /** @param {Spec} spec @param {string} host @param {string} data @returns {Record<string, string>} */
  #environment(spec, host, data) {
    const { file } = secretsOf(this.#state(spec.name));
    const mark = this.#table.mark(spec.name);
    return {
      ...passed(),
      ...(isGateway(spec) && this.#compiled),
      ...environmentOf(spec, { host, data, passwords: file }),
      [mark.name]: mark.value
    };
  }

  /** Another program at the tenant's address would be taken for it. @param {Spec} spec @param {string} host */
  async #refuseStranger({ port, http, tcp }, host) {
    // A process that a tenant left behind may close its ports a moment after it was killed.
    const end = performance.now() + PORT_MS;
    for (const each of [port, http, tcp].filter(Boolean)) {
      while (await accepts({ host, port: each })) {
        if (performance.now() > end) throw new Error(`another program listens on ${host}:${each}`);
        await new Promise((resolve) => setTimeout(resolve, PORT_LOOK_MS));
      }
    }
  }

  /** @param {() => boolean} isTrue @param {number} ms @returns {Promise<boolean>} false: not within this time */
  async #until(isTrue, ms) {
    const end = performance.now() + ms;
    for (let wait = 2; !isTrue(); wait = Math.min(wait * 2, 50)) {
      if (performance.now() > end) return false;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    return true;
  }

  /** Kills a tenant that uses more memory than it may. */
  async #limitMemory() {
    if (this.#running.size === 0 || this.#limiter.kind === 'systemd') return;
    for (const { name, limits } of this.#running.values()) {
      const identity = this.#table.find(name);
      if (!identity || (await this.#table.group(identity.pid)).bytes <= limits.memoryMiB * MIB) continue;
      if (!livingStat(identity)) continue;
      this.#killed.set(name, `was killed because it used more than ${limits.memoryMiB} MiB of memory`);
      signal(-identity.pid, 'SIGKILL');
    }
  }
}

/** @returns {Record<string, string>} */
const passed = () =>
  Object.fromEntries(PASSED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));

/** @param {Spec} spec @returns {boolean} true if it runs the gateway of this package */
const isGateway = ({ command }) => command.length === 0;

/** @param {number} pid negative = its process group @param {NodeJS.Signals} name */
function signal(pid, name) {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

exports.ProcessDriver = ProcessDriver;
