'use strict';
// Replaces a plan by one in which the carriage of wires differs, without loss, in order, and without a second copy.
//
// Messages of the old plan are on their way in Node-RED and in the engine's rings while records of the new plan would
// pass natively. Therefore:
//
//   1 hold     Devices are not read, and what other flows bring in waits in the inbox.
//   2 settle   Messages between two nodes of the engine arrive, and run through the old plan.
//   3 apply    The engine changes plans. What it still sends of the old one is in its rings.
//   4 deliver  Those messages, the ones farthest downstream first, go where they have not been: into the stages that
//              now follow natively, and along the wires that carry messages.
//   5 release
//
// A message in a node of another package, such as a delay node, takes its own time and is not waited for.

const { frameStage } = require('../base/frame');

/** Turns of the event loop in which a message crosses a wire, besides one for each node on it. */
const TURNS = 3;
/** Priority and tap nodes in a row that a message may cross. */
const MOST_RELAYS = 16;
/** Longest time to settle, and longest time to deliver. */
const SETTLE_MS = 1000;
const DELIVER_MS = 5000;
const FRAMES_PER_TURN = 500;
/** Calls that wait for the end. More are made at once. */
const MOST_POSTPONED = 10000;

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Route} Route
 * @typedef {import('./pump').Pump} Pump
 *
 * @typedef {object} SwapSteps
 * @property {() => void} apply throws if the engine refuses the plan
 * @property {(error?: unknown) => void} end called once, unless the swap is hurried before `apply`
 */

