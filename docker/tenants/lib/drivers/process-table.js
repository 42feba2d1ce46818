'use strict';
// Finds the processes of tenants, also after a restart of the keeper.

const fs = require('node:fs');
const path = require('node:path');
const { groups, identityOf, livingStat, statOf, variables } = require('../base/processes');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');

/** @typedef {import('../base/processes').Identity} Identity */
const VARIABLE = 'SEGANET_TENANT_STATE';
/** Time for which a look at all processes counts. */
const FRESH_MS = 1000;

class ProcessTable {
  #folder;
  /** Names whose processes were searched for. @type {Set<string>} */
  #searched = new Set();
  /** @type {{ at: number, marked: Map<string, number[]> }} */
  #marks = { at: -Infinity, marked: new Map() };
  /** @type {{ at: number, groups: ReturnType<typeof groups> }} */
  #seen = { at: -Infinity, groups: Promise.resolve(new Map()) };

  /** @param {string} folder of the tenants' states */
  constructor(folder) {
    this.#folder = folder;
  }

  /** The variable by which a tenant's process is found without its state file. @param {string} name */
  mark(name) {
    return { name: VARIABLE, value: path.join(this.#folder, name) };
  }

  /** @param {string} name @returns {string} */
  #file(name) {
    return path.join(this.#folder, name, 'process.json');
  }

  /** @param {string} name @param {number} pid leader of its process group */
  save(name, pid) {
    const identity = identityOf(pid);
    if (identity) replaceFile(this.#file(name), JSON.stringify(identity));
  }

  /** @param {string} name */
  forget(name) {
    fs.rmSync(this.#file(name), { force: true });
  }

  /** @param {string} name @returns {Identity | null} of the tenant's living process */
  find(name) {
    const known = this.#read(name);
    if (known && livingStat(known)) return known;
    if (this.#searched.has(name)) return null;
    // An earlier keeper may have been killed between a start and the file.
    this.#searched.add(name);
    const pid = this.members(name, this.#marked()).find((each) => statOf(each)?.group === each);
    const identity = pid === undefined ? null : identityOf(pid);
    if (!identity || !livingStat(identity)) return null;
    this.save(name, identity.pid);
    return identity;
  }

  /**
   * Returns the processes that the tenant started, also those that left its process group.
   * @param {string} name
   * @param {Map<string, number[]>} [marked]
   * @returns {number[]}
   */
  members(name, marked = variables(VARIABLE)) {
    return marked.get(this.mark(name).value) ?? [];
  }

  /**
   * Returns the processes of a running tenant: those with its mark, and those of its process group.
   * @param {string} name
   * @returns {Promise<Set<number>>}
   */
  async processes(name) {
    const leader = this.find(name)?.pid;
    const marked = this.members(name, this.#marked());
    if (leader === undefined) return new Set(marked);
    return new Set([...marked, ...(await this.group(leader)).pids]);
  }

  /** @returns {Map<string, number[]>} processes by their mark, seen a moment ago: for many tenants in a row */
  #marked() {
    const now = performance.now();
    if (now - this.#marks.at > FRESH_MS) this.#marks = { at: now, marked: variables(VARIABLE) };
    return this.#marks.marked;
  }

  /** @param {string} name @returns {boolean} true if it ran before, and ended while nobody watched */
  hasRecord(name) {
    return this.#read(name) !== null;
  }

  /** @param {number} group @returns {Promise<import('../base/processes').Group>} */
  async group(group) {
    const now = performance.now();
    if (now - this.#seen.at > FRESH_MS) this.#seen = { at: now, groups: groups() };
    return (await this.#seen.groups).get(group) ?? { bytes: 0, pids: [] };
  }

  /** @param {string} name @returns {Identity | null} */
  #read(name) {
    try {
      const value = JSON.parse(fs.readFileSync(this.#file(name), 'utf8'));
      const isIdentity =
        Number.isInteger(value?.pid) && typeof value.start === 'string' && typeof value.boot === 'string';
      return isIdentity ? value : null;
    } catch {
      return null;
    }
  }
}

exports.ProcessTable = ProcessTable;
