'use strict';
// Keeps what the forecast nodes of an engine have learned over a restart: a file for each node, beside the log. After a
// crash, what a node learned in the last five minutes is lost.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { setImmediate: turn } = require('node:timers/promises');
const { KeptFile } = require('../store/kept-file');

/** A file that no node has written for this long, and that no node has, is removed. */
const FORGOTTEN_MS = 90 * 86400000;
const NAME = /^forecast-.+\.gz$/;

/**
 * @typedef {Pick<import('../../../native/index.js').Engine, 'saveForecasts' | 'restoreForecasts' | 'stats'>} Engine
 * @typedef {{ engine: Engine, keptIn: string, keptFiles: Set<{ stop(): Promise<void> }> }} Host
 */

/** @param {string} id of a node; it is long for a node in nested subflows */
function fileOf(id) {
  const isShort = /^[\w.-]{1,64}$/.test(id);
  return `forecast-${isShort ? id : crypto.createHash('sha256').update(id).digest('hex')}.gz`;
}

class ForecastFile {
  #engine;
  #stage;
  #file;
  /** `points` of the stage in the file, and of what is being written. */
  #savedPoints = 0;
  #savingPoints = 0;

  /**
   * @param {Host} host
   * @param {string} id of the node
   * @param {number} stage of the node, which the plan in use has
   * @param {(sentence: string) => void} warn
   * @param {number} [intervalMs]
   */
  constructor({ engine, keptIn }, id, stage, warn, intervalMs) {
    this.#engine = engine;
    this.#stage = stage;
    const kept = {
      what: 'forecasts',
      lost: 'The node begins to learn again; what precedes the damage is used.',
      restore: (/** @type {Buffer | null} */ content) => this.#restore(content),
      content: () => this.#content(),
      saved: () => void (this.#savedPoints = this.#savingPoints)
    };
    this.#file = new KeptFile(keptIn, fileOf(id), kept, warn, intervalMs);
    this.loaded = this.#file.loaded;
  }

  /** Call it when a plan with the stage is in use: a stage that was made again, or whose model changed, begins. */
  planned() {
    if (this.#counters()?.begun === false) void this.#file.load();
  }

  /** @returns {Promise<void>} */
  save() {
    return this.#file.save();
  }

  /** @returns {Promise<void>} */
  stop() {
    return this.#file.stop();
  }

  #counters() {
    return this.#engine.stats().stages.find(({ id }) => id === this.#stage)?.forecast;
  }

  /** @param {Buffer | null} content @throws {Error} if it is damaged */
  async #restore(content) {
    for (let at = 0; ;) {
      const page = this.#engine.restoreForecasts(this.#stage, content, at);
      if (page?.result === 'damaged') throw new Error('not rows of forecasts');
      if (page?.result === 'other') return void this.#engine.restoreForecasts(this.#stage, null, 0);
      if (page?.result !== 'more') return;
      at = page.at;
      await turn();
    }
  }

  /** @returns {Promise<Buffer | null>} null = nothing was learned, or there is nothing to save */
  async #content() {
    const points = this.#counters()?.points ?? 0;
    // A stage that was made again counts from 0.
    if (points === this.#savedPoints || points === 0) return null;
    this.#savingPoints = points;
    /** @type {Buffer[]} */
    const parts = [];
    let after = null;
    do {
      const page = this.#engine.saveForecasts(this.#stage, after);
      if (!page) return null;
      parts.push(page.rows);
      after = page.next;
      await turn();
    } while (after);
    return Buffer.concat(parts);
  }
}

/** Of each engine, by node. @type {WeakMap<Host, Map<string, ForecastFile>>} */
const files = new WeakMap();

/**
 * Returns the file of a forecast node, which outlives the node in its engine. Call it when a plan with the node is in
 * use.
 * @param {Host} host with a folder for files
 * @param {string} id
 * @param {number} stage
 * @param {(sentence: string) => void} warn
 */
function fileOfNode(host, id, stage, warn) {
  let ofHost = files.get(host);
  if (!ofHost) {
    files.set(host, (ofHost = new Map()));
    const nodes = ofHost;
    void removeForgotten(host.keptIn, (name) => [...nodes.keys()].some((node) => fileOf(node) === name));
  }
  const known = ofHost.get(id);
  known?.planned();
  const file = known ?? new ForecastFile(host, id, stage, warn);
  ofHost.set(id, file);
  host.keptFiles.add(file);
  return file;
}

/**
 * Removes the files of nodes that were deleted long ago.
 * @param {string} folder
 * @param {(name: string) => boolean} isUsed
 */
async function removeForgotten(folder, isUsed) {
  const names = await fs.promises.readdir(folder).catch(() => []);
  for (const name of names.filter((each) => NAME.test(each))) {
    const file = path.join(folder, name);
    const stat = await fs.promises.stat(file).catch(() => null);
    const isForgotten = stat && Date.now() - stat.mtimeMs > FORGOTTEN_MS && !isUsed(name);
    if (isForgotten) await fs.promises.rm(file).catch(() => {});
  }
}

module.exports = { ForecastFile, fileOf, fileOfNode, removeForgotten };
