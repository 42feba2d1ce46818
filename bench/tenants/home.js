'use strict';
// The folder of a front, its keeper and their tenants.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { livingStat } = require('../../docker/tenants/lib/base/processes');
const { hashPassword } = require('../../nodes/lib/login/password-hash');
const { ARRIVED } = require('./flows');

/** The password of all devices and of the users of pages. */
const PASSWORD = 'bench-password';
/** A cheap hash: the cost of a login is not measured here. */
const COST = { ln: 10, r: 8, p: 1 };
/** Of tenants in containers, if the keeper is root. */
const TENANT_USER = 1000;

/** @typedef {{ name: string, driver: string, [key: string]: any }} Entry of the tenants file */

class Home {
  /** The path is short, because that of a Unix socket is limited to 107 bytes. */
  constructor() {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sgt-'));
    this.tenants = path.join(this.folder, 'tenants');
    this.front = path.join(this.folder, 'front');
    this.users = path.join(this.folder, 'users');
    fs.mkdirSync(this.tenants, { mode: 0o700 });
    fs.mkdirSync(this.front, { mode: 0o700 });
    // No nightly backups: a keeper makes those that it missed.
    const settings = { version: 1, at: [] };
    fs.writeFileSync(path.join(this.tenants, 'backup.json'), JSON.stringify(settings), { mode: 0o600 });
  }

  get socket() {
    return path.join(this.tenants, 'keeper.sock');
  }

  /** @param {string} name */
  volume(name) {
    return path.join(this.tenants, 'volumes', name);
  }

  /** @param {Iterable<string>} users such as acme/pump-1 */
  async writeUsers(users) {
    const hash = await hashPassword(Buffer.from(PASSWORD), COST);
    fs.writeFileSync(this.users, [...users].map((user) => `${user}:${hash}\n`).join(''), { mode: 0o600 });
  }

  /** Replaces the tenants file. @param {Entry[]} tenants */
  writeTenants(tenants) {
    const file = path.join(this.tenants, 'tenants.json');
    fs.writeFileSync(`${file}.new`, JSON.stringify({ version: 1, tenants }), { mode: 0o600 });
    fs.renameSync(`${file}.new`, file);
  }

  /** Makes the volume of a tenant. @param {string} name @param {object[]} flow */
  makeVolume(name, flow) {
    const volume = this.volume(name);
    fs.mkdirSync(volume, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(volume, 'gateway.json'), JSON.stringify(flow), { mode: 0o600 });
    this.#own(volume);
  }

  /**
   * Gives a tenant that has not run yet the files that another one made when it first started.
   * @param {string} from @param {string} to
   */
  copyVolume(from, to) {
    const volume = this.volume(to);
    fs.cpSync(this.volume(from), volume, { recursive: true });
    fs.rmSync(path.join(volume, ARRIVED), { force: true });
    this.#own(volume);
  }

  /** @param {string} volume */
  #own(volume) {
    if (process.getuid?.() !== 0) return;
    for (const each of ['.', ...fs.readdirSync(volume, { recursive: true, encoding: 'utf8' })]) {
      fs.lchownSync(path.join(volume, each), TENANT_USER, TENANT_USER);
    }
  }

  /** @param {string} name @returns {{ at: number, d: string }[]} records that the tenant has; at: ms since 1970 */
  arrived(name) {
    const file = path.join(this.volume(name), ARRIVED);
    if (!fs.existsSync(file)) return [];
    // The last line may be incomplete.
    return fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .slice(0, -1)
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  /** @param {string} name @returns {number} process group of a tenant of the driver process, 0 = none runs */
  group(name) {
    const state = path.join(this.tenants, 'state', name);
    try {
      const identity = JSON.parse(fs.readFileSync(path.join(state, 'process.json'), 'utf8'));
      return livingStat(identity) ? identity.pid : 0;
    } catch {
      return 0;
    }
  }

  /** Kills tenants that a killed keeper left behind, and removes all files. */
  remove() {
    const states = path.join(this.tenants, 'state');
    for (const name of fs.existsSync(states) ? fs.readdirSync(states) : []) {
      const group = this.group(name);
      if (group === 0) continue;
      try {
        process.kill(-group, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    fs.rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}

module.exports = { Home, PASSWORD };
