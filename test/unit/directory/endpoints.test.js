'use strict';
// The permissions of the HTTP API, and bodies that are refused.

const { EventEmitter } = require('node:events');
const { Readable } = require('node:stream');
const { addEndpoints, rootOf } = require('../../../nodes/lib/directory/endpoints');
const { readJson } = require('../../../nodes/lib/directory/http-body');

test('every address needs the login: reading seganet.read, changing things seganet.write', () => {
  /** @type {[string, string, any][]} */
  const routes = [];
  const add = (method) => (path, permission, handler) => {
    expect(typeof handler).toBe('function');
    routes.push([method, path, permission]);
  };
  const httpAdmin = Object.fromEntries(
    ['get', 'post', 'put', 'patch', 'delete'].map((name) => [name, add(name)])
  );
  const login = { user: {}, authInfo: { scope: 'seganet.read' } };
  const needsPermission = (name) => Object.assign((_request, _response, next) => next(), { needs: name });
  addEndpoints(
    /** @type {any} */ ({ auth: { needsPermission }, log: { audit: () => {} }, settings: {}, httpAdmin }),
    new Set()
  );
  expect(routes.length).toBeGreaterThan(15);
  for (const [method, path, permission] of routes) {
    if (method === 'get' || !/\/(things|value)\b/.test(path)) {
      expect([method, path, permission.needs]).toEqual([method, path, 'seganet.read']);
      continue;
    }
    const sent = { status: 0, body: {} };
    const response = {
      status: (code) => ((sent.status = code), response),
      setHeader: () => {},
      end: (text) => (sent.body = JSON.parse(text))
    };
    permission(login, response, () => expect('it').toBe('refused'));
    expect([method, path, sent.status]).toEqual([method, path, 403]);
    expect(sent.body).toMatchObject({ status: 403, detail: expect.stringContaining('seganet.write') });
  }
});

/** The handler of a GET of a path, for one directory. @param {string} path @param {any} directory */
function handlerOf(path, directory) {
  /** @type {any} */
  let handler;
  const get = (given, _permission, work) => {
    if (given === path) handler = work;
  };
  const none = () => {};
  const httpAdmin = { get, post: none, put: none, patch: none, delete: none };
  const auth = { needsPermission: () => (_request, _response, next) => next() };
  addEndpoints(
    /** @type {any} */ ({ auth, log: { audit: () => {} }, settings: {}, httpAdmin }),
    new Set([/** @type {any} */ ({ id: 'find', directory })])
  );
  return handler;
}

describe('a list of things', () => {
  const request = { params: { id: 'find' }, query: { limit: '50' }, method: 'GET', headers: {} };
  class Response extends EventEmitter {
    headers = {};
    code = 0;
    destroyed = false;
    status(code) {
      this.code = code;
      return this;
    }
    setHeader(name, value) {
      this.headers[name] = value;
    }
    end() {}
  }

  test('that ends early continues after its last thing', async () => {
    const ask = async () => ({ things: [{ id: 'a' }, { id: 'b' }], total: 90, revision: 1 });
    const response = new Response();
    await handlerOf('/seganet/directory/:id/things', { ask, nonce: 'n' })(request, response);
    expect(response.headers.Link).toMatch(/^<things\?offset=2&limit=50>; rel="next"/);
  });

  test('is one of 8 that are answered at a time; the others get 503', async () => {
    const directory = { ask: async () => ({ things: [], total: 0, revision: 1 }), nonce: 'n' };
    const handler = handlerOf('/seganet/directory/:id/things', directory);
    const get = async () => {
      const response = new Response();
      await handler(request, response);
      return response;
    };
    // Answered, and not read yet.
    const open = await Promise.all(Array.from({ length: 8 }, get));
    expect(open.every(({ code }) => code === 200)).toBe(true);
    const refused = await get();
    expect([refused.code, refused.headers['Retry-After']]).toEqual([503, '1']);
    open[0].emit('close');
    expect([(await get()).code, (await get()).code]).toEqual([200, 503]);
  });
});

