'use strict';
// The tenants file, watched. An invalid file changes nothing: the last valid one stays in use, also after a restart,
// because the names and limits of its tenants are kept in a copy.

const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../../base/replace-file');
const { WatchedFiles } = require('../../base/watched-files');
const { MAX_FILE_BYTES, SchemaError, parseTenants } = require('./schema');

const CHECK_MS = 1000;

/**
 * What the gateway uses of a tenant.
 * @typedef {{ name: string, rate: number, waitingMiB: number }} Part rate 0 = no limit
 *
 * @typedef {object} FileOptions
 * @property {string} file
 * @property {string} copy path of the copy; its folder may not exist yet
 * @property {() => void} changed the tenants or the problem changed
 * @property {number} [checkMs]
 */

class TenantsFile {
  #options;
  #files;
  #text = '';
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isChecking = false;
  #isMissing = false;
  #isClosed = false;
  /** Of the last valid file. @type {import('./schema').Spec[]} */
  #all = [];

  /** @param {FileOptions} options */
  constructor(options) {
    this.#options = options;
    this.#files = new WatchedFiles(
      { file: options.file },
      { file: 'tenants file' },
      { maxBytes: MAX_FILE_BYTES, code: 'TENANTS_FILE', meanwhile: 'the last valid one stays in use' }
    );
    /** @type {Part[]} */
    this.tenants = [];
    /** Ports of the tenants' web pages, by name. @type {Map<string, number>} */
    this.pages = new Map();
    /** Ports of the tenants' TCP services, by name. @type {Map<string, number>} */
    this.services = new Map();
    /** Why the file is not in use, a sentence; '' = it is. */
    this.problem = '';
    /** True if the tenants are those of the copy. */
    this.isCopy = false;
  }

  /** Names of all tenants, also of those that get no records. */
  get names() {
    return this.#all.map(({ name }) => name);
  }

  get path() {
    return this.#options.file;
  }

  /** Reads the file, and begins to watch it. */
  open() {
    if (!this.#read()) this.#readCopy();
    this.#timer = setInterval(() => void this.#check(), this.#options.checkMs ?? CHECK_MS);
    this.#timer.unref();
  }

  close() {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  async #check() {
    if (this.#isChecking) return;
    this.#isChecking = true;
    // A file that is being replaced is not a change, but one that stays away is.
    const wasMissing = this.#isMissing;
    this.#isMissing = !(await fs.promises.access(this.#options.file).then(
      () => true,
      () => false
    ));
    const hasChanged = this.#isMissing ? !wasMissing : wasMissing || (await this.#files.haveChanged());
    this.#isChecking = false;
    if (this.#isClosed || !hasChanged) return;
    const before = JSON.stringify([this.tenants, this.problem]);
    this.#read();
    if (JSON.stringify([this.tenants, this.problem]) !== before) this.#options.changed();
  }

  /** @returns {boolean} true if the file is valid */
  #read() {
    try {
      const { file = Buffer.alloc(0) } = this.#files.read();
      this.#use(parseTenants(file));
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.problem =
        error instanceof SchemaError
          ? `The tenants file ${this.#options.file} is not used. ${message} The last valid one stays in use.`
          : message;
      return false;
    }
    this.problem = '';
    this.isCopy = false;
    this.#writeCopy();
    return true;
  }

  /** @param {import('./schema').Spec[]} tenants */
  #use(tenants) {
    this.#all = tenants;
    this.tenants = partsOf(tenants);
    this.pages = new Map(tenants.flatMap(({ name, http }) => (http ? [[name, http]] : [])));
    this.services = new Map(tenants.flatMap(({ name, tcp }) => (tcp ? [[name, tcp]] : [])));
  }

  #writeCopy() {
    // Without commands and images, which only the keeper needs.
    const tenants = this.#all.map(({ name, port, limits: { rate, waitingMiB }, http, tcp }) => ({
      name,
      driver: 'process',
      port,
      limits: { rate, waitingMiB },
      ...(http > 0 && { http }),
      tcp
    }));
    const text = `${JSON.stringify({ version: 1, tenants })}\n`;
    if (text === this.#text) return;
    try {
      fs.mkdirSync(path.dirname(this.#options.copy), { recursive: true, mode: 0o700 });
      replaceFile(this.#options.copy, text);
      this.#text = text;
    } catch {
      // Only the next start without a valid file would need it.
    }
  }

  #readCopy() {
    try {
      this.#use(parseTenants(fs.readFileSync(this.#options.copy)));
      this.isCopy = true;
    } catch {
      this.tenants = [];
    }
  }
}

/** @param {import('./schema').Spec[]} tenants of the file @returns {Part[]} those that have an MQTT listener */
function partsOf(tenants) {
  return tenants
    .filter(({ port }) => port !== 0)
    .map(({ name, limits: { rate, waitingMiB } }) => ({ name, rate, waitingMiB }));
}

exports.TenantsFile = TenantsFile;
