'use strict';
// The HTTP API of the directories, behind the login of the editor: permissions seganet.read and seganet.write.
// docs/use/directory.md lists its addresses, and the assertions of WoT Discovery (W3C Recommendation of 5 December
// 2023).

const { mayWrite: isWriter, needsWrite } = require('../base/permission');
const { isFromHere, isOfTool } = require('../base/request-origin');
const { MAX_BYTES, readBody, readJson } = require('./http-body');
const { descriptionOf } = require('./description');
const { DirectoryError } = require('./directory-error');
const { readQuestion } = require('./question');
const { MAX_LENGTH, checkSparql } = require('./sparql-check');
const { DISCOVERY_CONTEXT } = require('./terms');
const { factsOf } = require('./facts');
const { SETTING, hostCheck } = require('./host-names');
const { shown } = require('../base/values');
const { writeValue } = require('./write-value');

const TD = 'application/td+json';
const LD = 'application/ld+json';
const JSON_TYPE = 'application/json';
const THING_TYPES = [TD, LD, JSON_TYPE];
const PAGE = 100;
const MAX_PAGE = 1000;
/** Lists of things that are answered, or wait to be read, at a time: each may have 4 MiB. */
const MAX_LISTS = 8;
const ROOT = '/seganet/directory';

/**
 * @typedef {import('./directory').Directory} Directory
 * @typedef {import('node-red').Node & { directory?: Directory | null }} FindNode
 * @typedef {(directory: Directory, request: any, response: any, node: FindNode) => Promise<void>} Work
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {Set<FindNode>} nodes all find nodes of the flow
 */
function addEndpoints(RED, nodes) {
  const mayRead = RED.auth.needsPermission('seganet.read');
  const mayWrite = needsWrite(RED, (response, sentence) => fail(response, new DirectoryError(403, sentence)));
  const isSecured = Boolean(/** @type {any} */ (RED.settings).adminAuth);
  const { httpAdmin } = RED;
  const checkHost = hostCheckOf(RED);
  const handler = (/** @type {(request: any) => FindNode} */ choose, /** @type {Work} */ work) =>
    answering(async (request, response) => {
      checkHost(request);
      const node = choose(request);
      if (!node.directory)
        throw new DirectoryError(503, 'The find node is not running. Its status shows why.');
      await work(node.directory, request, response, node);
    });
  const at = (/** @type {Work} */ work) => handler((request) => findNode(nodes, request.params.id), work);
  const only = (/** @type {Work} */ work) => handler(() => onlyNode(nodes), work);
  /** @type {Work} */
  const describe = async (_directory, request, response, { id, name = '' }) => {
    const { httpAdminRoot } = /** @type {any} */ (RED.settings);
    const base = `${request.protocol}://${request.get('host')}${rootOf(httpAdminRoot)}seganet/directory/${id}/`;
    send(response, 200, TD, descriptionOf({ id, name, base, isSecured }));
  };
  /** @type {Work} */
  const write = async (directory, request, response) => {
    const device = await writeValue(directory, request.query, await readJson(request, [JSON_TYPE]));
    RED.log.audit(/** @type {any} */ ({ event: 'seganet.shadow.set', device }), request);
    response.status(204).end();
  };
  const listNodes = answering(async (request, response) => {
    checkHost(request);
    response.json({ nodes: [...nodes].map(viewOf) });
  });
  httpAdmin.get(ROOT, mayRead, listNodes);
  httpAdmin.get('/.well-known/wot', mayRead, only(describe));
  httpAdmin.get('/seganet/q', mayRead, only(question));
  httpAdmin.get(`${ROOT}/:id`, mayRead, at(describe));
  httpAdmin.get(`${ROOT}/:id/q`, mayRead, at(question));
  httpAdmin.get(`${ROOT}/:id/value`, mayRead, at(value));
  httpAdmin.put(`${ROOT}/:id/value`, mayWrite, at(write));
  httpAdmin.get(`${ROOT}/:id/things`, mayRead, at(list));
  httpAdmin.post(`${ROOT}/:id/things`, mayWrite, at(create));
  httpAdmin.get(`${ROOT}/:id/things/:thing`, mayRead, at(retrieve));
  httpAdmin.put(`${ROOT}/:id/things/:thing`, mayWrite, at(put));
  httpAdmin.patch(`${ROOT}/:id/things/:thing`, mayWrite, at(patch));
  httpAdmin.delete(`${ROOT}/:id/things/:thing`, mayWrite, at(remove));
  httpAdmin.get(`${ROOT}/:id/search/jsonpath`, mayRead, at(jsonpath));
  httpAdmin.get(`${ROOT}/:id/search/sparql`, mayRead, at(sparql));
  httpAdmin.post(`${ROOT}/:id/search/sparql`, mayRead, at(sparql));
  httpAdmin.get(
    `${ROOT}/:id/search/xpath`,
    mayRead,
    at(async () => {
      throw new DirectoryError(501, 'XPath is not supported. Use search/jsonpath or search/sparql.');
    })
  );
  httpAdmin.get(`${ROOT}/:id/events`, mayRead, at(events));
  httpAdmin.get(`${ROOT}/:id/events/:type`, mayRead, at(events));
}

