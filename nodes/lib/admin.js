'use strict';
// Read-only admin endpoints: what each wire carries, and the counters.

/** @typedef {import('./host').EngineHost} EngineHost */

/** @param {import('node-red').NodeAPI} RED */
function addEndpoints(RED) {
  const mayRead = RED.auth.needsPermission('seganet.read');
  /** @param {(host: EngineHost) => object} view */
  const answer = (view) => {
    return (/** @type {any} */ request, /** @type {any} */ response) => {
      const node = /** @type {import('./join').EngineNode | null} */ (RED.nodes.getNode(request.params.id));
      if (node?.type !== 'seganet-engine') response.status(404).json({ error: 'There is no such engine.' });
      else if (!node.host || node.host.closing)
        response.status(503).json({ error: 'The engine does not run.' });
      else response.json(view(node.host));
    };
  };
  RED.httpAdmin.get('/seganet/engines/:id/plan', mayRead, answer(planView));
  RED.httpAdmin.get(
    '/seganet/engines/:id/stats',
    mayRead,
    answer((host) => host.snapshot())
  );
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

module.exports = { addEndpoints, planView };
