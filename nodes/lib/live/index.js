'use strict';
// The live view: the stream, and the page and the sidebar that show it.

const { mayWrite } = require('../base/permission');
const { History } = require('./history');
const { LiveStream } = require('./live-stream');
const { parseLiveQuery } = require('./live-query');
const { StatusServer } = require('./status-server');
const { pageFiles, pageFile, textsFor, HEADERS } = require('./page-files');
const { addValues } = require('./value-endpoints');

/** @typedef {import('./live-stream').LiveEngine} LiveEngine */

/**
 * Adds GET /seganet/live (the stream), the last values, /seganet/ (the page) and the page's files to the admin API.
 * @param {any} app Express
 * @param {any} mayRead middleware that checks the permission for the stream
 * @param {() => LiveEngine[]} engines
 * @param {{ onFault: (error: Error) => void, additions: () => import('./snapshot').MakeLiveAddition[],
 *   valueDetails?: () => import('./value-endpoints').AddDetails[], events: () => object }} options as those of LiveStream;
 *   valueDetails: of capabilities
 */
function addLive(app, mayRead, engines, options) {
  const stream = new LiveStream(engines, options);
  app.get('/seganet/live', mayRead, (/** @type {any} */ request, /** @type {any} */ response) => {
    if (stream.isFull) {
      response.setHeader('Retry-After', '10');
      return response.status(503).json({ error: 'Too many viewers. Close another one.' });
    }
    let query;
    try {
      query = parseLiveQuery(request.query);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return response.status(400).json({ error: error.message });
    }
    // Express answers HEAD with the handler of GET.
    if (request.method === 'HEAD') return response.status(200).end();
    stream.add(response, query, mayWrite(request));
  });
  addValues(app, mayRead, engines, options.onFault, options.valueDetails);
  const sendFile = (/** @type {string} */ name) => {
    const { type, file } = pageFile(name);
    return (/** @type {any} */ _request, /** @type {any} */ response) =>
      response.sendFile(file, { headers: { ...HEADERS, 'Content-Type': type } });
  };
  for (const name of pageFiles()) app.get(`/seganet/${name}`, sendFile(name));
  const sendPage = sendFile('index.html');
  app.get('/seganet', (/** @type {any} */ request, /** @type {any} */ response) => {
    // Without the slash, the page would look for its files in the folder above.
    if (request.path.endsWith('/')) sendPage(request, response);
    else response.redirect('seganet/');
  });
  app.get('/seganet/texts.json', (/** @type {any} */ request, /** @type {any} */ response) => {
    const asked = typeof request.query.lng === 'string' ? [request.query.lng] : [];
    const { language, texts } = textsFor([...asked, ...request.acceptsLanguages()]);
    response.set({ ...HEADERS, 'Content-Language': language, Vary: 'Accept-Language' }).json(texts);
  });
}

module.exports = { addLive, History, StatusServer };
