'use strict';
// Runs tenants as containers of Docker or Podman, each in a network of its own without a way out.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError, EXIT } = require('../base/errors');
const { deletedBytes, descendants } = require('../base/deleted-files');
const { folderSize } = require('../base/folder-size');
const { page } = require('../../../../nodes/lib/base/texts/page');
const { secretsOf } = require('../life/secrets');
const { blockDeviceOf, canLimitWrites, unlimitedWrites } = require('./block-device');
const { containerOf, MADE_WITH, USER } = require('./container');
const { removeContainers, startContainer } = require('./container-offline');
const { SHELL } = require('./container-output');
const { ControlGroup } = require('./control-group');
const { endOf, lastLines } = require('./driver');
const { EngineClient, Refusal } = require('./engine-client');
const { unlimitedOf, warningOf } = require('./engine-limits');
const { textOfFrames } = require('./frames');
const { Images } = require('./images');
const { makeNetwork } = require('./new-network');
const { addressIn, rangeOf, STANDARD_RANGE } = require('./networks');
const { Output, OutputWatch } = require('./output');

/** @typedef {import('./driver').Driver} Driver */
/** @typedef {import('../../../../nodes/lib/tenants/file/schema').Spec} Spec */

/** Additional time for the engine itself, beyond a tenant's grace. */
const STOP_SLACK_MS = 30_000;
const HAS_IPV6 = fs.existsSync('/proc/sys/net/ipv6');
/** @type {Record<string, import('./driver').Observed['state']>} */
const STATES = {
  created: 'created',
  configured: 'created',
  initialized: 'created',
  running: 'running',
  paused: 'paused'
};

/** @implements {Driver} */
class DockerDriver {
  isIsolated = true;
  canPause = true;
  #home;
  #groups;
  #group;
  #client;
  #range;
  #prefix;
  #keepsUser;
  /** What the engine does not limit, '' = nothing; null = not known yet. @type {string | null} */
  #unlimited = null;
  /** Why it does not limit the disk writes of tenants, '' = it does, or that is not known yet. */
  #freeWrites = '';
  /** The engine runs without root; null = not known yet. @type {boolean | null} */
  #rootless = null;
  /** The first request for #unlimited, which all tenants share. @type {Promise<any> | null} */
  #asking = null;
  /** Warnings about the containers of this process, by tenant. @type {Map<string, string>} */
  #warnings = new Map();
  #images;
  /** Images without a shell, for which the engine reads the output of their tenants. @type {Set<string>} */
  #shellless = new Set();
  #outputs = new OutputWatch();

  /**
   * @param {Pick<import('../base/home').Home, 'volumes' | 'state'>} home
   * @param {object} options
   * @param {'docker' | 'podman'} options.name
   * @param {string} options.socket
   * @param {string} [options.range] for the tenants' networks
   * @param {string} [options.parent] control group of the tenants, '' = that of the engine
   * @param {string} [options.groups] where control groups are
   * @param {{ proc: string, config: string }} [options.places] where the processes and the configuration of Docker are
   */
  constructor(home, { name, socket, range = STANDARD_RANGE, parent, groups, places }) {
    const parsed = rangeOf(range);
    if (!parsed) {
      throw new CliError(
        `SEGANET_TENANTS_SUBNETS must be a range such as ${STANDARD_RANGE}, not '${range}'.`,
        EXIT.CONFIG
      );
    }
    this.name = name;
    this.#home = home;
    this.#groups = groups;
    this.#group = new ControlGroup({ name, socket, given: parent, places });
    this.#client = new EngineClient(socket);
    this.#images = new Images(this.#client);
    this.#range = parsed;
    // Several keepers may use one engine.
    this.#prefix = `seganet-${crypto.createHash('sha256').update(home.state).digest('hex').slice(0, 8)}`;
    this.#keepsUser = name === 'podman' && Boolean(process.getuid?.());
  }

