'use strict';
// Keeps what the forecast nodes of an engine have learned over a restart: a file for each node, beside the log. After a
// crash, what a node learned in the last five minutes is lost. A node without a file of its model learns from what
// series nodes have stored.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { setImmediate: turn } = require('node:timers/promises');
const { KeptFile } = require('../store/kept-file');
const { teachHistory } = require('./history');

/** A file that no node has written for this long, and that no node has, is removed. */
const FORGOTTEN_MS = 90 * 86400000;
/** The status shows the progress this often. */
const SHOW_MS = 500;
const NAME = /^forecast-.+\.gz$/;

/**
 * @typedef {Pick<import('../../../native/index.js').Engine,
 *   'saveForecasts' | 'restoreForecasts' | 'teachForecast' | 'stats'>} Engine
 * @typedef {{ engine: Engine, keptIn: string, keptFiles: Set<{ stop(): Promise<void> }>,
 *   upkeep?: { ring(): void } }} Host upkeep: shows statuses that change while no record comes
 *
 * @typedef {object} Lessons what a node without a file learns from
 * @property {Parameters<typeof teachHistory>[2]} settings of the stage
 * @property {import('./history').Options['seriesNodes']} seriesNodes
 * @property {(sentence: string) => void} info
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
  #warn;
  #show;
  #isOver = false;
  /** What the node learns from, null = from records only. @type {Lessons | null} */
  lessons = null;
  /** Series that were learned from the history, while it is read. @type {{ done: number, of: number } | null} */
  progress = null;
  /** `points` of the stage in the file, and of what is being written. */
  #savedPoints = 0;
  #savingPoints = 0;

  /**
   * @param {Host} host
   * @param {string} id of the node
   * @param {number} stage of the node, which the plan in use has
   * @param {(sentence: string) => void} warn
   * @param {{ intervalMs?: number, lessons?: Lessons | null }} [options]
   */
  constructor({ engine, keptIn, upkeep }, id, stage, warn, { intervalMs, lessons = null } = {}) {
    this.#engine = engine;
    this.#warn = warn;
    this.#show = () => upkeep?.ring();
    this.lessons = lessons;
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
    this.#isOver = false;
    if (this.#counters()?.begun === false) void this.#file.load();
  }

  /** @returns {Promise<void>} */
  save() {
    return this.#file.save();
  }

  /** Ends what is read of the history, so that save() and stop() need not wait for it. */
  endHistory() {
    this.#isOver = true;
  }

  /** @returns {Promise<void>} */
  stop() {
    this.endHistory();
    return this.#file.stop();
  }

  #counters() {
    return this.#engine.stats().stages.find(({ id }) => id === this.#stage)?.forecast;
  }

  /** @param {Buffer | null} content @throws {Error} if it is damaged */
  async #restore(content) {
    for (let at = 0; content;) {
      const page = this.#engine.restoreForecasts(this.#stage, content, at);
      if (page?.result === 'damaged') throw new Error('not rows of forecasts');
      if (page?.result === 'other') break;
      if (page?.result !== 'more') return;
      at = page.at;
      await turn();
    }
    const isSame = await this.#learnHistory();
    if (isSame) this.#engine.restoreForecasts(this.#stage, null, 0);
  }

  /** @returns {Promise<boolean>} false: the stage has another model meanwhile, and is planned again */
  async #learnHistory() {
    const { lessons } = this;
    const { begun, series = 0 } = this.#counters() ?? {};
    // What precedes the damage of a file is not learned twice.
    if (!lessons || begun !== false || series > 0) return true;
    this.progress = { done: 0, of: 0 };
    const start = performance.now();
    let showAt = start;
    const taught = await teachHistory(this.#engine, this.#stage, lessons.settings, {
      seriesNodes: lessons.seriesNodes,
      isOver: () => this.#isOver,
      onProgress: ({ done, of }) => {
        this.progress = { done, of };
        if (performance.now() < showAt) return;
        showAt = performance.now() + SHOW_MS;
        this.#show();
      }
    });
    this.progress = null;
    this.#show();
    if (taught.end === 'model') return false;
    this.#report(taught, performance.now() - start);
    // The plan may have changed in the last moment.
    const nothing = new Float64Array();
    const key = { device: '', topic: '' };
    const { settings } = lessons;
    return this.#engine.teachForecast(this.#stage, settings, key, nothing, nothing, 0) !== 'other';
  }

  /** @param {import('./history').Taught} taught @param {number} ms */
  #report({ done, of, values, end, failure }, ms) {
    const rest = `${of - done} of ${of} series begin with nothing learned`;
    if (end === 'failed')
      this.#warn(`The stored series were not read to the end: ${failure} The node goes on.`);
    else if (end === 'time') this.#warn(`To learn from the stored series took longer than 60 s; ${rest}.`);
    else if (end === 'room') this.#warn(`More series are stored than the node may have; ${rest}.`);
    else if (values > 0 && !this.#isOver)
      this.lessons?.info(`Learned ${values} values of ${done} stored series in ${(ms / 1000).toFixed(1)} s.`);
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
 * @param {Lessons | null} [lessons]
 */
function fileOfNode(host, id, stage, warn, lessons = null) {
  let ofHost = files.get(host);
  if (!ofHost) {
    files.set(host, (ofHost = new Map()));
    const nodes = ofHost;
    void removeForgotten(host.keptIn, (name) => [...nodes.keys()].some((node) => fileOf(node) === name));
  }
  const known = ofHost.get(id);
  if (known) {
    known.lessons = lessons;
    known.planned();
  }
  const file = known ?? new ForecastFile(host, id, stage, warn, { lessons });
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