describe('a question over HTTP', () => {
  /** @param {object} request @returns {Promise<{ mayCommand: boolean, why?: string }>} what the question may do */
  const rightsOf = async (request) => {
    /** @type {any} */
    let rights;
    const answering = { answer: async (_question, given) => ((rights = given), { value: 1 }) };
    const handler = handlerOf('/seganet/q', { answering, usual: { maxAgeS: 60, askMs: 0 } });
    const response = { status: () => response, setHeader: () => response, end: () => {} };
    const headers = { host: '10.0.0.7:1880' };
    const given = { method: 'GET', query: { property: 't' }, params: {}, ...request };
    await handler({ ...given, headers: { ...headers, ...given.headers } }, response);
    return rights;
  };

  test.each([
    [{}, true],
    [{ headers: { 'sec-fetch-site': 'same-origin' } }, true],
    [{ headers: { 'sec-fetch-site': 'none' } }, true],
    [{ headers: { origin: 'http://10.0.0.7:1880' } }, true],
    [{ headers: { 'sec-fetch-site': 'cross-site' } }, false],
    [{ headers: { 'sec-fetch-site': 'same-site' } }, false],
    [{ headers: { origin: 'http://evil.example' } }, false],
    [{ headers: { origin: 'null' } }, false],
    // Browsers do not send Sec-Fetch-Site to an address with http: of another machine, nor Origin for an image.
    [{ headers: { 'user-agent': 'Mozilla/5.0' } }, false],
    [{ headers: { 'user-agent': 'Mozilla/5.0', referer: 'http://evil.example/10.0.0.7:1880/' } }, false],
    [{ headers: { 'user-agent': 'Mozilla/5.0', referer: 'no address' } }, false],
    [{ headers: { 'user-agent': 'Mozilla/5.0', referer: 'http://10.0.0.7:1880/seganet/find' } }, true],
    [{ headers: { 'user-agent': 'curl/8.5.0' } }, true],
    // The user that adminAuth has for requests without a login.
    [
      { headers: { origin: 'http://evil.example' }, user: { anonymous: true }, authInfo: { scope: '*' } },
      false
    ],
    [{ method: 'HEAD' }, false],
    [{ method: 'HEAD', user: {}, authInfo: { scope: '*' } }, false],
    // A page of another site does not know the token of a login.
    [{ headers: { origin: 'http://other.example' }, user: {}, authInfo: { scope: '*' } }, true],
    [{ user: {}, authInfo: { scope: 'seganet.read' } }, false]
  ])('%p may send commands: %p', async (request, may) =>
    expect((await rightsOf(request)).mayCommand).toBe(may)
  );
});

test('knows where the admin API is', () => {
  expect([undefined, false, '/', 'red', '/red/', '//a//b'].map(rootOf)).toEqual([
    '/',
    '/',
    '/',
    '/red/',
    '/red/',
    '/a/b/'
  ]);
});

describe('a body', () => {
  const request = (text, headers = {}) =>
    Object.assign(Readable.from([Buffer.from(text)]), {
      headers: { 'content-type': 'application/td+json', ...headers }
    });
  const types = ['application/td+json'];

  test('is JSON of the type, in pieces, too', async () => {
    expect(await readJson(request('{"a":1}'), types)).toEqual({ a: 1 });
    expect(
      await readJson(request('{}', { 'content-type': 'Application/TD+JSON; charset=utf-8' }), types)
    ).toEqual({});
    const pieces = Object.assign(
      Readable.from([...Buffer.from('{"a":"ä"}')].map((byte) => Buffer.from([byte]))),
      {
        headers: { 'content-type': types[0] }
      }
    );
    expect(await readJson(pieces, types)).toEqual({ a: 'ä' });
    const parsed = { headers: { 'content-type': types[0] }, _body: true, body: { a: 2 } };
    expect(await readJson(parsed, types)).toEqual({ a: 2 });
  });

  test.each([
    ['', {}, 400],
    ['{', {}, 400],
    ['\0', {}, 400],
    [`"${'x'.repeat(300000)}"`, {}, 413],
    ['{}', { 'content-type': 'text/plain' }, 415],
    ['{}', { 'content-type': '' }, 415],
    ['{}', { 'content-encoding': 'gzip' }, 415]
  ])('is refused, case %#', async (text, headers, status) => {
    await expect(readJson(request(text, headers), types)).rejects.toMatchObject({ status });
  });
});
