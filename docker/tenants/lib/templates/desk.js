'use strict';
// What the keeper's socket may change of the tenants: it makes tenants of templates, removes those, and rolls flows
// out. It never chooses an image, a command or a limit.

const { CliError, TenantError } = require('../base/errors');
const { changeTenants, readFile } = require('../file/tenants-file');
const { hold } = require('../life/hold');
const { removeOldFlow } = require('./flow');
const { makeTenant } = require('./make');
const { removedData, setAside } = require('./removed');
const { Rollouts } = require('./rollout');

/** Changes that wait for each other. */
const MAX_WAITING = 8;
/** Time for an orderly end of a tenant that is removed. */
const GRACE_MS = 30_000;

class TemplateDesk {
  #home;
  #keeper;
  #driver;
  #waiting = 0;
  /** @type {Promise<unknown>} */
  #tail = Promise.resolve();

  /**
   * @param {object} parts
   * @param {import('../base/home').Home} parts.home
   * @param {import('../life/keeper').Keeper} parts.keeper
   * @param {(name: string) => import('../drivers/driver').Driver} parts.driver
   */
  constructor({ home, keeper, driver }) {
    this.#home = home;
    this.#keeper = keeper;
    this.#driver = driver;
    this.rollouts = new Rollouts({ home, keeper });
  }

  /** @returns {object[]} the templates, without what only the operator of the machine may know */
  list() {
    const { tenants, templates } = readFile(this.#home.file);
    return templates.map(({ name, spec, flow, most }) => {
      const own = tenants.filter((each) => each.template === name);
      return {
        ...{ name, driver: spec.driver, image: spec.image, hasFlow: flow !== '', most },
        ...{ tenants: own.length, made: own.filter((each) => each.byApi).length },
        rollout: this.rollouts.of(name)
      };
    });
  }

  /**
   * @param {{ name: string, template: string, by: string }} wanted
   * @returns {Promise<{ name: string, template: string }>}
   */
  add({ name, template, by }) {
    return this.#inTurn(async () => {
      await makeTenant({ home: this.#home, driver: this.#driver }, { name, template, byApi: true });
      this.#keeper.announce({ tenant: name, event: 'added', template, by });
      await this.#keeper.apply(readFile(this.#home.file).tenants);
      return { name, template };
    });
  }

  /**
   * Removes a tenant that was made here. Its data are set aside.
   * @param {string} name
   * @param {{ isForced: boolean, by: string }} options isForced: although it is in use
   * @returns {Promise<{ removed: string, data: string }>} data: where they are
   */
  remove(name, { isForced, by }) {
    return this.#inTurn(async () => {
      const tenant = this.#keeper.tenant(name);
      const { volumes, state, file } = this.#home;
      const { tenants, templates } = readFile(file);
      if (!tenants.some((each) => each.name === name && each.byApi))
        throw new TenantError(
          'limit',
          `${name} was added by the command, which alone removes it: seganet-tenants remove ${name}`
        );
      const most = templates.reduce((sum, each) => sum + each.most, 0);
      if (removedData(volumes).length >= most)
        throw new TenantError(
          'limit',
          `${volumes} keeps the data of ${removedData(volumes).length} removed tenants, which is the most. Delete some on the machine: seganet-tenants remove NAME --delete-data`
        );
      const { spec } = tenant.status;
      const release = hold(state, name);
      try {
        await tenant.sleep({ isForced });
        const engine = this.#driver(spec.driver);
        await engine.stop(spec, GRACE_MS);
        await engine.remove(spec, { hasData: false });
        const left = changeTenants(file, (all) => all.filter((each) => each.name !== name));
        removeOldFlow(this.#home, name);
        const data = setAside(volumes, name);
        await this.#keeper.apply(left);
        this.#keeper.announce({ tenant: name, event: 'removed', by });
        return { removed: name, data };
      } finally {
        release();
      }
    });
  }

  /** @param {string} name of a template @param {{ by: string, watchMs: number }} options */
  rollout(name, options) {
    return this.#inTurn(async () => this.rollouts.start(name, options));
  }

  /** @template T @param {() => Promise<T>} work @returns {Promise<T>} */
  #inTurn(work) {
    if (this.#waiting >= MAX_WAITING)
      return Promise.reject(
        new TenantError('busy', 'Too many changes wait. Try again in some seconds.', 5000)
      );
    this.#waiting++;
    const run = this.#tail.then(work).catch((error) => {
      // For programs, with a code; the sentence is for people already.
      throw error instanceof CliError ? new TenantError('failed', error.message) : error;
    });
    this.#tail = run.catch(() => {}).finally(() => this.#waiting--);
    return run;
  }
}

exports.TemplateDesk = TemplateDesk;
