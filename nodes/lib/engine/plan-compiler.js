'use strict';
// Compiles the live wires of one engine's nodes into the engine's plan. Pure: no RED, no side effects.
//
// A wire between two nodes of the same engine is native. Every other wire carries messages. Nodes that only pass
// messages on are transparent (wire-targets.js). A wire that closes a loop carries messages, because native stages pass
// records on immediately. So does a wire where something waits for messages: see `vetoOf`.

const crypto = require('node:crypto');
const { shutBy } = require('./plan-takers');
const { WireTargets } = require('./wire-targets');

/**
 * @typedef {import('../../../native/index.js').PlanSpec} PlanSpec
 * @typedef {import('../../../native/index.js').StageSpec} StageSpec
 * @typedef {StageSpec['kind']} Kind
 * @typedef {'native' | 'message' | 'both' | 'none'} Carriage
 *
 * @typedef {object} PlanMember one node of the engine
 * @property {string} id of the Node-RED node
 * @property {number} stage
 * @property {Kind} kind
 * @property {string} [protocol] of a source or ingest
 * @property {object} settings the stage's own fields of StageSpec
 * @property {string[][]} wires as drawn, by output
 * @property {boolean} [asMessages] true: the user wants its output as messages
 * @property {import('../tenants/front/division').Division} [division] its stages that are not on the canvas
 * @property {boolean} [tenant] of a source: true: its device ids begin with a tenant that was proven
 *
 * @typedef {object} Veto why a wire between two nodes of the engine carries messages
 * @property {string} shown a word for the status; '' = the nodes' kinds or the drawing are the reason
 * @property {string} reason for the plan view
 *
 * @typedef {object} WireView one wire, as the plan view shows it
 * @property {string} to id of the node behind junctions, link nodes and subflows
 * @property {'native' | 'message'} carriage
 * @property {string} reason why it is not native, else ''
 *
 * @typedef {{ shown: string, sentence: string }} Trouble shown: for the status; sentence: for the log, with a remedy
 *
 * @typedef {object} Route one member's part of the plan
 * @property {string} id
 * @property {number} stage
 * @property {Kind} kind
 * @property {string} [protocol]
 * @property {Carriage} carriage
 * @property {number[]} next stages that receive its output natively
 * @property {string[]} nativeWires drawn wires (node ids) on which the node must not send messages
 * @property {string[][]} jsWires wires that carry messages, by output
 * @property {WireView[]} wires
 * @property {{ place: number, wire: string, to: string, stage: number }[]} ways from output 1; place: of the drawn wire
 *   among them; stage 0: as messages
 * @property {string} veto word of the first veto among its wires, '' = none
 * @property {string[]} origins ids of the sources and ingests that reach it natively (its own, if it is one)
 * @property {Trouble | null} shut why it must not accept records, null = it may
 *
 * @typedef {import('./wire-targets').GetNode} GetNode
 * @typedef {Omit<import('./wire-targets').Canvas, 'getNode'>} CanvasParts
 * @typedef {CanvasParts & { fastPath: 'auto' | 'off', veto?: Veto | null }} Options veto: for all wires
 * @typedef {{ to: string, veto: Veto | null }} Way from a node to another; null: native
 * @typedef {{ spec: PlanSpec, routes: Map<string, Route>, hops: number }} Plan hops: most nodes that a message crosses
 *   between two nodes of the engine, or to another one
 */

/** Longest name of an uplink stage in the log, bytes. */
const MAX_NAME_BYTES = 64;

const NATIVE_TARGETS = ['priority', 'filter', 'forecast', 'batch', 'uplink', 'tap', 'split'];
/** @type {Veto} */
const OUTSIDE = { shown: '', reason: 'not a node of this engine' };
/** @type {Veto} */
const LOOP = { shown: '', reason: 'closes a loop' };
/** A record takes each way, as a message does. @type {Veto} */
const SECOND = { shown: '', reason: 'a second way to the same node' };
/** @type {Veto} */
const MANY = { shown: '', reason: 'too many ways lead from it' };

/**
 * @param {Kind} from
 * @param {Kind} to
 * @returns {string} why a wire between the two cannot be native, '' if it can
 */
function misfit(from, to) {
  if (!NATIVE_TARGETS.includes(to)) return `${to} reads messages`;
  if (from === 'batch' && to !== 'uplink') return 'batches go natively to uplinks only';
  return '';
}

