'use strict';
// POST, GET and DELETE /seganet/demand: questions about devices, behind the login of the editor.

const { needsWrite } = require('../base/permission');
const { Refusal, readDevice, readName, readQuestion } = require('./request');

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1000;
/** Asks when the admin API has no login and the question names nobody. */
const NOBODY = 'http';

/**
 * @typedef {import('./demand').Demand} Demand
 * @typedef {Map<{ id: string }, Demand>} Demands by engine
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Demands} demands
 */
function addEndpoints(RED, demands) {
  const { httpAdmin } = RED;
  const mayWrite = needsWrite(RED);
  const handle = answer.bind(null, ({ message, stack = message }) =>
    RED.log.error(`Internal error in the questions on demand. Please report it: ${stack}`)
  );
  httpAdmin.get(
    '/seganet/demand',
    RED.auth.needsPermission('seganet.read'),
    handle(async ({ query }) => {
      const demand = demandIn(demands, query.engine);
      if (query.device !== undefined) {
        const view = demand.view(readDevice(query.device));
        if (!view) throw new Refusal(404, 'The device has its normal rate.');
        return view;
      }
      const limit = /^\d{1,4}$/.test(query.limit ?? String(DEFAULT_LIMIT))
        ? Number(query.limit ?? DEFAULT_LIMIT)
        : 0;
      if (limit < 1 || limit > MAX_LIMIT)
        throw new Refusal(400, `limit must be a number from 1 to ${MAX_LIMIT}.`);
      const { after = '' } = query;
      if (after !== '') readDevice(after);
      const devices = demand.list(after, limit);
      return {
        questions: demand.figures().questions,
        devices,
        next: devices.length === limit ? devices[limit - 1].device : null
      };
    })
  );
  httpAdmin.post(
    '/seganet/demand',
    mayWrite,
    handle(async (request) => {
      // A page of another site can post a form without asking first, but no JSON.
      if (!request.is('application/json')) throw new Refusal(400, 'Content-Type must be application/json.');
      const { engine, ...given } = Object(request.body);
      const question = readQuestion(given, NOBODY);
      const asker = askerOf(request, given.by);
      const view = await demandIn(demands, engine).ask({ ...question, by: asker });
      const { device, everyMs, forS } = question;
      RED.log.audit(/** @type {any} */ ({ event: 'seganet.demand.ask', device, everyMs, forS }), request);
      return view;
    })
  );
  httpAdmin.delete(
    '/seganet/demand/:device',
    mayWrite,
    handle(async (request) => {
      const device = readDevice(request.params.device);
      const by = askerOf(request, request.query.by);
      const view = await demandIn(demands, request.query.engine).ask({ device, by, everyMs: 0, forS: 0 });
      RED.log.audit(/** @type {any} */ ({ event: 'seganet.demand.end', device }), request);
      return view;
    })
  );
}

/**
 * Returns who asks: the login. Without logins, a program may name itself.
 * @param {any} request
 * @param {unknown} named
 */
function askerOf({ user }, named) {
  if (!user) return readName(named ?? NOBODY);
  if (named !== undefined && named !== user.username)
    throw new Refusal(400, 'by must be the name of the login, or be left out.');
  return readName(user.username);
}

/** @param {Demands} demands @param {unknown} engine id of its node; undefined = the first */
function demandIn(demands, engine) {
  for (const [{ id }, demand] of demands) if (engine === undefined || engine === id) return demand;
  throw new Refusal(404, 'There is no such engine, or it does not run.');
}

/**
 * @param {(error: Error) => void} report
 * @param {(request: any) => Promise<object>} work
 */
function answer(report, work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    response.setHeader('Cache-Control', 'no-store');
    try {
      response.json(await work(request));
    } catch (error) {
      if (error instanceof Refusal) return response.status(error.status).json({ error: error.message });
      report(/** @type {Error} */ (error));
      response.status(500).json({ error: 'Internal error. The log of the gateway says more.' });
    }
  };
}

module.exports = { addEndpoints };
