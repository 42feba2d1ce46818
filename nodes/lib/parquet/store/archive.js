'use strict';

const crypto = require('node:crypto');
const { FileWriter } = require('../files/parquet-file');
const { compareRows } = require('../files/row');
const { MANIFEST, folderOf, formatManifest, isOurs, parseManifest, splitKey } = require('./manifest');
const { StoreError } = require('./store-error');

/** @typedef {import('../files/row').Row} Row @typedef {import('./manifest').Run} Run */
/** @typedef {import('./manifest').ListedFile} ListedFile */
/** @typedef {import('./folder-store').FolderStore | import('./object-store').ObjectStore} Store */

/** @returns {string} a name that no other file has */
const newName = () => `part-${Date.now().toString(36)}-${crypto.randomBytes(4).toString('hex')}.parquet`;

/**
 * The files of one place by day, and their manifests. The order of each change makes it safe: files first, then the
 * manifest that names them, then the removal of files that it no longer names. open() removes what a crash left.
 *
 * Only one thread uses an archive. The changes of one day follow each other.
 */
class Archive {
  /** Runs by day. @type {Map<string, Run[]>} */
  days = new Map();
  #store;
  #library;
  #changes = Promise.resolve();

  /** @param {Store} store @param {import('../files/writer-package').ParquetPackages} library */
  constructor(store, library) {
    this.#store = store;
    this.#library = library;
  }

  /**
   * Reads the manifests, and removes files that none of them names.
   * @returns {Promise<{ removed: number, missing: string[] }>} missing: files that a manifest names
   */
  async open() {
    const listed = await this.#store.list();
    /** @type {Map<string, Map<string, string>>} by day: names and keys */
    const found = new Map();
    for (const { key } of listed) {
      const at = splitKey(key);
      if (at) found.set(at.date, (found.get(at.date) ?? new Map()).set(at.name, key));
    }
    this.days.clear();
    let removed = 0;
    const missing = [];
    for (const [date, names] of found) {
      const manifest = names.get(MANIFEST);
      const runs = manifest ? this.#parse(manifest, await this.#store.get(manifest)) : [];
      const files = new Set(runs.flatMap((run) => run.files.map(({ name }) => name)));
      for (const [name, key] of names) {
        if (!isOurs(name) || files.has(name)) continue;
        await this.#store.remove(key);
        removed++;
      }
      for (const name of files) if (!names.has(name)) missing.push(`${folderOf(date)}/${name}`);
      if (runs.length > 0) this.days.set(date, runs);
    }
    return { removed, missing };
  }

  /** @param {string} key @param {Buffer} text */
  #parse(key, text) {
    try {
      return parseManifest(text.toString('utf8'));
    } catch (error) {
      throw new StoreError(
        'MANIFEST',
        `The manifest ${key} ${/** @type {Error} */ (error).message}. Restore it from a backup, or move the folder of its day away.`
      );
    }
  }

  /**
   * Writes rows of a day into a file. When it resolves, they survive a crash.
   * @param {string} date
   * @param {Row[]} rows gets sorted
   * @returns {Promise<{ file: ListedFile, repeated: number }>}
   */
  async add(date, rows) {
    rows.sort(compareRows);
    const writer = new FileWriter(this.#library);
    for (const row of rows) writer.add(row);
    const file = await putFile(this.#store, date, writer);
    await this.#change(date, (runs) => [...runs, { level: 0, files: [file] }]);
    return { file, repeated: writer.repeated };
  }

  /**
   * Puts one run in the place of others, whose files it removes.
   * @param {string} date
   * @param {Run[]} merged
   * @param {Run} run
   */
  async replace(date, merged, run) {
    const gone = new Set(merged.flatMap(namesOf));
    await this.#change(date, (runs) => [
      run,
      ...runs.filter((each) => !namesOf(each).some((name) => gone.has(name)))
    ]);
    for (const name of gone) await this.#store.remove(`${folderOf(date)}/${name}`);
  }

  /** @param {string} date @param {(runs: Run[]) => Run[]} change */
  #change(date, change) {
    const done = this.#changes.then(async () => {
      const runs = change(this.days.get(date) ?? []);
      await this.#store.put(`${folderOf(date)}/${MANIFEST}`, formatManifest(runs));
      this.days.set(date, runs);
    });
    this.#changes = done.catch(() => {});
    return done;
  }
}

/** @param {Run} run */
const namesOf = ({ files }) => files.map(({ name }) => name);

/**
 * Finishes a file and puts it into its place. It does not count until a manifest names it.
 * @param {Store} store
 * @param {string} date
 * @param {FileWriter} writer
 * @returns {Promise<ListedFile>}
 */
async function putFile(store, date, writer) {
  const name = newName();
  const bytes = writer.finish();
  await store.put(`${folderOf(date)}/${name}`, bytes);
  const { rows, from, to } = writer;
  return { name, rows, bytes: bytes.length, from, to };
}

exports.Archive = Archive;
exports.putFile = putFile;