/**
 * Returns why a wire to a node must carry messages although it could be native: someone waits for its messages.
 * @param {PlanMember} from
 * @param {string} waiter name of a Complete node, '' = none
 * @param {Options} options
 * @returns {Veto | null}
 */
function vetoOf(from, waiter, { fastPath, veto = null }) {
  if (fastPath === 'off') return { shown: 'fast path off', reason: 'the fast path is off' };
  if (veto) return veto;
  if (from.asMessages) return { shown: 'chosen', reason: 'the node is set to carry messages' };
  // A node completes messages, not records, so the Complete node would wait in vain.
  return waiter ? { shown: 'complete', reason: `the Complete node "${waiter}" waits for messages` } : null;
}

/**
 * Returns the wires that would close a native loop, found depth first in the order of the stages.
 * @param {Map<string, string[]>} edges native targets by node id
 * @returns {Set<string>} "from to"
 */
function loopClosers(edges) {
  /** @type {Set<string>} */
  const closers = new Set();
  /** @type {Map<string, 'open' | 'done'>} */
  const state = new Map();
  /** @param {string} id */
  const visit = (id) => {
    state.set(id, 'open');
    for (const to of edges.get(id) ?? []) {
      if (state.get(to) === 'open') closers.add(`${id} ${to}`);
      else if (!state.has(to)) visit(to);
    }
    state.set(id, 'done');
  };
  for (const id of edges.keys()) if (!state.has(id)) visit(id);
  return closers;
}

/**
 * @param {PlanMember} member
 * @param {(from: PlanMember, wire: string) => Way[]} waysOf
 * @param {Map<string, PlanMember>} members
 * @returns {Route}
 */
function routeOf(member, waysOf, members) {
  const [first = [], ...others] = member.wires;
  /** @type {WireView[]} */
  const wires = [];
  /** @type {string[]} */
  const nativeWires = [];
  /** @type {string[]} */
  const js = [];
  /** @type {Set<string>} */
  const taken = new Set();
  let shownVeto = '';
  /** @type {Route['ways']} */
  const ways = [];
  for (const [place, wire] of first.entries()) {
    const targets = waysOf(member, wire).map(({ to, veto }) => ({
      to,
      veto: veto ?? (taken.has(to) ? SECOND : null)
    }));
    for (const [index, target] of targets.entries()) {
      if (!target.veto && targets.findIndex(({ to }) => to === target.to) < index) target.veto = SECOND;
      const { to, veto } = target;
      if (!veto) taken.add(to);
      ways.push({ place, wire, to, stage: veto ? 0 : (members.get(to)?.stage ?? 0) });
      shownVeto ||= veto?.shown ?? '';
      wires.push({ to, carriage: veto ? 'message' : 'native', reason: veto?.reason ?? '' });
    }
    const messages = targets.filter(({ veto }) => veto).map(({ to }) => to);
    if (messages.length < targets.length || targets.length === 0) {
      nativeWires.push(wire);
      js.push(...messages);
    } else {
      js.push(wire);
    }
  }
  const next = [...taken].map((to) => /** @type {PlanMember} */ (members.get(to)).stage);
  const carriage = next.length ? (js.length ? 'both' : 'native') : js.length ? 'message' : 'none';
  const jsWires = member.wires.length ? [js, ...others] : [];
  const { id, stage, kind, protocol } = member;
  const origins = /** @type {string[]} */ ([]);
  const view = {
    carriage: /** @type {Carriage} */ (carriage),
    wires,
    veto: shownVeto,
    ways,
    origins,
    shut: null
  };
  return { id, stage, kind, protocol, next, nativeWires, jsWires, ...view };
}

/**
 * @param {PlanMember} member
 * @param {Trouble} shut
 * @returns {Route} without a destination
 */
function shutRoute(member, shut) {
  const { id, stage, kind, protocol, wires } = member;
  const jsWires = wires.map(() => []);
  return {
    id,
    stage,
    kind,
    protocol,
    carriage: 'none',
    next: [],
    nativeWires: wires.flat(),
    jsWires,
    wires: [],
    veto: '',
    ways: [],
    origins: [],
    shut
  };
}

/**
 * Sets the origins of each route, as far as native wires determine them.
 * @param {Map<string, Route>} routes
 */
