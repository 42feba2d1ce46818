'use strict';
// Admin endpoints of the OCF clouds: a new access code, and the deletion of a device.

const { needsWrite } = require('../../base/permission');
const { newCode } = require('../cloud');
const { cloudOf } = require('./clouds');

const CODE_MINUTES = 10;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** @typedef {import('./clouds').Cloud} Cloud */

/**
 * Adds POST /seganet/ocf/:id/codes and POST /seganet/ocf/:id/delete.
 * @param {import('node-red').NodeAPI} RED
 */
function addCloudEndpoints(RED) {
  const mayWrite = needsWrite(RED);
  RED.httpAdmin.post('/seganet/ocf/:id/codes', mayWrite, answer(RED, 'seganet.ocf.code', makeCode));
  RED.httpAdmin.post('/seganet/ocf/:id/delete', mayWrite, answer(RED, 'seganet.ocf.delete', deleteDevice));
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} event name in Node-RED's audit log
 * @param {(cloud: Cloud, body: Record<string, unknown>) => Promise<object>} work throws RangeError for a wrong request
 */
function answer(RED, event, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    const { id } = request.params;
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    if (RED.nodes.getNode(id)?.type !== 'seganet-ocf-cloud') return refuse(404, 'There is no such cloud.');
    const cloud = cloudOf(id);
    if (!cloud) return refuse(503, 'The cloud is not open.');
    // A page of another site can post a form without asking first, but no JSON.
    if (!request.is('application/json')) return refuse(400, 'Content-Type must be application/json.');
    try {
      const result = await work(cloud, request.body ?? {});
      RED.log.audit(/** @type {any} */ ({ event, id }), request);
      // An access code must not stay in a cache.
      response.setHeader('Cache-Control', 'no-store');
      response.json(result);
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      refuse(error instanceof RangeError ? 400 : 503, message);
    }
  };
}

/** @param {Cloud} cloud @param {Record<string, unknown>} body { user } */
async function makeCode(cloud, { user }) {
  if (typeof user !== 'string') throw new RangeError('The body must be {"user":"…"}.');
  const { code, expires } = await newCode(cloud.store, user, { minutes: CODE_MINUTES, now: cloud.now() });
  return { code, expires };
}

/** @param {Cloud} cloud @param {Record<string, unknown>} body { device } */
async function deleteDevice(cloud, { device }) {
  if (typeof device !== 'string' || !UUID.test(device))
    throw new RangeError('The body must be {"device":"…"} with the id of a device.');
  return { deleted: await cloud.deleteDevice(device.toLowerCase()) };
}

module.exports = { addCloudEndpoints };
