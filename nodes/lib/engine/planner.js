'use strict';
// Keeps an engine's plan up to date: compiles it at each deploy, and again when something begins or ends to wait for
// messages (hooks of other packages, metrics). If a plan cannot be applied, the previous one stays in use.

const { compile, logName } = require('./plan-compiler');
const { foreignHook } = require('./message-hooks');
const { outletOf } = require('./outlet');
const { PlanSwap, restsOf } = require('./plan-swap');
const { asError } = require('../base/guard');

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./host').HostContext} HostContext
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Veto} Veto
 * @typedef {import('./pump').Pump} Pump
 * @typedef {import('./pump').Outlet} Outlet
 *
 * @typedef {object} PlannerParts
 * @property {Pump} pump
 * @property {import('./message-hooks').MessageHooks} hooks
 * @property {() => void} resume called when a plan is in use after a deploy
 */

class Planner {
  #host;
  #context;
  #pump;
  #hooks;
  #resume;
  /** @type {Map<number, Outlet>} */
  #outlets;
  /** @type {PlanSwap | null} */
  #swap;
  /** Tenants of the plan in use. @type {import('./broker-links').Divided['tenants']} */
  #tenants = [];
  /** Why all wires carried messages when the plan was compiled. */
  #judged;
  #isClosed;

  /**
   * @param {EngineHost} host
   * @param {HostContext} context
   * @param {PlannerParts} parts
   */
  constructor(host, context, { pump, hooks, resume }) {
    this.#host = host;
    this.#context = context;
    this.#pump = pump;
    this.#hooks = hooks;
    this.#resume = resume;
    this.#outlets = new Map();
    this.#swap = null;
    this.#judged = '';
    this.#isClosed = false;
    /** @type {Plan | null} */
    this.plan = null;
    /** Why the latest plan is not in use, '' = it is. */
    this.refused = '';
  }

  /** @param {number} stage @returns {Outlet | undefined} */
  outletOf(stage) {
    return this.#outlets.get(stage);
  }

  /** True while a plan replaces another one step by step. */
  get isSwapping() {
    return this.#swap !== null;
  }

  /**
   * Keeps a call for later, if plans change now and the order of records depends on it.
   * @param {() => void} call
   * @returns {boolean} false: make the call now
   */
  postpones(call) {
    return this.#swap?.postpones(call) ?? false;
  }

  /** A deploy begins: ends a change of plans at once. */
  hurry() {
    this.#swap?.hurry();
    this.#swap = null;
  }

  /** The engine closes: the plan does not change again. */
  close() {
    this.#isClosed = true;
    this.hurry();
  }