/** @param {FindNode} node @returns {import('./metrics').DirectoryView} */
function viewOf({ id, name = '', directory }) {
  return directory ? { id, name, running: true, ...directory.view() } : { id, name, running: false };
}

/** @param {Set<FindNode>} nodes @param {string} idOrName a name must be of one node only */
function findNode(nodes, idOrName) {
  const all = [...nodes];
  const named = all.filter(({ name }) => name === idOrName);
  const found = all.find(({ id }) => id === idOrName) ?? (named.length === 1 ? named[0] : undefined);
  if (!found)
    throw new DirectoryError(404, 'There is no find node with this id, and no single one with this name.');
  return found;
}

/** @param {Set<FindNode>} nodes */
function onlyNode(nodes) {
  if (nodes.size !== 1)
    throw new DirectoryError(
      404,
      nodes.size === 0
        ? 'There is no find node.'
        : `There are ${nodes.size} find nodes. Use ${ROOT.slice(1)}/ID with the id or the name of one.`
    );
  return [...nodes][0];
}

/**
 * Returns a check of requests without a login.
 * @param {import('node-red').NodeAPI} RED
 * @returns {(request: any) => void} throws a DirectoryError if the request was sent to a name that is not known here
 */
function hostCheckOf(RED) {
  let check = hostCheck(undefined);
  try {
    check = hostCheck(/** @type {any} */ (RED.settings)[SETTING]);
  } catch (error) {
    RED.log.error(`${/** @type {Error} */ (error).message} No name of the setting is allowed.`);
  }
  return (request) => {
    const sentence = hasLogin(request) ? '' : check(request.headers);
    if (sentence) throw new DirectoryError(403, sentence);
  };
}

/** @param {any} request @returns {boolean} false also for the user that adminAuth has for requests without a login */
function hasLogin({ user }) {
  return Boolean(user) && !user.anonymous;
}

/** @param {(request: any, response: any) => Promise<void>} work rejects with a DirectoryError for a problem */
function answering(work) {
  return async (/** @type {any} */ request, /** @type {any} */ response) => {
    try {
      await work(request, response);
    } catch (error) {
      const known =
        error instanceof DirectoryError
          ? error
          : new DirectoryError(
              500,
              `Internal error. Please report it: ${String(/** @type {any} */ (error)?.message)}`
            );
      if (response.headersSent) return void response.destroy();
      fail(response, known);
    }
  };
}

/** @param {any} response @param {DirectoryError} error */
function fail(response, error) {
  const { status } = error;
  if (status === 503) response.setHeader('Retry-After', '1');
  // The rest of a body that is refused is not read.
  if ([403, 413, 415].includes(status)) response.setHeader('Connection', 'close');
  send(response, status, 'application/problem+json; charset=utf-8', error.problem());
}

