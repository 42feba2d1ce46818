'use strict';
// The operator's view of a gateway's tenants, and the actions on one tenant. It reads the keeper only while a viewer
// shows tenants.

const { KeeperError } = require('../keeper/keeper-error');
const { Reading } = require('./reading');
const { countsOf, pageOf, rowsOf } = require('./tenant-rows');
const { whyOf } = require('./why');

/** Longest wait for the end of an action; it continues after that, and the page shows its result. */
const WAIT_MS = 20000;
/** Actions that are under way at a time. */
const MAX_BUSY = 64;
/** Tenants with metrics of their own: each has several time series. */
const MAX_FIGURES = 100;
/** Several viewers share the rows of this time, ms. */
const SHARED_MS = 500;

/**
 * @typedef {import('../../live/live-query').TenantQuery} TenantQuery
 * @typedef {import('./tenant-rows').OperatorRow} OperatorRow
 * @typedef {'wake' | 'sleep' | 'backup' | 'add' | 'remove'} Action
 * @typedef {{ force?: boolean, template?: string, by?: string }} ActionOptions force: let it sleep, or remove it,
 *   although it is in use; template: what a new tenant is made of; by: who asks
 *
 * @typedef {object} Front a tenants node, as the page sees it
 * @property {() => Pick<import('./tenant-rows').Known, 'front' | 'parts' | 'perS' | 'names'>} known
 * @property {() => Promise<{ name: string, classes: Record<number, number> }[]>} stored records in the log
 * @property {() => string} problem why the tenants file is not in use, '' = it is
 */

/** Of a gateway that has a keeper, but no tenants node. @type {Front} */
const NO_FRONT = {
  known: () => ({ front: new Map(), parts: new Map(), perS: () => null, names: [] }),
  stored: async () => [],
  problem: () => ''
};

class TenantsView {
  #keeper;
  #front;
  #list;
  #stored;
  #templates;
  #now;
  #waitMs;
  /** @type {Map<string, string>} by name of the tenant */
  #busy = new Map();
  /** @type {{ at: number, rows: OperatorRow[] }} */
  #shared = { at: -Infinity, rows: [] };

