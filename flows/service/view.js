'use strict';
// What the running gateway does, as `seganet-gateway status` and the service manager show it.

const { version } = require('../../package.json');
const { runningNodes } = require('./running-nodes');

/** Nodes that listen for devices. They show a status as soon as they listen, or why they do not. */
const LISTENERS = [
  'seganet-mqtt-devices',
  'seganet-coap-devices',
  'seganet-http-devices',
  'seganet-ocf-cloud'
];

/**
 * @typedef {{ fill?: string, text?: string }} Shown the status of a node
 *
 * @typedef {object} EngineState
 * @property {string} id of the engine node
 * @property {string} name
 * @property {boolean} running
 * @property {string} reason why it is not running, '' if it is
 * @property {number} devices connected
 * @property {{ held: number, stored: number, backlog: number, delivered: number, dropped: number }} records held: in
 *   memory; stored: on disk; backlog: on disk only
 * @property {{ state: string, reason: string, directory: string, bytes: number, limitBytes: number, dead: number,
 *   quarantined: number } | null} log null = no log is kept
 * @property {{ id: string, name: string, state: string, code: string, reason: string, oldestMs: number }[]} uplinks
 * @property {{ name: string, text: string }[]} stranded uplink nodes without a usable broker, with their statuses
 *
 * @typedef {object} GatewayState
 * @property {string} version
 * @property {number} pid
 * @property {number} uptimeS
 * @property {boolean} ready the flows are started, and the listeners are open or have failed
 * @property {EngineState[]} engines
 * @property {{ id: string, type: string, name: string, fill: string, text: string }[]} listeners
 * @property {string[]} problems what makes the gateway degraded, in sentences; none = it works
 */

/** @param {number[]} byClass @returns {number} */
const sum = (byClass) => byClass.reduce((all, count) => all + count, 0);

/**
 * @param {any} RED the node-red module
 * @returns {{ id: string, type: string, name: string, node: any }[]} the nodes of this package that run
 */
function ownNodes(RED) {
  /** @type {any[]} */
  const flow = [];
  RED.nodes.eachNode((/** @type {any} */ config) => void flow.push(config));
  return runningNodes(flow)
    .filter(({ type }) => type.startsWith('seganet-'))
    .map(({ id, type, name = '' }) => ({ id, type, name, node: RED.nodes.getNode(id) }));
}

/** @param {{ id: string, name: string, node: any }} engine @returns {EngineState} */
function engineState({ id, name, node }) {
  const host = node?.host;
  const isRunning = Boolean(host && !host.closing);
  const none = { held: 0, stored: 0, backlog: 0, delivered: 0, dropped: 0 };
  const idle = { id, name, running: false, devices: 0, records: none, log: null, uplinks: [], stranded: [] };
  if (!isRunning) return { ...idle, reason: node?.failure || 'it is not running' };
  const stats = host.snapshot();
  const { log } = stats;
  return {
    id,
    name,
    running: true,
    reason: '',
    devices: stats.devices,
    records: {
      held: sum(stats.heldRecords),
      stored: sum(stats.storedRecords),
      backlog: sum(stats.backlogRecords),
      delivered: stats.counters.recordsDelivered,
      dropped: dropped(stats)
    },
    log: log && {
      state: log.state,
      reason: log.reason ?? '',
      directory: log.directory,
      bytes: log.bytes ?? 0,
      limitBytes: log.limitBytes ?? 0,
      dead: log.dead ?? 0,
      quarantined: log.quarantined ?? 0
    },
    uplinks: stats.uplinks.map((/** @type {any} */ uplink) => {
      const { broker, name: label = '', state, code = '', reason = '', oldestMs = -1 } = worst(uplink);
      return { id: broker, name: label, state, code, reason, oldestMs };
    }),
    stranded: host.members.flatMap((/** @type {any} */ member) =>
      member.kind === 'uplink' && !member.uplink
        ? [{ name: member.node.name || member.id, text: member.status.shown.text ?? '' }]
        : []
    )
  };
}

/** @param {any} uplink @returns {any} with the state of its first session that is not connected, if there is one */
function worst(uplink) {
  const odd = (uplink.sessions ?? []).find((/** @type {any} */ { state }) => state !== 'connected');
  if (!odd || uplink.state !== 'connected') return uplink;
  return { ...uplink, state: odd.state, code: odd.code, reason: odd.reason, oldestMs: odd.oldestMs };
}

/** @param {{ drops: Record<string, number[]> }} stats @returns {number} */
function dropped({ drops }) {
  return Object.values(drops).reduce((all, byClass) => all + sum(byClass), 0);
}

/** @param {EngineState} engine @returns {string[]} */
function engineProblems({ id, name, running, reason, log, uplinks, stranded }) {
  const called = name || id;
  if (!running) return [`The engine ${called} is not running: ${reason}.`];
  const problems = [];
  if (log && log.state !== 'ready' && log.state !== 'opening') {
    problems.push(log.reason || `The log in ${log.directory} is ${log.state}.`);
  }
  for (const uplink of uplinks) {
    if (uplink.state !== 'connected') problems.push(uplinkSentence(uplink));
  }
  for (const node of stranded) problems.push(`The uplink node ${node.name} sends nothing: ${node.text}.`);
  return problems;
}

/** @param {EngineState['uplinks'][number]} uplink @returns {string} */
function uplinkSentence({ id, name, state, code, reason, oldestMs }) {
  const which = `The uplink ${name || id}`;
  if (state === 'stalled') {
    const since = oldestMs > 0 ? ` for ${Math.round(oldestMs / 1000)} s` : '';
    return `${which} is stalled: it is connected, but the broker has acknowledged nothing${since}.`;
  }
  const why = reason || code;
  return `${which} is ${state}${why ? `: ${why.replace(/\.$/, '')}` : ''}.`;
}

/**
 * @param {any} RED the node-red module
 * @param {{ statuses: Map<string, Shown>, isStarted: boolean, startedAt: number }} seen startedAt: ms of
 *   performance.now()
 * @returns {GatewayState}
 */
function gatewayState(RED, { statuses, isStarted, startedAt }) {
  const nodes = isStarted ? ownNodes(RED) : [];
  const engines = nodes.filter(({ type }) => type === 'seganet-engine').map(engineState);
  const listeners = nodes
    .filter(({ type }) => LISTENERS.includes(type))
    .map(({ id, type, name }) => {
      const { fill = '', text = '' } = statuses.get(id) ?? {};
      return { id, type, name, fill, text };
    });
  const problems = engines.flatMap(engineProblems);
  if (!isStarted) problems.push('The flows are not started yet.');
  else if (engines.length === 0) problems.push('The flow has no enabled engine.');
  for (const { id, name, type, fill, text } of listeners) {
    if (fill === 'red') problems.push(`The node ${name || id} (${type}) shows: ${text}.`);
  }
  const ready = isStarted && listeners.every(({ fill }) => fill !== '');
  const uptimeS = Math.round((performance.now() - startedAt) / 1000);
  return { version, pid: process.pid, uptimeS, ready, engines, listeners, problems };
}

/** @param {GatewayState} state @returns {string} one line */
function summary({ engines, problems }) {
  const devices = engines.reduce((all, engine) => all + engine.devices, 0);
  const waiting = engines.reduce((all, { records }) => all + records.backlog + records.held, 0);
  const facts = `${devices} devices connected, ${waiting} records wait for the cloud`;
  return problems.length > 0 ? `degraded: ${problems[0]} ${facts}` : `ok: ${facts}`;
}

module.exports = { gatewayState, ownNodes, summary };
