'use strict';
// GET /seganet/values, /seganet/topics and /seganet/values/stream: the last values of the devices.

const { readTopics, readValues } = require('./value-pages');
const { parseTopicQuery, parseValueQuery } = require('./value-query');
const { ValueStream } = require('./value-stream');

/**
 * @typedef {import('./live-stream').LiveEngine} LiveEngine
 * @typedef {NonNullable<LiveEngine['host']>} Host
 * @typedef {(host: Host, rows: object[]) => void} AddDetails adds members to rows
 */

/**
 * @param {any} app Express
 * @param {any} mayRead middleware that checks the permission
 * @param {() => LiveEngine[]} engines
 * @param {(error: Error) => void} onFault
 * @param {() => AddDetails[]} [details] what others know of the values
 */
function addValues(app, mayRead, engines, onFault, details = () => []) {
  const engineOf = (/** @type {string} */ id) =>
    id === '' ? engines()[0] : engines().find((engine) => engine.id === id);
  const stream = new ValueStream(engineOf, { onFault });
  /**
   * @template {{ engine: string }} T
   * @param {(given: Record<string, unknown>) => T} parse throws RangeError for a wrong query
   * @param {(host: Host, request: T, response: any) => unknown} work throws TypeError for a wrong filter
   */
  const answer = (parse, work) => async (/** @type {any} */ request, /** @type {any} */ response) => {
    const refuse = (/** @type {number} */ status, /** @type {string} */ error) =>
      response.status(status).json({ error });
    try {
      const parsed = parse(request.query);
      const engine = engineOf(parsed.engine);
      if (!engine) return refuse(404, 'There is no such engine.');
      if (!engine.host) return refuse(503, `The engine is not running: ${engine.reason}.`);
      if (!engine.host.keepsValues)
        return refuse(
          404,
          'This engine keeps no last values. Turn them on in the engine node (Last values).'
        );
      await work(engine.host, parsed, response);
    } catch (error) {
      const { name, message } = /** @type {Error} */ (error);
      if (name === 'RangeError' || name === 'TypeError') return refuse(400, message);
      onFault(/** @type {Error} */ (error));
      refuse(500, 'Internal error. The log of the gateway says more.');
    }
  };
  const send = (/** @type {any} */ response, /** @type {object} */ content) => {
    response.setHeader('Cache-Control', 'no-store');
    response.json(content);
  };
  app.get(
    '/seganet/values',
    mayRead,
    answer(parseValueQuery, async (host, request, response) => {
      const page = await readValues(host.engine, request, { isOver: () => response.destroyed });
      if (request.details) for (const add of details()) add(host, page.values);
      send(response, page);
    })
  );
  app.get(
    '/seganet/topics',
    mayRead,
    answer(parseTopicQuery, async ({ engine }, { prefix }, response) => {
      send(response, await readTopics(engine, prefix, () => response.destroyed));
    })
  );
  app.get(
    '/seganet/values/stream',
    mayRead,
    answer(parseValueQuery, ({ engine }, request, response) => {
      if (stream.isFull) {
        response.setHeader('Retry-After', '10');
        return response.status(503).json({ error: 'Too many listeners. Close another page.' });
      }
      // Throws if the filter is wrong, while that can still be said.
      engine.values({ ...request.query, limit: 1, since: Number.MAX_SAFE_INTEGER });
      // Express answers HEAD with the handler of GET.
      if (response.req.method === 'HEAD') return response.status(200).end();
      stream.add(response, request);
    })
  );
}

module.exports = { addValues };
