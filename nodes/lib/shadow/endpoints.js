'use strict';
// GET, POST and DELETE /seganet/shadow, behind the login of the editor.

const { needsWrite } = require('../base/permission');
const { Refusal } = require('./refusal');
const { deleteShadow, getShadow, listShadows, setShadow } = require('./requests');

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('./requests').AllShadows} all
 */
function addEndpoints(RED, all) {
  const { httpAdmin } = RED;
  const mayWrite = needsWrite(RED);
  const handle = answer.bind(null, ({ message, stack = message }) =>
    RED.log.error(`Internal error in the shadows. Please report it: ${stack}`)
  );
  httpAdmin.get(
    '/seganet/shadow',
    RED.auth.needsPermission('seganet.read'),
    handle(async ({ query }) =>
      query.device === undefined ? listShadows(all, query) : getShadow(all, query)
    )
  );
  httpAdmin.post(
    '/seganet/shadow',
    mayWrite,
    handle(async (request) => {
      // A page of another site can post a form without asking first, but no JSON.
      if (!request.is('application/json')) throw new Refusal(400, 'Content-Type must be application/json.');
      const { engine, device, ...update } = Object(request.body);
      const body = await setShadow(all, { engine, device }, JSON.stringify(update));
      audit('set', device, request);
      return body;
    })
  );
  httpAdmin.delete(
    '/seganet/shadow/:device',
    mayWrite,
    handle(async (request) => {
      const { device } = request.params;
      const body = await deleteShadow(all, { engine: request.query.engine, device });
      audit('delete', device, request);
      return body;
    })
  );

  /** @param {string} what @param {string} device @param {any} request */
  function audit(what, device, request) {
    RED.log.audit(/** @type {any} */ ({ event: `seganet.shadow.${what}`, device }), request);
  }
}

/**
 * @param {(error: Error) => void} report
 * @param {(request: any) => Promise<string>} work returns JSON
 */
function answer(report, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      response.type('application/json').send(await work(request));
    } catch (error) {
      if (error instanceof Refusal) return response.status(error.status).json({ error: error.message });
      report(/** @type {Error} */ (error));
      response.status(500).json({ error: 'Internal error. The log of the gateway says more.' });
    }
  };
}

module.exports = { addEndpoints };
