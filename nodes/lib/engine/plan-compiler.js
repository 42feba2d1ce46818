'use strict';
// Compiles the live wires of one engine's nodes into the engine's plan. Pure: no RED, no side effects.
//
// A wire between two nodes of the same engine is native. Every other wire carries messages. Junctions are transparent.
// A wire that closes a loop carries messages, because native stages pass records on immediately.
//
// A record may be acknowledged only if a node accepts it. A node of ours that should accept records but cannot (it is
// inert) shuts every node whose records can reach it. A source without a destination is shut too. A shut node accepts
// no records.

const crypto = require('node:crypto');

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
 *
 * @typedef {object} WireView one wire, as the plan view shows it
 * @property {string} to id of the node behind the junctions
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
 * @property {string[]} origins ids of the sources and ingests that reach it natively (its own, if it is one)
 * @property {Trouble | null} shut why it must not accept records, null = it may
 *
 * @typedef {(id: string) => { type: string, wires?: string[][], name?: string, inert?: Trouble } | null | undefined}
 *   GetNode live nodes only
 * @typedef {{ spec: PlanSpec, routes: Map<string, Route> }} Plan
 */

/** Longest name of an uplink stage in the log, bytes. */
const MAX_NAME_BYTES = 64;

const NATIVE_TARGETS = ['priority', 'batch', 'uplink', 'tap'];
/** Node types that lose records if they are inert. Other nodes only observe records, or receive none. */
const MUST_TAKE = ['seganet-priority', 'seganet-batch', 'seganet-uplink', 'seganet-ingest'];

/**
 * @param {Kind} from
 * @param {Kind} to
 * @returns {string} why a wire between the two cannot be native, '' if it can
 */
function veto(from, to) {
  if (!NATIVE_TARGETS.includes(to)) return `${to} reads messages`;
  if (from === 'batch' && to !== 'uplink') return 'batches go natively to uplinks only';
  return '';
}

/**
 * Returns the nodes behind a wire, through junctions. Missing and disabled nodes are left out.
 * @param {string} id
 * @param {Map<string, PlanMember>} members
 * @param {GetNode} getNode
 * @param {Set<string>} [seen] junctions already visited
 * @returns {string[]}
 */
function leaves(id, members, getNode, seen = new Set()) {
  if (members.has(id)) return [id];
  const node = getNode(id);
  if (!node) return [];
  if (node.type !== 'junction') return [id];
  if (seen.has(id)) return [];
  seen.add(id);
  return (node.wires ?? []).flat().flatMap((next) => leaves(next, members, getNode, seen));
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
 * @param {(from: PlanMember, to: string) => string} reasonFor returns why a wire is not native, '' if it is
 * @param {(wire: string) => string[]} behind
 * @param {Map<string, PlanMember>} members
 * @returns {Route}
 */
function routeOf(member, reasonFor, behind, members) {
  const [first = [], ...others] = member.wires;
  /** @type {Map<string, WireView>} */
  const views = new Map();
  /** @type {string[]} */
  const nativeWires = [];
  /** @type {string[]} */
  const js = [];
  for (const wire of first) {
    const targets = behind(wire).map((to) => ({ to, reason: reasonFor(member, to) }));
    for (const { to, reason } of targets) {
      views.set(to, { to, carriage: reason ? 'message' : 'native', reason });
    }
    const messages = targets.filter(({ reason }) => reason).map(({ to }) => to);
    if (messages.length < targets.length || targets.length === 0) {
      nativeWires.push(wire);
      js.push(...messages);
    } else {
      js.push(wire);
    }
  }
  const wires = [...views.values()];
  const next = wires
    .filter(({ carriage }) => carriage === 'native')
    .map(({ to }) => /** @type {PlanMember} */ (members.get(to)).stage);
  const carriage = next.length ? (js.length ? 'both' : 'native') : js.length ? 'message' : 'none';
  const jsWires = member.wires.length ? [[...new Set(js)], ...others] : [];
  const { id, stage, kind, protocol } = member;
  return { id, stage, kind, protocol, carriage, next, nativeWires, jsWires, wires, origins: [], shut: null };
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
    origins: [],
    shut
  };
}

/**
 * True for a tap that samples. Without another destination, the records that it skips would be acknowledged and lost.
 * @param {PlanMember} member
 */
function onlyLooks({ kind, settings }) {
  const { everyN = 0, perSecond = 0 } = /** @type {{ everyN?: number, perSecond?: number }} */ (settings);
  return kind === 'tap' && (everyN > 1 || perSecond > 0);
}