  async check() {
    const { Version: version, Name: system = '' } = await this.#client.ask('GET', '/version');
    const how = (await this.#isRootless()) ? 'rootless' : 'runs as root: any user of its socket is root';
    const where = this.#group.chosen && `; tenants are in ${this.#group.chosen}`;
    return `${this.name} ${version ?? system} ${how}${where}`;
  }

  /** @param {Spec[]} specs */
  async problems(specs) {
    await this.#info();
    const found = [];
    if (this.#unlimited)
      found.push(
        `${this.name} does not limit ${this.#unlimited} of tenants, because the kernel lacks control groups for it. How to switch them on: ${page('use/tenants-keeper.md')}`
      );
    found.push(...this.#group.problems);
    const names = specs.filter(({ limits }) => limits.writeMiBps > 0).map(({ name }) => name);
    if (this.#freeWrites && names.length > 0)
      found.push(
        `${this.name} does not limit what ${shown(names)} to the disk (limits.writeMiBps): ${this.#freeWrites}.`
      );
    return found;
  }

  /** @param {Spec} spec */
  lacks({ limits }) {
    const isFree = this.#freeWrites && limits.writeMiBps > 0;
    const writes = isFree && `${this.name} does not limit what it writes to the disk: ${this.#freeWrites}`;
    return [this.#group.shared, writes].filter(Boolean).join('; ');
  }

  /** @param {Spec} spec */
  weakness({ name, image }) {
    if (this.#unlimited) return `${this.name} does not limit its ${this.#unlimited}`;
    const warning = this.#warnings.get(name);
    if (warning) return `${this.name} warns: ${warning}`;
    return this.#shellless.has(image)
      ? `${this.name} does not limit the processor for its output, because its image has no ${SHELL}`
      : '';
  }

  /** @param {Spec} spec */
  async create(spec) {
    const name = this.#container(spec);
    const volume = this.#makeFolders(spec);
    const place = await this.#network(spec);
    const around = {
      network: this.#container(spec),
      address: place,
      volume,
      secrets: this.#secrets(spec),
      ...(await this.#surroundings(volume)),
      labels: this.#labels(spec)
    };
    const plain = containerOf(spec, { ...around, output: null });
    const known = await this.#client.find('GET', `/containers/${name}/json`);
    const madeWith = known?.Config?.Labels?.[MADE_WITH];
    if (madeWith === plain.Labels[MADE_WITH]) this.#shellless.add(spec.image);
    const body = this.#shellless.has(spec.image)
      ? plain
      : containerOf(spec, {
          ...around,
          output: { file: await this.#makeOutput(spec), image: await this.#images.configOf(spec.image) }
        });
    if (known && madeWith === body.Labels[MADE_WITH]) return;
    if (known) await this.#client.find('DELETE', `/containers/${name}?force=true&v=true`);
    await this.#make(spec, body);
    if (body === plain || (await this.#images.hasShell(name))) return;
    await this.#client.find('DELETE', `/containers/${name}?force=true&v=true`);
    this.#shellless.add(spec.image);
    this.#outputOf(spec).remove();
    await this.#make(spec, plain);
  }

  /** @param {Spec} spec @param {any} body of the request for its container */
  async #make(spec, body) {
    try {
      const made = await this.#client.ask('POST', `/containers/create?name=${this.#container(spec)}`, {
        body
      });
      this.#warnings.set(spec.name, warningOf(made?.Warnings));
    } catch (error) {
      if (!(error instanceof Refusal) || error.status !== 404) throw error;
      throw new Error(`the engine has no image ${spec.image}. Pull it first`, { cause: error });
    }
  }

  /** @param {Spec} spec */
  async start(spec) {
    const start = () => this.#client.ask('POST', `/containers/${this.#container(spec)}/start`);
    try {
      await start();
    } catch (error) {
      if (!this.#group.isRefusedBy(error)) throw error;
      await this.create(spec);
      await start();
    }
    this.#outputs.add(spec.name, this.#outputOf(spec));
  }

  /** @param {Spec} spec @param {number} graceMs */
  async stop(spec, graceMs) {
    const name = this.#container(spec);
    const { state } = await this.inspect(spec);
    if (state === 'absent') return;
    // A paused process gets no signal.
    if (state === 'paused') await this.unpause(spec);
    const seconds = Math.ceil(graceMs / 1000);
    const limitMs = seconds * 1000 + STOP_SLACK_MS;
    await this.#client.find('POST', `/containers/${name}/stop?t=${seconds}`, { limitMs });
    this.#outputs.delete(spec.name);
  }

  /**
   * Starts the tenant without a network, from a copy of its volume, beside its own container.
   * @param {Spec} spec
   * @param {string} folder
   * @param {import('./container-offline').Look} look
   */
  async startOffline(spec, folder, look) {
    const body = containerOf(spec, {
      network: 'none',
      address: '127.0.0.1',
      volume: folder,
      secrets: this.#secrets(spec),
      ...(await this.#surroundings(folder)),
      // It runs for a minute at most.
      parent: '',
      output: null,
      labels: this.#labels(spec)
    });
    const output = (/** @type {string} */ name) => this.#output(name, 1);
    return startContainer(this.#client, body, {
      folder,
      port: spec.port || spec.http || spec.tcp,
      look,
      output
    });
  }

  /** Removes the containers that killed processes left in `startOffline`. */
  async removeRests() {
    await removeContainers(this.#client, [`seganet.keeper=${this.#prefix}`]);
  }

  /** @param {Spec} spec */
  async pause(spec) {
    await this.#client.ask('POST', `/containers/${this.#container(spec)}/pause`);
  }

  /** @param {Spec} spec */
  async unpause(spec) {
    await this.#client.ask('POST', `/containers/${this.#container(spec)}/unpause`);
  }

  /** @param {Spec} spec @returns {Promise<import('./driver').Observed>} */
  async inspect(spec) {
    if (this.#unlimited === null) {
      this.#asking ??= this.#info().finally(() => (this.#asking = null));
      await this.#asking;
    }
    const found = await this.#client.find('GET', `/containers/${this.#container(spec)}/json`);
    if (!found) return { state: 'absent', reason: '' };
    const state = STATES[found.State.Status] ?? 'stopped';
    // An earlier keeper may have started it.
    if (state === 'running') this.#outputs.add(spec.name, this.#outputOf(spec));
    return { state, reason: state === 'stopped' ? reasonOf(found.State, spec) : '' };
  }

  /** @param {Spec} spec @param {AbortSignal} signal @returns {Promise<{ reason: string }>} */
  async ended(spec, signal) {
    try {
      await this.#client.find('POST', `/containers/${this.#container(spec)}/wait`, { signal, limitMs: 0 });
      const { state, reason } = await this.inspect(spec);
      return { reason: state === 'absent' ? 'its container was removed' : reason };
    } catch (error) {
      if (signal.aborted) await new Promise(() => {});
      throw error;
    }
  }

  /** @param {Spec} spec */
  async address(spec) {
    const found = await this.#client.find('GET', `/containers/${this.#container(spec)}/json`);
    const network = found?.NetworkSettings?.Networks?.[this.#container(spec)];
    const address = network?.IPAddress || network?.IPAMConfig?.IPv4Address;
    if (!address) throw new Error(`${spec.name} has no address in its network`);
    return address;
  }

  /** @param {Spec} spec */
  async memory(spec) {
    const path1 = `/containers/${this.#container(spec)}/stats?stream=false&one-shot=true`;
    const stats = (await this.#client.ask('GET', path1)).memory_stats ?? {};
    // Memory that the kernel can drop at once does not count as used. The names are those of cgroups v2 and v1.
    const cache = stats.stats?.inactive_file ?? stats.stats?.total_inactive_file ?? 0;
    return Math.max(0, (stats.usage ?? 0) - cache);
  }

  /** @param {Spec} spec */
  async dataBytes(spec) {
    const most = spec.limits.volumeMiB * 2 ** 20;
    const bytes = await folderSize(this.#volume(spec), most);
    if (bytes > most) return bytes;
    const found = await this.#client.find('GET', `/containers/${this.#container(spec)}/json`);
    const pid = Number(found?.State?.Pid ?? 0);
    return pid > 1 ? bytes + (await deletedBytes(descendants(pid), this.#volume(spec), spec.limits)) : bytes;
  }

  /** @param {Spec} spec @param {number} lines */
  async logs(spec, lines) {
    // The engine has the output of a container of an earlier version, of an image without a shell, and of the shell.
    return (await this.#outputOf(spec).last(lines)) || (await this.#output(this.#container(spec), lines));
  }

  /** @param {string} name of a container @param {number} lines @returns {Promise<string>} */
  async #output(name, lines) {
    const query = `stdout=true&stderr=true&tail=${lines}`;
    const bytes = await this.#client.find('GET', `/containers/${name}/logs?${query}`);
    return Buffer.isBuffer(bytes) ? lastLines(textOfFrames(bytes), lines) : '';
  }

  /** @param {Spec} spec @param {{ hasData: boolean }} options */
  async remove(spec, { hasData }) {
    const name = this.#container(spec);
    await this.#client.find('DELETE', `/containers/${name}?force=true&v=true`);
    await this.#client.find('DELETE', `/networks/${name}`);
    this.#outputs.delete(spec.name);
    fs.rmSync(this.#state(spec), { recursive: true, force: true });
    if (hasData) fs.rmSync(this.#volume(spec), { recursive: true, force: true });
  }

  /** @param {string} image @returns {Promise<string>} */
  digestOf = (image) => this.#images.digestOf(image);

  close() {
    this.#outputs.close();
    this.#client.close();
  }

  /** @param {Spec} spec @returns {string} name of its container and of its network */
  #container({ name }) {
    return `${this.#prefix}-${name}`;
  }

  /** @param {Spec} spec */
  #labels({ name }) {
    return { 'seganet.tenant': name, 'seganet.keeper': this.#prefix };
  }

  /** @param {Spec} spec @returns {string} */
  #state({ name }) {
    return path.join(this.#home.state, name);
  }

  /** @param {Spec} spec @returns {string} */
  #volume({ name }) {
    return path.join(this.#home.volumes, name);
  }

  /** @returns {Promise<any>} */
  async #info() {
    const info = await this.#client.ask('GET', '/info');
    this.#unlimited = unlimitedOf(info);
    const options = info?.SecurityOptions ?? [];
    this.#rootless = options.some((/** @type {unknown} */ each) => String(each).includes('rootless'));
    this.#group.learn(info, this.#rootless === true);
    this.#freeWrites = this.#rootless
      ? 'the engine runs without root'
      : unlimitedWrites(this.#home.volumes, { groups: this.#groups });
    return info;
  }

  async #isRootless() {
    if (this.#rootless === null) await this.#info();
    return Boolean(this.#rootless);
  }

  /** @returns {Promise<string>} user and group of the tenants: who owns their folders, as seen inside */
  async #user() {
    const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()];
    if (uid === 0) return `${USER}:${USER}`;
    // In Docker without root, user 0 of a container is this user, and has none of root's rights.
    return !this.#keepsUser && (await this.#isRootless()) ? '0:0' : `${uid}:${gid}`;
  }

  /**
   * @param {string} volume that exists
   * @returns {Promise<Pick<import('./container').Around, 'user' | 'hasIpv6' | 'keepsUser' | 'isRootless' | 'parent' | 'disks'>>}
   */
  async #surroundings(volume) {
    const isRootless = await this.#isRootless();
    // A user's own control groups rarely include the one for disks, and an engine refuses a limit without it.
    const isLimited = !isRootless && canLimitWrites(this.#groups);
    const disks = isLimited ? [volume, this.#home.state].map((folder) => blockDeviceOf(folder)) : [];
    return {
      user: await this.#user(),
      hasIpv6: HAS_IPV6,
      keepsUser: this.#keepsUser,
      isRootless,
      parent: this.#group.parent,
      disks: [...new Set(disks.filter(Boolean))]
    };
  }

  /** @param {Spec} spec @returns {string} folder with the users of the tenant, which it can read */
  #secrets(spec) {
    const { folder, file } = secretsOf(this.#state(spec));
    if (process.getuid?.() === 0) for (const each of [folder, file]) fs.chownSync(each, USER, USER);
    return folder;
  }

  /** @param {Spec} spec */
  #outputOf(spec) {
    return new Output(this.#state(spec));
  }

  /** @param {Spec} spec @returns {Promise<string>} file that it prints to */
  async #makeOutput(spec) {
    const output = this.#outputOf(spec);
    await output.turn();
    return output.make(process.getuid?.() === 0 ? USER : undefined);
  }

  /** @param {Spec} spec @returns {string} folder of its data */
  #makeFolders(spec) {
    fs.mkdirSync(this.#state(spec), { recursive: true, mode: 0o700 });
    const volume = this.#volume(spec);
    fs.mkdirSync(volume, { recursive: true, mode: 0o700 });
    if (process.getuid?.() === 0) fs.chownSync(volume, USER, USER);
    return volume;
  }

  /**
   * Makes the tenant's network, unless there is one.
   * @param {Spec} spec
   * @returns {Promise<string>} address of the tenant in it
   */
  async #network(spec) {
    const name = this.#container(spec);
    const known = await this.#client.find('GET', `/networks/${name}`);
    const old = addressIn(this.#range, known?.IPAM?.Config?.[0]?.Subnet);
    if (old) return old;
    // It was made with another range.
    if (known) {
      await this.#client.find('DELETE', `/containers/${name}?force=true&v=true`);
      await this.#client.find('DELETE', `/networks/${name}`);
    }
    return makeNetwork(this.#client, {
      engine: this.name,
      range: this.#range,
      name,
      labels: this.#labels(spec)
    });
  }
}

const MAX_NAMES = 5;

/** @param {string[]} names of tenants @returns {string} such as 'a, b and 3 others write' */
function shown(names) {
  const rest = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(', ')}${rest > 0 ? ` and ${rest} more tenants` : ''} ${names.length > 1 ? 'write' : 'writes'}`;
}

/** @param {any} state of the engine @param {Spec} spec @returns {string} */
function reasonOf({ ExitCode: code, OOMKilled: isTooLarge, Error: problem }, { limits }) {
  if (isTooLarge) return `was killed because it used more than ${limits.memoryMiB} MiB of memory`;
  if (problem) return String(problem);
  return endOf(Number(code ?? 0), null);
}

exports.DockerDriver = DockerDriver;
