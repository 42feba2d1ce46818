'use strict';
// Read-only admin endpoints: the plan, the counters and the devices of an engine, and the metrics of all engines.

const { CONTENT_TYPE, metricsText } = require('../metrics');

const MAX_AGENTS = 10000;
const DEFAULT_AGENTS = 100;

/**
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {import('./join').EngineNode} EngineNode
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<EngineNode>} engines all deployed engines, running or not
 */
function addEndpoints(RED, engines) {
  const mayRead = RED.auth.needsPermission('seganet.read');
  /** @param {(host: EngineHost, query: Record<string, unknown>) => object} view throws RangeError for a wrong query */
  const answer = (view) => {
    return (/** @type {any} */ request, /** @type {any} */ response) => {
      const node = /** @type {EngineNode | null} */ (RED.nodes.getNode(request.params.id));
      if (node?.type !== 'seganet-engine') response.status(404).json({ error: 'There is no such engine.' });
      else if (!node.host || node.host.closing)
        response.status(503).json({ error: 'The engine is not running.' });
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
      response.end(metricsText([...engines].map(engineView)));
    }
  );
}

/**
 * @param {EngineNode} node
 * @returns {import('../metrics').EngineView}
 */
function engineView({ id, name = '', host }) {
  const runs = host && !host.closing;
  return { id, name, gateway: host?.gatewayId ?? '', stats: runs ? host.snapshot() : null };
}

/**
 * @param {EngineHost} host
 * @returns {{ gateway: string, fastPath: string, stages: object[] }} in the order of the stages
 */
function planView({ gatewayId: gateway, fastPath, plan }) {
  const routes = plan ? [...plan.routes.values()] : [];
  const stages = routes.map(({ id, stage, kind, carriage, wires }) => ({
    node: id,
    stage,
    kind,
    carriage,
    wires
  }));
  return { gateway, fastPath, stages };
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

module.exports = { addEndpoints, agentsView, planView };