/**
 * Follows a member's records over native and message wires between our nodes.
 * @param {PlanMember} from
 * @param {Map<string, PlanMember>} members
 * @param {(wire: string) => string[]} behind
 * @param {GetNode} getNode
 * @returns {Trouble | null} why it must not accept records
 */
function shutBy(from, members, behind, getNode) {
  const seen = new Set([from]);
  let isTaken = false;
  for (const member of seen) {
    isTaken ||= member.kind === 'uplink';
    for (const to of (member.wires[0] ?? []).flatMap(behind)) {
      const next = members.get(to);
      if (next) {
        seen.add(next);
        continue;
      }
      const node = getNode(to);
      if (!node?.inert) isTaken ||= !onlyLooks(member);
      else if (MUST_TAKE.includes(node.type)) return shutByNode(node.name || to, node.inert);
    }
  }
  const isOrigin = from.kind === 'source' || from.kind === 'ingest';
  return isTaken || !isOrigin ? null : noRoute(from);
}

/**
 * @param {string} name
 * @param {Trouble} trouble
 * @returns {Trouble}
 */
function shutByNode(name, { shown, sentence }) {
  const why = sentence ? `${shown}: ${sentence}` : `${shown}.`;
  return {
    shown: `→ ${name}: ${shown}`,
    sentence: `No records are taken, because the node "${name}" in their path cannot take them (${why.replace(/\.$/, '')}). Correct that node and deploy.`
  };
}

/**
 * @param {PlanMember} member
 * @returns {Trouble}
 */
function noRoute({ wires }) {
  const isWired = (wires[0] ?? []).length > 0;
  const what = isWired
    ? 'the downstream nodes are deleted or disabled, lead nowhere, or only sample (tap)'
    : 'the node is wired to nothing';
  return {
    shown: `no route: ${isWired ? 'nothing takes records' : 'wired to nothing'}`,
    sentence: `No records are taken, because nothing would take them: ${what}. Wire it to an uplink node, or to another node that takes records, and deploy.`
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
 * Returns the name under which the log keeps the records of an uplink node.
 * @param {string} id of the Node-RED node; it is long for a node in nested subflows
 * @returns {string} 1 to 64 bytes, the same at each start
 */
function logName(id) {
  if (Buffer.byteLength(id) <= MAX_NAME_BYTES) return id;
  return crypto.createHash('sha256').update(id).digest('hex');
}

/**
 * @param {PlanMember[]} list
 * @param {GetNode} getNode
 * @param {{ fastPath: 'auto' | 'off' }} options
 * @returns {Plan}
 */
function compile(list, getNode, options) {
  const ordered = [...list].sort((left, right) => left.stage - right.stage);
  const members = new Map(ordered.map((member) => [member.id, member]));
  /** @param {string} wire */
  const behind = (wire) => [...new Set(leaves(wire, members, getNode))];
  /** @type {(from: PlanMember, to: string) => string} */
  const staticReason = (from, to) => {
    if (options.fastPath === 'off') return 'the fast path is off';
    const target = members.get(to);
    return target ? veto(from.kind, target.kind) : 'not a node of this engine';
  };
  /** @type {Map<string, Trouble>} */
  const shut = new Map();
  for (const member of ordered) {
    const trouble = shutBy(member, members, behind, getNode);
    if (trouble) shut.set(member.id, trouble);
  }
  const edges = new Map(
    ordered.map((from) => {
      const targets = (from.wires[0] ?? []).flatMap(behind);
      return [from.id, targets.filter((to) => staticReason(from, to) === '')];
    })
  );
  const closers = loopClosers(edges);
  /** @type {(from: PlanMember, to: string) => string} */
  const reasonFor = (from, to) =>
    staticReason(from, to) || (closers.has(`${from.id} ${to}`) ? 'closes a loop' : '');

  const routes = new Map(
    ordered.map((member) => {
      const trouble = shut.get(member.id);
      const route = trouble ? shutRoute(member, trouble) : routeOf(member, reasonFor, behind, members);
      return [member.id, route];
    })
  );
  traceOrigins(routes);
  const stages = ordered.map((member) => {
    const { next, jsWires } = /** @type {Route} */ (routes.get(member.id));
    const messages = jsWires.some((port) => port.length > 0);
    return /** @type {StageSpec} */ ({
      id: member.stage,
      kind: member.kind,
      next,
      messages,
      ...(member.kind === 'uplink' && { name: logName(member.id) }),
      ...member.settings
    });
  });
  return { spec: { stages }, routes };
}

module.exports = { compile, logName };