/** Returns at the end of a turn of the event loop. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

class PlanSwap {
  #host;
  #pump;
  #before;
  #steps;
  /** Messages of the old plan. @type {Buffer[]} */
  #left;
  /** @type {(() => void)[]} */
  #postponed;
  #isApplied;
  #isOver;

  /**
   * @param {EngineHost} host
   * @param {Pump} pump
   * @param {Plan} before
   * @param {SwapSteps} steps
   */
  constructor(host, pump, before, steps) {
    this.#host = host;
    this.#pump = pump;
    this.#before = before;
    this.#steps = steps;
    this.#left = [];
    this.#postponed = [];
    this.#isApplied = false;
    this.#isOver = false;
  }

  start() {
    void this.#run().catch((error) => this.#end(error));
  }

  /** @param {() => void} call @returns {boolean} true: it is made at the end */
  postpones(call) {
    if (!this.#isApplied || this.#isOver || this.#postponed.length >= MOST_POSTPONED) return false;
    this.#postponed.push(call);
    return true;
  }

  /** Ends the swap at once. Before `apply` the old plan stays; later, all messages are delivered now. */
  hurry() {
    if (this.#isOver) return;
    for (const frame of this.#left.splice(0)) this.#pump.send(frame, 0);
    this.#release();
    if (this.#isApplied) this.#steps.end();
  }

  async #run() {
    const { engine, inbox } = this.#host;
    const origins = new Set(
      [...this.#before.routes.values()]
        .filter(({ kind }) => kind === 'source' || kind === 'ingest')
        .map(({ stage }) => stage)
    );
    this.#pump.paused = true;
    engine.holdReading(true);
    inbox.holds = (stage) => origins.has(stage);
    await this.#settle(SETTLE_MS);
    if (this.#isOver) return;
    inbox.holds = () => true;
    this.#steps.apply();
    this.#isApplied = true;
    this.#left = this.#downstreamFirst(this.#pump.takeAll());
    const until = performance.now() + DELIVER_MS;
    while (this.#left.length > 0 && !this.#isOver) {
      if (!inbox.isBusy || performance.now() > until) {
        for (const frame of this.#left.splice(0, FRAMES_PER_TURN)) this.#pump.send(frame, 0);
      }
      inbox.run();
      await turn();
    }
    await this.#settle(DELIVER_MS);
    if (!this.#isOver) this.#end();
  }

  /** Waits until messages have crossed their wires and the engine has taken them. @param {number} timeoutMs */
  async #settle(timeoutMs) {
    const { inbox } = this.#host;
    const until = performance.now() + timeoutMs;
    // Priority and tap nodes send a message on in JavaScript, so one message may cross several wires.
    const relays = [...this.#before.routes.values()].filter(
      ({ kind }) => kind === 'priority' || kind === 'tap'
    ).length;
    const most = TURNS + this.#before.hops * (1 + Math.min(relays, MOST_RELAYS));
    for (let turns = 0; turns < most && !this.#isOver; turns++) {
      await turn();
      inbox.run();
      if (inbox.isBusy && performance.now() < until) turns = 0;
    }
  }

  /** @param {unknown} [error] */
  #end(error) {
    if (this.#isOver) return;
    this.#release();
    this.#steps.end(error);
  }

  #release() {
    this.#isOver = true;
    const { engine, inbox } = this.#host;
    // What waits farther downstream was sent earlier.
    const held = new Set(this.#order());
    inbox.holds = (stage) => held.has(stage);
    for (const stage of held) {
      held.delete(stage);
      inbox.run();
    }
    inbox.holds = () => false;
    inbox.run();
    for (const call of this.#postponed.splice(0)) call();
    engine.holdReading(false);
    this.#pump.paused = false;
  }

  /** @param {Buffer[]} frames @returns {Buffer[]} sorted by their stages; those of one stage stay in order */
  #downstreamFirst(frames) {
    const places = new Map(this.#order().map((stage, index) => [stage, index]));
    const place = (/** @type {Buffer} */ frame) => places.get(frameStage(frame, 0)) ?? 0;
    return frames.sort((one, other) => place(one) - place(other));
  }

  /** @returns {number[]} stages of the old plan, those farthest downstream first */
  #order() {
    const { routes } = this.#before;
    /** @type {number[]} */
    const stages = [];
    /** @type {Set<string>} */
    const seen = new Set();
    const visit = (/** @type {string} */ id) => {
      const route = routes.get(id);
      if (!route || seen.has(id)) return;
      seen.add(id);
      for (const { to } of route.wires) visit(to);
      stages.push(route.stage);
    };
    for (const id of routes.keys()) visit(id);
    return stages;
  }
}

/**
 * Where messages of the previous plan go: everywhere, but where their records have already gone natively.
 * @typedef {{ enter: number[], send: string[] }} Rest enter: stages that now follow natively; send: ids of nodes
 */

/**
 * Returns where the messages of each stage of the previous plan go, if it is not simply where the next ones go.
 * @param {Plan} before
 * @param {Plan} after
 * @returns {Map<number, Rest>} by stage; empty: the plan can be replaced in one step
 */
function restsOf(before, after) {
  /** @type {Map<number, Rest>} */
  const rests = new Map();
  for (const route of after.routes.values()) {
    const old = before.routes.get(route.id);
    if (!old?.jsWires.some((port) => port.length > 0)) continue;
    const rest = restOf(old, route);
    if (rest.enter.length > 0 || rest.send.join() !== (route.jsWires[0] ?? []).join())
      rests.set(route.stage, rest);
  }
  return rests;
}

/** @param {Route} old @param {Route} now @returns {Rest} */
function restOf(old, now) {
  const gone = old.ways.filter(({ stage }) => stage > 0);
  /** @type {Rest} */
  const rest = { enter: [], send: [] };
  for (const place of new Set(now.ways.map((way) => way.place))) {
    const ways = now.ways.filter((way) => way.place === place);
    const [{ wire }] = ways;
    const left = ways.filter((way) => {
      const index = gone.findIndex(({ wire: from, to }) => from === wire && to === way.to);
      if (index >= 0) gone.splice(index, 1);
      return index < 0;
    });
    rest.enter.push(...left.flatMap(({ stage }) => (stage > 0 ? [stage] : [])));
    const messages = left.filter(({ stage }) => stage === 0);
    // The nodes on the way get the message, too, unless a part of them had the record natively.
    if (messages.length === ways.length) rest.send.push(wire);
    else rest.send.push(...messages.map(({ to }) => to));
  }
  return rest;
}

exports.PlanSwap = PlanSwap;
exports.restsOf = restsOf;