/** @param {any} response @param {number} status @param {string} type @param {object | string} body */
function send(response, status, type, body) {
  response.status(status).setHeader('Content-Type', type);
  // end() instead of send(), which changes the content type.
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** @type {Work} */
async function create(directory, request, response) {
  const td = await readJson(request, THING_TYPES);
  const id = await directory.ask('createAnonymous', { td });
  response.setHeader('Location', `things/${encodeURIComponent(id)}`);
  response.status(201).end();
}

/** @type {Work} */
async function put(directory, request, response) {
  const td = await readJson(request, THING_TYPES);
  const isNew = await directory.ask('put', { id: request.params.thing, td });
  response.status(isNew ? 201 : 204).end();
}

/** @type {Work} */
async function patch(directory, request, response) {
  const changes = await readJson(request, ['application/merge-patch+json']);
  await directory.ask('patch', { id: request.params.thing, patch: changes });
  response.status(204).end();
}

/** @type {Work} */
async function remove(directory, request, response) {
  await directory.ask('remove', { id: request.params.thing });
  response.status(204).end();
}

/** @type {Work} */
async function retrieve(directory, request, response) {
  send(response, 200, TD, await directory.ask('get', { id: request.params.thing }));
}

/** Lists that are being answered, by directory. @type {WeakMap<Directory, number>} */
const lists = new WeakMap();

/** @type {Work} */
async function list(directory, { query }, response) {
  const known = ['offset', 'limit', 'format', 'sort_by', 'sort_order'];
  const unknown = Object.keys(query).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new DirectoryError(
      400,
      `There is no parameter "${shown(unknown)}". The parameters are offset, limit, format.`
    );
  if ((query.sort_by ?? 'id') !== 'id' || (query.sort_order ?? 'asc') !== 'asc')
    throw new DirectoryError(501, 'Things are sorted by id, ascending. Other orders are not supported.');
  const offset = numberOf(query, 'offset', 0, Number.MAX_SAFE_INTEGER, 0);
  const limit = numberOf(query, 'limit', 1, MAX_PAGE, PAGE);
  const { format = 'array' } = query;
  if (format !== 'array' && format !== 'collection')
    throw new DirectoryError(400, `format must be array or collection, not "${shown(format)}".`);
  // Nobody reads the answer, and it would be counted for good.
  if (response.destroyed) return;
  const open = lists.get(directory) ?? 0;
  if (open >= MAX_LISTS)
    throw new DirectoryError(503, `The directory answers ${MAX_LISTS} lists at a time. Ask again.`);
  lists.set(directory, open + 1);
  response.once('close', () => lists.set(directory, (lists.get(directory) ?? 1) - 1));
  const { things, total, revision } = await directory.ask('list', { offset, limit });
  const suffix = format === 'collection' ? '&format=collection' : '';
  const page = (/** @type {number} */ from) => `things?offset=${from}&limit=${limit}${suffix}`;
  const next = offset + things.length < total && things.length > 0 ? page(offset + things.length) : null;
  const etag = `"${directory.nonce}-${revision}"`;
  const links = [
    `<things>; rel="canonical"; etag=${etag.replaceAll('"', '\\"').replace(/^/, '"').concat('"')}`
  ];
  if (next) links.unshift(`<${next}>; rel="next"`);
  response.setHeader('Link', links.join(', '));
  const collection = {
    '@context': DISCOVERY_CONTEXT,
    '@type': 'ThingCollection',
    total,
    '@id': page(offset),
    ...(next && { next }),
    members: things
  };
  send(response, 200, LD, format === 'array' ? things : collection);
}

/** @type {Work} */
async function jsonpath(directory, { query }, response) {
  const text = query.query;
  if (typeof text !== 'string' || text === '' || text.length > MAX_LENGTH)
    throw new DirectoryError(
      400,
      `The parameter query must be given once: a JSONPath of at most ${MAX_LENGTH} characters, URL-encoded.`
    );
  send(response, 200, JSON_TYPE, await directory.searches.run('jsonpath', { query: text }));
}

/** @type {Work} */
async function sparql(directory, request, response) {
  const isPost = request.method === 'POST';
  const isForm = isPost && /^application\/x-www-form-urlencoded/i.test(request.headers['content-type'] ?? '');
  const text = isForm
    ? request.body?.query
    : isPost
      ? await readBody(request, ['application/sparql-query'])
      : request.query.query;
  const { form, text: checked } = checkSparql(text);
  const accept = String(request.headers.accept ?? '');
  const isTable = form === 'SELECT' || form === 'ASK';
  const format = accept.includes('application/n-triples') && !isTable ? 'application/n-triples' : '';
  const answer = await directory.searches.run('sparql', { text: checked, form, format });
  const named = accept.includes('application/sparql-results+json')
    ? 'application/sparql-results+json'
    : JSON_TYPE;
  send(response, 200, format || (isTable ? named : LD), answer);
}

/** @type {Work} */
async function events(directory, request, response) {
  await directory.streams.open(request, response, request.params.type ?? '');
}

/** @type {Work} */
async function question(directory, request, response) {
  const { query, headers } = request;
  const isLinked = query.format === undefined && String(headers.accept ?? '').includes(LD);
  const asked = readQuestion(isLinked ? { ...query, format: 'jsonld' } : query, directory.usual);
  const answer = await directory.answering.answer(asked, rightsOf(request));
  send(response, 200, asked.format === 'jsonld' ? LD : JSON_TYPE, answer);
}

/**
 * Returns whether a question may send a command. Without a login, a page of another site can ask in a user's browser,
 * for example by the address of an image.
 * @param {any} request
 * @returns {{ mayCommand: boolean, why?: string }}
 */
function rightsOf(request) {
  const { headers, method } = request;
  if (method === 'HEAD') return { mayCommand: false, why: 'a GET' };
  const isOurs = (/** @type {string} */ address) => isHost(address, headers.host);
  if (!hasLogin(request) && !(isFromHere(headers, isOurs) && isOfTool(headers, isOurs)))
    return { mayCommand: false, why: 'a page of the gateway, or a program' };
  return { mayCommand: isWriter(request) };
}

/** @param {string} origin such as http://127.0.0.1:1880, or null @param {unknown} host */
function isHost(origin, host) {
  return URL.canParse(origin) && new URL(origin).host === host;
}

/** @type {Work} */
async function value(directory, { query }, response) {
  const { thing, property } = query;
  if (typeof thing !== 'string' || typeof property !== 'string')
    throw new DirectoryError(400, 'thing and property must be given once.');
  const { device, properties } = factsOf(await directory.ask('get', { id: thing }));
  const known = properties.some(({ name }) => name === property);
  const found = known && directory.values.valueOf(device, property);
  if (!found) throw new DirectoryError(404, `There is no value of ${shown(property)} yet.`);
  const { ageMs } = found;
  send(response, 200, JSON_TYPE, {
    value: found.value,
    time: new Date(Date.now() - ageMs).toISOString(),
    age: Math.round(ageMs) / 1000
  });
}

/**
 * @param {Record<string, unknown>} query
 * @param {string} name
 * @param {number} min
 * @param {number} max
 * @param {number} usual without the parameter
 */
function numberOf(query, name, min, max, usual) {
  const text = query[name];
  if (text === undefined) return usual;
  const number = typeof text === 'string' && /^\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (!(number >= min && number <= max))
    throw new DirectoryError(
      400,
      `${name} must be a whole number from ${min} to ${max}, not "${shown(text)}".`
    );
  return number;
}

/** @param {unknown} root of the admin API @returns {string} with slashes at both ends */
function rootOf(root) {
  const path = typeof root === 'string' ? root : '/';
  return `/${path}/`.replace(/\/+/g, '/');
}

module.exports = { MAX_BYTES, ROOT, addEndpoints, rootOf, viewOf };