function traceOrigins(routes) {
  for (const origin of routes.values()) {
    if (origin.kind !== 'source' && origin.kind !== 'ingest') continue;
    const todo = [origin.id];
    const seen = new Set(todo);
    for (let id = todo.pop(); id !== undefined; id = todo.pop()) {
      const route = /** @type {Route} */ (routes.get(id));
      route.origins.push(origin.id);
      for (const { to, carriage } of route.wires) {
        if (carriage === 'native' && !seen.has(to)) {
          seen.add(to);
          todo.push(to);
        }
      }
    }
  }
}

/**
 * Returns the name under which the log keeps the records of an uplink node, and the sessions of a source.
 * @param {string} id of the Node-RED node; it is long for a node in nested subflows
 * @returns {string} 1 to 64 bytes, the same at each start
 */
function logName(id) {
  if (Buffer.byteLength(id) <= MAX_NAME_BYTES) return id;
  return crypto.createHash('sha256').update(id).digest('hex');
}

/**
 * Returns what each wire leads to, and why it is not native.
 * @param {Map<string, PlanMember>} members
 * @param {WireTargets} targets
 * @param {Options} options
 * @returns {(from: PlanMember, wire: string) => Way[]}
 */
function judge(members, targets, options) {
  const { waiterOf = () => '' } = options;
  return (from, wire) => {
    const behind = targets.behind(wire);
    // The message wire itself leads to all of them.
    if (!behind) return [{ to: wire, veto: MANY }];
    return behind.to.map((to) => {
      const target = members.get(to);
      if (!target) return { to, veto: OUTSIDE };
      const reason = misfit(from.kind, target.kind);
      return {
        to,
        veto: reason ? { shown: '', reason } : vetoOf(from, behind.waiter || waiterOf(to), options)
      };
    });
  };
}

/**
 * @param {PlanMember[]} list
 * @param {GetNode} getNode
 * @param {Options} options
 * @returns {Plan}
 */
function compile(list, getNode, options) {
  const ordered = [...list].sort((left, right) => left.stage - right.stage);
  const members = new Map(ordered.map((member) => [member.id, member]));
  const targets = new WireTargets((id) => members.has(id), { ...options, getNode });
  const judged = judge(members, targets, options);
  /** @type {Map<string, Trouble>} */
  const shut = new Map();
  const behind = (/** @type {string} */ wire) => [...new Set(targets.behind(wire)?.to ?? [wire])];
  for (const member of ordered) {
    const trouble = shutBy(member, members, behind, getNode);
    if (trouble) shut.set(member.id, trouble);
  }
  const edges = new Map(
    ordered.map((from) => {
      const ways = (from.wires[0] ?? []).flatMap((wire) => judged(from, wire));
      return [from.id, ways.filter(({ veto }) => !veto).map(({ to }) => to)];
    })
  );
  const closers = loopClosers(edges);
  /** @type {(from: PlanMember, wire: string) => Way[]} */
  const waysOf = (from, wire) =>
    judged(from, wire).map(({ to, veto }) => ({
      to,
      veto: veto ?? (closers.has(`${from.id} ${to}`) ? LOOP : null)
    }));

  const routes = new Map(
    ordered.map((member) => {
      const trouble = shut.get(member.id);
      return [member.id, trouble ? shutRoute(member, trouble) : routeOf(member, waysOf, members)];
    })
  );
  traceOrigins(routes);
  const stages = ordered.flatMap((member) => stagesOf(member, /** @type {Route} */ (routes.get(member.id))));
  return { spec: { stages }, routes, hops: targets.deepest + 1 };
}

/**
 * @param {PlanMember} member
 * @param {Route} route
 * @returns {StageSpec[]} its stage, and those that are not on the canvas
 */
function stagesOf(member, route) {
  const { division } = member;
  if (!division) return [stageOf(member, route)];
  if (division.next.length === 0) return [];
  const settings = { ...member.settings, ...division.settings, next: division.next };
  return [stageOf({ ...member, settings }, route), ...division.stages];
}

/** @param {PlanMember} member @param {Route} route @returns {StageSpec} */
function stageOf({ id, stage, kind, settings }, { next, jsWires }) {
  const messages = jsWires.some((port) => port.length > 0);
  const name = kind === 'uplink' || kind === 'source' ? { name: logName(id) } : {};
  return /** @type {StageSpec} */ ({ id: stage, kind, next, messages, ...name, ...settings });
}

module.exports = { compile, logName };
