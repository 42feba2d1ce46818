'use strict';
// GET, POST and DELETE /seganet/shadow, behind the login of the editor.

const { MAX_DEVICE_BYTES } = require('../base/device-id');
const { needsWrite } = require('../base/permission');
const { Refusal } = require('./refusal');

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;

/** @typedef {Map<{ id: string }, import('./shadows').Shadows>} AllShadows by engine */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {AllShadows} all
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
    handle(async ({ query }) => {
      const shadows = shadowsIn(all, query.engine);
      if (query.device !== undefined) {
        const { body } = await shadows.ask({ kind: 'get', device: readDevice(query.device), text: '' });
        return body;
      }
      const limit = Number(
        /^\d{1,4}$/.test(query.limit ?? DEFAULT_LIMIT) ? (query.limit ?? DEFAULT_LIMIT) : 0
      );
      if (limit < 1 || limit > MAX_LIMIT)
        throw new Refusal(400, `limit must be a number from 1 to ${MAX_LIMIT}.`);
      return shadows.list(query.after ? readDevice(query.after) : '', limit);
    })
  );
  httpAdmin.post(
    '/seganet/shadow',
    mayWrite,
    handle(async (request) => {
      // A page of another site can post a form without asking first, but no JSON.
      if (!request.is('application/json')) throw new Refusal(400, 'Content-Type must be application/json.');
      const { engine, device: given, ...update } = Object(request.body);
      const device = readDevice(given);
      const { body } = await shadowsIn(all, engine).ask({
        kind: 'update',
        device,
        text: JSON.stringify(update)
      });
      audit('set', device, request);
      return body;
    })
  );
  httpAdmin.delete(
    '/seganet/shadow/:device',
    mayWrite,
    handle(async (request) => {
      const device = readDevice(request.params.device);
      const { body } = await shadowsIn(all, request.query.engine).ask({ kind: 'delete', device, text: '' });
      audit('delete', device, request);
      return body;
    })
  );

  /** @param {string} what @param {string} device @param {any} request */
  function audit(what, device, request) {
    RED.log.audit(/** @type {any} */ ({ event: `seganet.shadow.${what}`, device }), request);
  }
}

/** @param {unknown} device @returns {string} @throws {Refusal} */
function readDevice(device) {
  if (
    typeof device === 'string' &&
    device !== '' &&
    !device.includes('\0') &&
    Buffer.byteLength(device) <= MAX_DEVICE_BYTES
  )
    return device.toWellFormed();
  throw new Refusal(400, `device must be a device id of 1 to ${MAX_DEVICE_BYTES} bytes, without NUL.`);
}

/** @param {AllShadows} all @param {unknown} engine id of its node; undefined = the first that has shadows */
function shadowsIn(all, engine) {
  for (const [{ id }, shadows] of all)
    if (engine === undefined ? shadows.figures().isUsed : engine === id) return shadows;
  throw new Refusal(404, 'There is no such engine with a shadow node, or it does not run.');
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
