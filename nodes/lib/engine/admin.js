'use strict';
// Admin endpoints: the plan, the counters, the devices and the dead letters of an engine, the metrics of all engines
// and of what capabilities add, and the live view.

const { Complaints } = require('../base/complaints');
const { addLive } = require('../live');
const { readiness } = require('../health');
const { CONTENT_TYPE, metricsText } = require('../metrics');
const { additions } = require('./additions');
const { addConnectionTest } = require('./connection-test-endpoint');
const { addDeadLetterEndpoints } = require('./dead-letter-endpoints');
const { addEventEndpoints } = require('./event-endpoints');
const { addHealthEndpoints, healthOf } = require('./health-endpoints');
const { addLoginEndpoints } = require('./login-endpoints');
const { openStatusPort } = require('./status-port');
const { addVariables } = require('./variable-endpoint');
const parts = require('./modules');

const MAX_AGENTS = 10000;
const DEFAULT_AGENTS = 100;

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./join').EngineNode} EngineNode
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<EngineNode>} engines all deployed engines, running or not
 * @param {import('./gateway-events').GatewayEvents} events
 */
function addEndpoints(RED, engines, events) {
  const loop = addHealthEndpoints(RED, engines);
  const mayRead = RED.auth.needsPermission('seganet.read');
  /** @param {(host: EngineHost, query: Record<string, unknown>) => object} view throws RangeError for a wrong query */
  const answer = (view) => {
    return (/** @type {any} */ request, /** @type {any} */ response) => {
      const node = /** @type {EngineNode | null} */ (RED.nodes.getNode(request.params.id));
      if (node?.type !== 'seganet-engine') response.status(404).json({ error: 'There is no such engine.' });
      else if (!node.host || node.host.closing)
        response
          .status(503)
          .json({ error: `The engine is not running${node.failure ? `: ${node.failure}` : ''}.` });
      else {
        try {
          response.json(view(node.host, request.query));
        } catch (error) {
          if (!(error instanceof RangeError)) throw error;
          response.status(400).json({ error: error.message });
        }
      }
    };
  };
  RED.httpAdmin.get('/seganet/engines/:id/plan', mayRead, answer(planView));
  RED.httpAdmin.get(
    '/seganet/engines/:id/stats',
    mayRead,
    answer((host) => host.snapshot())
  );
  RED.httpAdmin.get('/seganet/engines/:id/agents', mayRead, answer(agentsView));
  RED.httpAdmin.get(
    '/seganet/metrics',
    mayRead,
    (/** @type {any} */ _request, /** @type {any} */ response) => {
      // end() instead of send(), which reorders the parameters of the content type.
      response.setHeader('Content-Type', CONTENT_TYPE);
      const views = [...engines].map(engineView);
      const process = processView(loop.maxMs);
      response.end(metricsText(views, process, additions('metrics')));
    }
  );
  addDeadLetterEndpoints(RED);
  addEventEndpoints(RED, events);
  addConnectionTest(RED, engines);
  addLoginEndpoints(RED);
  addVariables(RED);
  const complaints = new Complaints((sentence) => RED.log.error(sentence));
  addLive(RED.httpAdmin, mayRead, () => [...engines].map(liveEngine), {
    additions: () => additions('live'),
    valueDetails: () => additions('valueDetails'),
    events: () => events.book.summary(),
    onFault: ({ message, stack = message }) =>
      complaints.tell(message, `Internal error in the live view. Please report it: ${stack}`)
  });
  void openStatusPort(RED);
}

/**
 * @param {EngineNode} node
 * @returns {import('../live/live-stream').LiveEngine}
 */
function liveEngine({ id, name = '', host = null, failure = '' }) {
  const runs = host && !host.closing;
  const health = () => readiness([healthOf({ host })]);
  return { id, name, host: runs ? host : null, reason: runs ? '' : failure || 'stopped', health };
}

/**
 * @param {EngineNode} node
 * @returns {import('../metrics').EngineView}
 */
function engineView({ id, name = '', host }) {
  const gateway = host?.gatewayId ?? '';
  if (!host || host.closing) return { id, name, gateway, stats: null };
  return { id, name, gateway, stats: host.snapshot(), host };
}

/** @returns {boolean | null} null = unknown */
function clockSynchronized() {
  try {
    return parts.native().clockSynchronized();
  } catch {
    // An engine reports that the addon cannot be loaded.
    return null;
  }
}

/** @param {number} loopDelayMs @returns {import('../metrics/process').ProcessView} */
function processView(loopDelayMs) {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: process.memoryUsage.rss(),
    startedAt: Date.now() / 1000 - process.uptime(),
    now: Date.now() / 1000,
    isSynchronized: clockSynchronized(),
    loopDelaySeconds: loopDelayMs / 1000
  };
}

/**
 * @param {EngineHost} host
 * @returns {{ gateway: string, fastPath: string, refused: string, stages: object[] }} in the order of the stages;
 *   refused: why the plan of the latest deploy is not in use, '' = it is
 */
function planView({ gatewayId: gateway, fastPath, plan, refused, upkeep: { rates } }) {
  const routes = plan ? [...plan.routes.values()] : [];
  const stages = routes.map(({ id, stage, kind, carriage, wires }) => {
    // Each wire carries the whole output of its node.
    const perS = rates.stages.get(stage)?.recordsOut ?? 0;
    return { node: id, stage, kind, carriage, wires: wires.map((wire) => ({ ...wire, recordsPerS: perS })) };
  });
  return { gateway, fastPath, refused, stages };
}

/**
 * @param {EngineHost} host
 * @param {Record<string, unknown>} query
 * @returns {{ agents: object[], next: string | null }}
 */
function agentsView(host, { after = '', limit = String(DEFAULT_AGENTS) }) {
  const count = /^\d{1,5}$/.test(String(limit)) ? Number(limit) : 0;
  if (count < 1 || count > MAX_AGENTS)
    throw new RangeError(`limit must be a number from 1 to ${MAX_AGENTS}.`);
  if (typeof after !== 'string' || Buffer.byteLength(after) > 256)
    throw new RangeError('after must be a device id of at most 256 bytes.');
  return host.registry.page(after, count);
}

module.exports = { addEndpoints };
