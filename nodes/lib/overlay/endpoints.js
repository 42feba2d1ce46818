'use strict';
// Admin endpoints: the overlay networks of the flow, and one of them with its peers.

const { overlayViews } = require('./overlay-nodes');

/**
 * Adds GET /seganet/overlay and GET /seganet/overlay/:id. Both need the permission seganet.read.
 * @param {import('node-red').NodeAPI} RED
 */
function addEndpoints(RED) {
  const mayRead = RED.auth.needsPermission('seganet.read');
  RED.httpAdmin.get(
    '/seganet/overlay',
    mayRead,
    (/** @type {any} */ _request, /** @type {any} */ response) => {
      response.json({
        networks: overlayViews().map(({ id, name, reason, status }) => ({
          id,
          name,
          reason,
          fqdn: status?.fqdn ?? ''
        }))
      });
    }
  );
  RED.httpAdmin.get(
    '/seganet/overlay/:id',
    mayRead,
    (/** @type {any} */ request, /** @type {any} */ response) => {
      const view = overlayViews().find(({ id }) => id === request.params.id);
      if (!view) return response.status(404).json({ error: 'There is no such overlay network.' });
      if (!view.status) return response.status(503).json({ error: view.reason });
      const { status, ...rest } = view;
      response.json({ ...rest, ...status });
    }
  );
}

exports.addEndpoints = addEndpoints;
