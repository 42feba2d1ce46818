'use strict';
// Sends one snapshot a second to each viewer of the live stream. Without a viewer there is no timer, and nothing is
// read or computed. What viewers of one engine share is computed and serialized once.

const { guard } = require('../base/guard');
const { EngineView } = require('./snapshot');
const { Viewer } = require('./viewer');

const INTERVAL_MS = 1000;
/** Most viewers at a time. */
const MAX_VIEWERS = 16;

/**
 * @typedef {import('../engine/host').EngineHost} EngineHost
 * @typedef {import('./live-query').LiveQuery} LiveQuery
 *
 * @typedef {object} LiveEngine a deployed engine
 * @property {string} id of the node
 * @property {string} name
 * @property {EngineHost | null} host null = not running
 * @property {string} reason why it is not running, '' = it runs
 * @property {() => { ok: boolean, reason: string }} health as /seganet/readyz, for this engine alone
 *
 * @typedef {{ text: string, host: EngineHost }} Shared text: JSON object of the engine's snapshot, without devices
 */

class LiveStream {
  #engines;
  #now;
  #intervalMs;
  #onFault;
  #additions;
  #events;
  /** @type {Set<Viewer>} */
  #viewers;
  /** Engines that a viewer has selected, by id. @type {Map<string, EngineView>} */
  #views;
  /** Snapshots of this second, by engine id. @type {Map<string, Shared>} */
  #shared;
  /** @type {NodeJS.Timeout | null} */
  #timer;

  /**
   * @param {() => LiveEngine[]} engines
   * @param {{ onFault?: (error: Error) => void, now?: () => number, intervalMs?: number,
   *   additions?: () => import('./snapshot').MakeLiveAddition[], events?: () => object }} [options] onFault: reports an
   *   error in this code, which has no caller; now: ms; additions: of capabilities; events: see EventBook.summary()
   */
  constructor(engines, options = {}) {
    const { onFault = () => {}, now = () => performance.now(), intervalMs = INTERVAL_MS } = options;
    this.#additions = options.additions ?? (() => []);
    this.#events = options.events ?? (() => ({}));
    this.#onFault = onFault;
    this.#engines = engines;
    this.#now = now;
    this.#intervalMs = intervalMs;
    this.#viewers = new Set();
    this.#views = new Map();
    this.#shared = new Map();
    this.#timer = null;
  }

  /** Viewers that are connected. */
  get size() {
    return this.#viewers.size;
  }

  get isFull() {
    return this.#viewers.size >= MAX_VIEWERS;
  }

  /**
   * Adds a viewer and sends its first snapshot at once. REQUIRES: not isFull.
   * @param {import('node:http').ServerResponse} response
   * @param {LiveQuery} query
   * @param {boolean} [mayWrite] true: the login of the viewer may also change something
   */
  add(response, query, mayWrite = true) {
    const onClose = () => this.#remove(viewer);
    /** @type {Viewer} */
    const viewer = new Viewer(response, query, { now: this.#now, onClose });
    viewer.mayWrite = mayWrite;
    this.#viewers.add(viewer);
    this.#timer ??= setInterval(() => this.#tick(), this.#intervalMs).unref();
    this.#send(viewer, this.#engines());
  }

  /** @param {Viewer} viewer */
  #remove(viewer) {
    this.#viewers.delete(viewer);
    if (this.#viewers.size > 0) return;
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
    this.#views.clear();
    this.#shared.clear();
  }

  #tick() {
    this.#shared.clear();
    const engines = this.#engines();
    const used = new Set();
    for (const viewer of this.#viewers) {
      const chosen = chosenOf(engines, viewer.query);
      if (chosen) used.add(chosen.id);
      if (viewer.isReady) this.#send(viewer, engines);
      if (viewer.isOver()) viewer.end();
    }
    for (const id of this.#views.keys()) if (!used.has(id)) this.#views.delete(id);
  }

  /**
   * Sends the newest snapshot. An error ends this connection and nothing else.
   * @param {Viewer} viewer
   * @param {LiveEngine[]} engines
   */
  #send(viewer, engines) {
    guard(
      () => this.#write(viewer, engines),
      (error) => {
        viewer.end();
        this.#onFault(error);
      }
    );
  }

  /**
   * @param {Viewer} viewer
   * @param {LiveEngine[]} engines
   */
  #write(viewer, engines) {
    const list = engines.map(({ id, name, host, reason }) => ({ id, name, running: host !== null, reason }));
    const chosen = chosenOf(engines, viewer.query);
    const { mayWrite } = viewer;
    const events = this.#events();
    const head = JSON.stringify({
      at: Date.now(),
      engines: list,
      engine: chosen?.id ?? null,
      mayWrite,
      events
    });
    const shared = chosen?.host ? this.#sharedOf(chosen, chosen.host) : null;
    if (!chosen || !shared) return viewer.send('snapshot', head);
    const view = /** @type {EngineView} */ (this.#views.get(chosen.id));
    const pages = JSON.stringify(view.pages(viewer.query));
    // One object of the members of three.
    const members = [head, shared.text, pages].map((json) => json.slice(1, -1));
    viewer.send('snapshot', `{${members.join(',')}}`);
    const { history } = shared.host.upkeep;
    const version = `${chosen.id} ${history.written}`;
    if (viewer.history === version) return;
    viewer.history = version;
    viewer.send('history', JSON.stringify({ engine: chosen.id, ...history.view() }));
  }

  /**
   * @param {LiveEngine} engine
   * @param {EngineHost} host of it
   * @returns {Shared}
   */
  #sharedOf({ id, health }, host) {
    const done = this.#shared.get(id);
    if (done?.host === host) return done;
    let view = this.#views.get(id);
    if (view?.host !== host) {
      view = new EngineView(host, this.#now, this.#additions());
      this.#views.set(id, view);
    }
    const { ok, reason } = health();
    const shared = { text: JSON.stringify({ health: { ok, reason }, ...view.read() }), host };
    this.#shared.set(id, shared);
    return shared;
  }
}

/**
 * @param {LiveEngine[]} engines
 * @param {LiveQuery} query
 * @returns {LiveEngine | undefined}
 */
function chosenOf(engines, { engine }) {
  return engine ? engines.find(({ id }) => id === engine) : engines[0];
}

exports.LiveStream = LiveStream;
exports.MAX_VIEWERS = MAX_VIEWERS;
