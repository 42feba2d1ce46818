'use strict';
// Copies the flow of a template again into its tenants, one after the other. Each must start with it; at the first that
// does not, the rollout stops, and that tenant gets its old flow back.

const { TenantError, messageOf } = require('../base/errors');
const { readFile } = require('../file/tenants-file');
const { hold } = require('../life/hold');
const { filesOf, keepFlow, putFlow, restoreFlow } = require('./flow');
const { templateOf } = require('./make');

const LOOK_MS = 200;
/** How long each tenant must run with its new flow, seconds. */
const WATCH_S = { standard: 10, min: 0, max: 3600 };

/**
 * @typedef {object} Progress
 * @property {string} template
 * @property {string} by who asked, '' = unknown
 * @property {number} at ms since 1970
 * @property {'running' | 'done' | 'failed'} state
 * @property {number} total tenants
 * @property {number} done tenants that have the flow
 * @property {string} tenant the one that is being worked on, or that failed
 * @property {string} reason why it failed
 */

class Rollouts {
  #home;
  #keeper;
  #isClosed = false;
  /** The latest of each template. @type {Map<string, Progress>} */
  #known = new Map();

  /**
   * @param {object} parts
   * @param {import('../base/home').Home} parts.home
   * @param {import('../life/keeper').Keeper} parts.keeper
   */
  constructor({ home, keeper }) {
    this.#home = home;
    this.#keeper = keeper;
  }

  /** @param {string} template @returns {Progress | null} of the latest one since the keeper started */
  of(template) {
    return this.#known.get(template) ?? null;
  }

  /** The keeper ends. The next one takes the flow back that is being watched. */
  close() {
    this.#isClosed = true;
  }

  /**
   * Begins a rollout. of() has its progress.
   * @param {string} name of the template
   * @param {{ by: string, watchMs: number }} options watchMs: how long each tenant must run
   * @returns {Progress}
   * @throws {Error} it cannot begin
   */
  start(name, { by, watchMs }) {
    const { tenants, templates } = readFile(this.#home.file);
    const template = templateOf(templates, name);
    if (!template.flow)
      throw new TenantError('invalid', `The template ${name} has no flow, so there is nothing to roll out.`);
    const other = [...this.#known.values()].find(({ state }) => state === 'running');
    if (other)
      throw new TenantError('busy', `The rollout of ${other.template} is under way. Wait for its end.`, 5000);
    const files = filesOf(template.flow);
    const names = tenants.filter((each) => each.template === name).map((each) => each.name);
    /** @type {Progress} */
    const progress = {
      ...{ template: name, by, at: Date.now(), state: 'running' },
      ...{ total: names.length, done: 0, tenant: '', reason: '' }
    };
    this.#known.set(name, progress);
    void this.#run(progress, { names, files, watchMs });
    return progress;
  }

  /** @param {Progress} progress @param {{ names: string[], files: Map<string, string>, watchMs: number }} what */
  async #run(progress, { names, files, watchMs }) {
    for (const name of names) {
      if (this.#isClosed) return;
      progress.tenant = name;
      // It was removed meanwhile.
      if (!this.#keeper.names.includes(name)) continue;
      try {
        await this.#update(name, files, watchMs);
        if (this.#isClosed) return;
        progress.done++;
        this.#tell(progress, name, '');
      } catch (error) {
        Object.assign(progress, { state: 'failed', reason: messageOf(error) });
        return this.#tell(progress, name, progress.reason);
      }
    }
    Object.assign(progress, { state: 'done', tenant: '' });
  }

  /** @param {string} name @param {Map<string, string>} files @param {number} watchMs */
  async #update(name, files, watchMs) {
    const tenant = this.#keeper.tenant(name);
    const wasUp = ['starting', 'running', 'paused'].includes(tenant.status.state);
    await this.#whileDown(name, () => putFlow(this.#home, name, files));
    try {
      await tenant.wake({ by: 'operator', isForced: true });
      const end = performance.now() + watchMs;
      while (performance.now() < end) {
        await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        if (this.#isClosed) return;
        if (tenant.failures > 0) throw new Error(`it ended soon after its start: ${tenant.status.reason}`);
      }
    } catch (error) {
      await this.#whileDown(name, () => restoreFlow(this.#home, name));
      const outcome = await tenant.wake({ by: 'operator', isForced: true }).then(
        () => 'It runs with its old flow again',
        (problem) => `With its old flow, it does not start either: ${messageOf(problem).replace(/\.$/, '')}`
      );
      throw new Error(`${messageOf(error).replace(/\.$/, '')}. ${outcome}.`, { cause: error });
    }
    keepFlow(this.#home, name);
    // A user of it may have come meanwhile.
    if (!wasUp) await tenant.sleep().catch(() => {});
  }

  /** @param {string} name @param {() => void} work */
  async #whileDown(name, work) {
    const release = hold(this.#home.state, name);
    try {
      await this.#keeper.tenant(name).sleep({ isForced: true });
      work();
    } finally {
      release();
    }
  }

  /** @param {Progress} progress @param {string} tenant @param {string} reason '' = it has the flow */
  #tell({ template, by }, tenant, reason) {
    const ok = reason === '';
    this.#keeper.announce({ tenant, event: 'updated', template, by, ok, ...(!ok && { reason }) });
  }
}

exports.Rollouts = Rollouts;
exports.WATCH_S = WATCH_S;