  /**
   * @param {object} parts
   * @param {string} parts.id in the addresses of the admin API
   * @param {import('../keeper/keeper-client').KeeperClient} parts.keeper
   * @param {Front} [parts.front]
   * @param {() => number} [parts.now] ms
   * @param {number} [parts.waitMs]
   */
  constructor({ id, keeper, front = NO_FRONT, now = () => performance.now(), waitMs = WAIT_MS }) {
    this.id = id;
    this.#keeper = keeper;
    this.#front = front;
    this.#now = now;
    this.#waitMs = waitMs;
    this.#list = new Reading(
      async () => /** @type {import('./tenant-rows').KeeperRow[]} */ (await keeper.tenants()),
      now
    );
    this.#stored = new Reading(() => front.stored(), now);
    this.#templates = new Reading(async () => keeper.templates(), now);
  }

  /**
   * @param {TenantQuery} query
   * @param {number} strangers records that were refused because they had no tenant
   * @returns {object} see docs/use/tenants.md
   */
  page(query, strangers) {
    const { error, ageMs, value } = this.#list.get();
    const rows = this.#rows();
    return {
      node: this.id,
      keeperProblem: error?.message ?? '',
      fileProblem: this.#front.problem(),
      // Without an answer so far, the states are unknown.
      isRead: value !== null || error !== null,
      ageMs,
      strangers,
      // A keeper of an earlier release has none.
      templates: this.#templates.get().value ?? [],
      known: rows.length,
      counts: countsOf(rows),
      show: query.show,
      ...pageOf(rows, query),
      chosen: query.chosen ? (rows.find(({ name }) => name === query.chosen) ?? null) : null
    };
  }

  /**
   * Returns the figures of single tenants for the metrics, those of the keeper as of the previous call or page: this
   * call begins to ask it again.
   * @returns {{ rows: OperatorRow[], leftOut: number }} the first ones by name
   */
  figures() {
    this.#list.get();
    const rows = [...this.#rows()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return { rows: rows.slice(0, MAX_FIGURES), leftOut: Math.max(0, rows.length - MAX_FIGURES) };
  }

  #rows() {
    const now = this.#now();
    if (now - this.#shared.at >= SHARED_MS) {
      const stored = this.#stored.get().value ?? [];
      const classes = new Map(stored.map((each) => [each.name, each.classes]));
      const known = { ...this.#front.known(), stored: classes };
      this.#shared = { at: now, rows: rowsOf(this.#list.get().value, known, this.#busy) };
    }
    return this.#shared.rows;
  }

  /**
   * Wakes a tenant, lets it sleep, makes its backup, makes it, or removes it.
   * @param {Action} action
   * @param {string} name
   * @param {ActionOptions} [options]
   * @returns {Promise<{ isDone: boolean }>} with what the keeper answered; isDone: false = it takes longer, and goes on
   * @throws {KeeperError}
   */
  async act(action, name, options = {}) {
    const other = this.#busy.get(name);
    // A tenant that starts can be stopped.
    if (other && !(action === 'sleep' && other === 'wake'))
      throw new KeeperError(`${name} is busy (${other}). Wait until that has ended.`, { code: 'busy' });
    if (this.#busy.size >= MAX_BUSY)
      throw new KeeperError('Too many actions are under way. Try again later.', { code: 'busy' });
    this.#busy.set(name, action);
    this.#shared.at = -Infinity;
    const work = this.#order(action, name, options).finally(() => {
      if (this.#busy.get(name) === action) this.#busy.delete(name);
      this.#shared.at = -Infinity;
      void this.#list.refresh();
      if (action === 'add' || action === 'remove') void this.#templates.refresh();
    });
    work.catch(() => {});
    /** @type {NodeJS.Timeout | undefined} */
    let timer;
    const late = new Promise((resolve) => {
      timer = setTimeout(() => resolve({ isDone: false }), this.#waitMs);
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param {Action} action @param {string} name @param {ActionOptions} options */
  async #order(action, name, { force = false, template = '', by = '' }) {
    const keeper = this.#keeper;
    const answer = await {
      wake: () => keeper.wake(name),
      backup: () => keeper.backup(name),
      sleep: () => keeper.sleep(name, { force }),
      add: () => keeper.add(name, { template, by }),
      remove: async () => {
        if (!force) await this.#refuseWaiting(name);
        await keeper.remove(name, { force, by });
      }
    }[action]();
    return { isDone: true, ...answer };
  }

  /** The keeper does not know of the records in the front's log. @param {string} name */
  async #refuseWaiting(name) {
    const stored = (await this.#front.stored()).find((each) => each.name === name);
    const count = Object.values(stored?.classes ?? {}).reduce((all, each) => all + each, 0);
    const bytes = this.#front.known().parts.get(name)?.waitingBytes ?? 0;
    if (count === 0 && bytes === 0) return;
    throw new KeeperError(
      `Records of ${name} wait (${count} in the log, ${Math.ceil(bytes / 1024)} KiB in all). They stay in the log if it is removed.`,
      { code: 'waiting' }
    );
  }

  /**
   * Begins to copy the flow of a template into its tenants; the page shows the progress.
   * @param {string} template
   * @param {{ by: string }} options
   */
  async rollout(template, options) {
    await this.#keeper.rollout(template, options);
    void this.#templates.refresh();
    return {};
  }

  /**
   * Tells why records of a tenant wait, as the gateway and the keeper see it.
   * @param {string} name
   * @returns {Promise<{ tenant: string, code: string, text: string, keeper: { code: string, text: string } }>}
   */
  async why(name) {
    const { front, parts, names } = this.#front.known();
    const [keeper, stored] = await Promise.all([
      this.#keeper.why(name).catch((error) => ({ code: error.code || 'away', text: error.message })),
      this.#front.stored()
    ]);
    const classes = stored.find((each) => each.name === name)?.classes ?? {};
    const seen = {
      name,
      isDivided: this.#front !== NO_FRONT,
      isKnown: names.includes(name),
      front: front.get(name),
      part: parts.get(name),
      stored: Object.values(classes).reduce((all, count) => all + count, 0)
    };
    return { tenant: name, ...whyOf(seen), keeper };
  }

  /** @returns {Promise<object[]>} what tenants can be made of, with the progress of rollouts */
  templates() {
    return this.#keeper.templates();
  }

  /** @param {string} name @param {number} lines @returns {Promise<string>} */
  logs(name, lines) {
    return this.#keeper.logs(name, lines);
  }
}

exports.TenantsView = TenantsView;