  /** Compiles and applies the plan of a deploy. */
  deploy() {
    if (this.#isClosed) return;
    const { members, uplinks } = this.#host;
    let served = servedBy(members, null);
    const divided = dividedBy(members);
    const isIn = (/** @type {unknown} */ error) => {
      if (this.#isClosed) return;
      if (error) this.#keepOld(asError(error));
      else this.#tenants = divided?.tenants ?? [];
      // A node that was made again continues its stage.
      if (error && this.plan) this.#follow(this.plan);
      for (const member of members) if (member.route) member.listen();
      // Also if the previous plan stays: the threads that parted for this one start again.
      uplinks
        .reconcile(this.#host, served, error && divided ? { ...divided, tenants: this.#tenants } : divided)
        .catch((failure) => this.#context.error(`The uplink did not start: ${failure.message}`));
      this.#resume();
    };
    try {
      const plan = this.#compile(this.#veto());
      // Before the plan is applied, because their records have no route in it.
      for (const member of members) if (plan.routes.get(member.id)?.shut) member.shut();
      served = servedBy(members, plan);
      uplinks.announce(this.#host, served);
      this.#hooks.use(this.#host.deliveries.size > 0 || members.some(({ delivery }) => delivery));
      this.#change(plan, isIn);
    } catch (error) {
      isIn(error);
    }
  }

  /** Judges the wires again. Call it once a second, but not during a deploy. */
  tick() {
    if (!this.plan || this.#swap || this.#isClosed) return;
    const veto = this.#veto();
    if ((veto?.reason ?? '') === this.#judged) return;
    try {
      const plan = this.#compile(veto);
      this.#change(plan, (error) => error && this.#keepOld(asError(error)));
    } catch (error) {
      this.#keepOld(asError(error));
    }
  }

  /** @returns {Veto | null} for all wires */
  #veto() {
    const hook = foreignHook(this.#context.hooks);
    if (hook) {
      return { shown: 'hooks', reason: `another package watches messages (messaging hook ${hook})` };
    }
    if (!this.#context.metric?.()) return null;
    return { shown: 'metrics', reason: 'Node-RED logs metrics of messages' };
  }

  /** @param {Veto | null} veto @returns {Plan} */
  #compile(veto) {
    const { fastPath, members } = this.#host;
    const { getNode, canvas } = this.#context;
    const options = { ...canvas?.(), fastPath, veto };
    this.#judged = veto?.reason ?? '';
    return compile(
      members.map((member) => member.planMember()),
      getNode,
      options
    );
  }

  /**
   * Replaces the plan. `isIn` is called when that is done, with an error if the engine refused the plan.
   * @param {Plan} plan
   * @param {(error?: unknown) => void} isIn
   */
  #change(plan, isIn) {
    const rests = this.plan ? restsOf(this.plan, plan) : new Map();
    if (!this.plan || rests.size === 0) {
      this.#host.engine.applyPlan(plan.spec);
      this.#install(plan);
      return isIn();
    }
    const swap = new PlanSwap(this.#host, this.#pump, this.plan, {
      apply: () => {
        this.#host.engine.applyPlan(plan.spec);
        this.#install(plan, rests);
      },
      end: (error) => {
        if (this.#swap === swap) this.#swap = null;
        if (!error) this.#setOutlets(plan, new Map());
        isIn(error);
      }
    });
    this.#swap = swap;
    swap.start();
  }

  /**
   * @param {Plan} plan that the engine runs
   * @param {Map<number, import('./plan-swap').Rest>} [rests] of messages of the previous plan
   */
  #install(plan, rests = new Map()) {
    const { members, log } = this.#host;
    this.plan = plan;
    this.refused = '';
    this.#follow(plan, rests);
    log?.expect([
      ...members.filter(({ kind }) => kind === 'uplink').map(({ id }) => logName(id)),
      ...members.flatMap(({ division }) => division?.().logNames ?? [])
    ]);
    this.#context.refused?.('');
  }

  /** @param {Plan} plan @param {Map<number, import('./plan-swap').Rest>} [rests] */
  #follow(plan, rests = new Map()) {
    for (const member of this.#host.members) if (plan.routes.has(member.id)) member.follow(plan);
    this.#setOutlets(plan, rests);
  }

  /** @param {Plan} plan @param {Map<number, import('./plan-swap').Rest>} rests */
  #setOutlets(plan, rests) {
    const members = this.#host.members.filter(({ id }) => plan.routes.has(id));
    this.#outlets = new Map(
      members.map((member) => [member.stage, outletOf(member, plan, rests.get(member.stage))])
    );
  }

  /** @param {Error} error */
  #keepOld({ message }) {
    this.refused = message;
    this.#context.error(
      `The wires could not be turned into a plan (${message}). The previous plan stays in use. Nodes that are new take no records until a deploy succeeds.`
    );
    this.#context.refused?.(message);
  }
}

/**
 * Returns the uplink stages. A kafka uplink names the protocol of its source, if there is only one.
 * @param {import('./member').Member[]} members
 * @param {Plan | null} plan
 */
function servedBy(members, plan) {
  return members.flatMap(({ id, stage, uplink }) => {
    if (!uplink) return [];
    const origins = plan?.routes.get(id)?.origins ?? [];
    const source = origins.length === 1 ? plan?.routes.get(origins[0])?.protocol : '';
    const topics = 'envelopeTopic' in uplink.topics ? { ...uplink.topics, source } : uplink.topics;
    return [{ stage, ...uplink, topics }];
  });
}

/**
 * Returns the tenants of the plan, null = it has no tenants node.
 * @param {import('./member').Member[]} members
 * @returns {import('./broker-links').Divided | null}
 */
function dividedBy(members) {
  for (const { tenants: link, division } of members)
    if (link && division) return { link, tenants: division().tenants };
  return null;
}

exports.Planner = Planner;
exports.dividedBy = dividedBy;
