'use strict';
// The HTTP API of a directory, assertion by assertion: the names are those of the W3C Recommendation WoT Discovery of
// 5 December 2023. docs/use/directory.md lists the ones that the directory does not implement.

const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const helper = require('node-red-node-test-helper');
const { thermometer, thing, TD_CONTEXT } = require('../fixtures/directory/things');
const { eventually } = require('../../bench/harness/net');

const find = require('../../nodes/seganet-find');
const ROOT = '/seganet/directory/things-of-test';
const TD = 'application/td+json';
const DISCOVERY = 'https://www.w3.org/2022/wot/discovery';

/** @type {string} */
let folder;
/** The admin API, for requests that do not end. @type {http.Server} */
let server;
let port = 0;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-directory-api-'));
  await new Promise((resolve) => helper.startServer(resolve));
  const flow = [{ id: 'things-of-test', type: 'seganet-find', version: 1, folder, wires: [[]] }];
  await helper.load([find], flow);
  server = http.createServer(/** @type {any} */ (helper)._httpAdmin);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  port = /** @type {any} */ (server.address()).port;
});
afterAll(async () => {
  await helper.unload();
  server.close();
  await new Promise((resolve) => helper.stopServer(resolve));
  fs.rmSync(folder, { recursive: true, force: true });
});

const request = (method, url, body, type = TD, headers = {}) => {
  let sent = helper.request()[method](url.startsWith('/') ? url : `${ROOT}/${url}`);
  for (const [name, value] of Object.entries(headers)) sent = sent.set(name, value);
  if (body === undefined) return sent;
  return sent.set('Content-Type', type).send(typeof body === 'string' ? body : JSON.stringify(body));
};
const get = (url, headers) => request('get', url, undefined, TD, headers);
const put = (id, td, type) => request('put', `things/${encodeURIComponent(id)}`, td, type);
const patch = (id, changes, type = 'application/merge-patch+json') =>
  request('patch', `things/${encodeURIComponent(id)}`, changes, type);
const remove = (id) => request('delete', `things/${encodeURIComponent(id)}`);
let last = 0;
/** Stores a new thing. @returns {Promise<string>} its id */
async function stored(more = {}) {
  const id = `urn:test:${++last}`;
  await put(id, thing({ id, ...more })).expect(201);
  return id;
}
const isProblem = (response, status) => {
  expect([response.status, response.headers['content-type']]).toEqual([
    status,
    'application/problem+json; charset=utf-8'
  ]);
  expect(response.body).toMatchObject({ title: expect.any(String), status, detail: expect.any(String) });
};

/** A client of server-sent events. */
class Client {
  constructor(url = 'events', headers = {}) {
    this.text = '';
    this.request = http.get({ port, path: `${ROOT}/${url}`, headers }, (response) => {
      this.headers = response.headers;
      this.status = response.statusCode;
      response.on('data', (part) => (this.text += part));
      response.on('error', () => {});
    });
    this.request.on('error', () => {});
  }

  async opened() {
    await eventually(() => this.text !== '', { what: 'the stream is open' });
    return this;
  }

  get events() {
    return [...this.text.matchAll(/event: (.*)\nid: (.*)\ndata: (.*)\n\n/g)].map(([, type, id, data]) => ({
      type,
      id: Number(id),
      data: JSON.parse(data)
    }));
  }

  async has(count) {
    await eventually(() => this.events.length >= count, { what: `${count} events` });
    return this.events;
  }

  close() {
    this.request.destroy();
  }
}

/** @type {[string, () => Promise<unknown>][]} */
const assertions = [
  [
    'introduction-well-known-path introduction-well-known-thing-description exploration-directory-description-type',
    async () => {
      const { body, headers } = await get('/.well-known/wot').expect(200);
      expect(headers['content-type']).toBe(TD);
      expect(body['@type']).toBe('ThingDirectory');
      expect(body['@context']).toContain(DISCOVERY);
      expect(new URL(body.properties.things.forms[0].href, body.base).pathname).toMatch(/\/things/);
      expect((await get('').expect(200)).body.id).toBe(body.id);
    }
  ],
  [
    'exploration-server-http-method exploration-server-http-resp exploration-server-http-resp-content-type exploration-server-http-resp-json exploration-server-http-head tdd-http-head',
    async () => {
      const id = await stored();
      for (const url of [`things/${id}`, 'things', '/.well-known/wot', 'search/jsonpath?query=$', 'events']) {
        const response = await request('head', url).expect(200);
        expect([response.text ?? '', response.headers['content-type']]).toEqual(['', expect.any(String)]);
      }
    }
  ],
  [
    'tdd-things-create-known-vs-anonymous tdd-things-create-known-td tdd-things-create-known-contenttype tdd-things-create-known-td-resp',
    async () => {
      await put('urn:known:1', thing({ id: 'urn:known:1' })).expect(201);
      isProblem(await request('post', 'things', thing({ id: 'urn:known:2' })), 400);
      isProblem(await put('urn:known:2', thing({ id: 'urn:known:3' })), 400);
      isProblem(await put('urn:known:2', thing()), 400);
      isProblem(await put('urn:known:2', thing({ id: 'urn:known:2' }), 'text/plain'), 415);
    }
  ],
  [
    'tdd-things-create-anonymous-td tdd-things-create-anonymous-contenttype tdd-things-create-anonymous-id tdd-things-create-anonymous-td-resp tdd-anonymous-td-identifier tdd-anonymous-td-local-uuid',
    async () => {
      const { headers } = await request('post', 'things', thing({ title: 'anonymous' })).expect(201);
      const { body } = await get(headers.location).expect(200);
      expect(body).toMatchObject({
        title: 'anonymous',
        id: expect.stringMatching(
          /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
        )
      });
      const listed = (await get('things?limit=1000')).body.find(({ title }) => title === 'anonymous');
      expect(listed.id).toBe(body.id);
      await request('post', 'things', thing({ title: 'as plain JSON' }), 'application/json').expect(201);
    }
  ],
  [
    'tdd-things-retrieve tdd-things-retrieve-resp tdd-things-retrieve-resp-content-type tdd-things-default-representation tdd-context-injection',
    async () => {
      const id = await stored({ title: 'ä "quoted"' });
      const { body, headers } = await get(`things/${encodeURIComponent(id)}`).expect(200);
      expect(headers['content-type']).toBe(TD);
      expect(body).toMatchObject({ id, title: 'ä "quoted"', '@context': [TD_CONTEXT, DISCOVERY] });
      isProblem(await get('things/urn:none'), 404);
    }
  ],
  [
    'tdd-absolute-time tdd-registrationinfo-vocab-created tdd-registrationinfo-vocab-modified tdd-registrationinfo-vocab-expires tdd-registrationinfo-vocab-ttl tdd-registrationinfo-vocab-retrieved',
    async () => {
      const id = await stored({ registration: { ttl: 3600, expires: '2020-01-01T00:00:00Z' } });
      const { registration } = (await get(`things/${id}`)).body;
      const { created, modified, expires, retrieved, ttl } = registration;
      expect(ttl).toBe(3600);
      expect(Date.parse(expires) - Date.parse(modified)).toBe(3600000);
      for (const time of [created, modified, expires, retrieved]) expect(time).toMatch(/^\d{4}-.*T.*Z$/);
      // What was retrieved can be stored again.
      const { body } = await get(`things/${id}`);
      await put(id, body).expect(204);
    }
  ],
  [
    'tdd-registrationinfo-expiry-purge',
    async () => {
      const id = await stored({ registration: { expires: '2020-01-01T00:00:00Z' } });
      isProblem(await get(`things/${id}`), 404);
    }
  ],
  [
    'tdd-things-update tdd-things-update-contenttype tdd-things-update-resp',
    async () => {
      const id = await stored({ description: 'old' });
      await put(id, thing({ id, title: 'new' })).expect(204);
      const { body } = await get(`things/${id}`);
      expect([body.title, body.description]).toEqual(['new', undefined]);
    }
  ],
  [
    'tdd-things-update-partial tdd-things-update-partial-mergepatch tdd-things-update-partial-contenttype tdd-things-update-partial-partialtd tdd-things-update-partial-resp',
    async () => {
      const id = await stored({ description: 'old', properties: { a: { forms: [{ href: 'x:a' }] } } });
      await patch(id, { title: 'new', description: null, properties: { a: { unit: 'K' } } }).expect(204);
      const { body } = await get(`things/${id}`);
      expect([body.title, body.description, body.properties.a.unit]).toEqual(['new', undefined, 'K']);
      isProblem(await patch(id, { title: null }), 400);
      isProblem(await patch(id, { id: 'urn:other' }), 400);
      isProblem(await patch(id, '[]'), 400);
      isProblem(await patch(id, { title: 'x' }, 'application/json'), 415);
      isProblem(await patch('urn:none', { title: 'x' }), 404);
    }
  ],
  [
    'tdd-things-delete tdd-things-delete-resp',
    async () => {
      const id = await stored();
      await remove(id).expect(204);
      isProblem(await remove(id), 404);
      isProblem(await get(`things/${id}`), 404);
    }
  ],
  [
    'tdd-things-list-only tdd-things-crud tdd-things-crudl tdd-things-list-method tdd-things-list-resp tdd-things-list-resp-content-type tdd-things-list-pagination-order-default',
    async () => {
      await stored();
      const { body, headers } = await get('things?limit=1000').expect(200);
      expect(headers['content-type']).toBe('application/ld+json');
      const ids = body.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort());
    }
  ],
  [
    'tdd-things-list-pagination tdd-things-list-pagination-limit tdd-things-list-pagination-header-nextlink tdd-things-list-pagination-header-nextlink-attr tdd-things-list-pagination-header-nextlink-base tdd-things-list-pagination-header-canonicallink',
    async () => {
      await stored();
      await stored();
      const all = (await get('things?limit=1000')).body.map(({ id }) => id);
      const seen = [];
      let etag = '';
      for (let next = 'things?limit=2'; next;) {
        const { body, headers } = await get(next).expect(200);
        seen.push(...body.map(({ id }) => id));
        next = /<([^>]*)>; rel="next"/.exec(headers.link)?.[1];
        if (next) expect(next).toBe(`things?offset=${seen.length}&limit=2`);
        [, etag] = /<things>; rel="canonical"; etag="(.*)"/.exec(headers.link);
      }
      expect(seen).toEqual(all);
      await stored();
      expect((await get('things?limit=2')).headers.link).not.toContain(etag);
      for (const query of ['limit=0', 'limit=1001', 'offset=-1', 'format=table', 'sort=id'])
        isProblem(await get(`things?${query}`), 400);
    }
  ],
  [
    'tdd-things-list-pagination-collection',
    async () => {
      const { body } = await get('things?limit=1&format=collection').expect(200);
      expect(body).toMatchObject({
        '@context': DISCOVERY,
        '@type': 'ThingCollection',
        total: expect.any(Number),
        '@id': 'things?offset=0&limit=1&format=collection',
        next: 'things?offset=1&limit=1&format=collection',
        members: [expect.objectContaining({ id: expect.any(String) })]
      });
    }
  ],
  [
    'tdd-validation-syntactic tdd-validation-jsonschema tdd-validation-result tdd-validation-response tdd-validation-response-utf-8',
    async () => {
      const wrong = { '@context': TD_CONTEXT, properties: { a: {} } };
      const response = await request('post', 'things', wrong);
      isProblem(response, 400);
      const fields = response.body.validationErrors.map(({ field, description }) => [
        field,
        typeof description
      ]);
      expect(fields).toEqual([
        ['title', 'string'],
        ['securityDefinitions', 'string'],
        ['security', 'string'],
        ['properties.a.forms', 'string']
      ]);
      isProblem(await request('post', 'things', '{'), 400);
      isProblem(await request('post', 'things', 'x'.repeat(300000)), 413);
    }
  ],
  [
    'tdd-http-error-response tdd-http-error-response-utf-8 tdd-http-unsupported-feature',
    async () => {
      isProblem(await get('search/xpath?query=//a'), 501);
      isProblem(await get('things?sort_by=title'), 501);
      isProblem(await get('search/jsonpath'), 400);
      isProblem(await get('events/thing_moved'), 404);
    }
  ],
  [
    'tdd-notification tdd-notification-sse tdd-notification-event-types tdd-notification-data tdd-notification-data-td-id',
    async () => {
      const client = await new Client().opened();
      expect([client.status, client.headers['content-type']]).toEqual([200, 'text/event-stream']);
      const id = await stored();
      await patch(id, { title: 'new' });
      await remove(id);
      expect((await client.has(3)).map(({ type, data }) => [type, data])).toEqual([
        ['thing_created', { id }],
        ['thing_updated', { id }],
        ['thing_deleted', { id }]
      ]);
      client.close();
    }
  ],
  [
    'tdd-notification-event-id',
    async () => {
      const first = await new Client().opened();
      const id = await stored();
      const [{ id: event }] = await first.has(1);
      first.close();
      await patch(id, { title: 'missed' });
      const again = new Client('events', { 'Last-Event-ID': String(event) });
      expect(await again.has(1)).toMatchObject([{ type: 'thing_updated', id: event + 1 }]);
      await remove(id);
      expect(await again.has(2)).toHaveLength(2);
      again.close();
      isProblem(await get('events', { 'Last-Event-ID': 'x' }), 400);
    }
  ],
  [
    'tdd-notification-filter-type',
    async () => {
      const client = await new Client('events/thing_deleted').opened();
      const id = await stored();
      await remove(id);
      expect((await client.has(1)).map(({ type }) => type)).toEqual(['thing_deleted']);
      client.close();
    }
  ],
  [
    'tdd-notification-data-create-full tdd-notification-data-update-diff tdd-notification-data-update-id tdd-notification-data-delete-diff',
    async () => {
      const client = await new Client('events?diff=true').opened();
      const id = await stored({ description: 'a' });
      await patch(id, { description: null, title: 'b' });
      await remove(id);
      const [created, updated, deleted] = (await client.has(3)).map(({ data }) => data);
      expect(created).toEqual(thing({ id, description: 'a' }));
      expect(updated).toEqual({ id, description: null, title: 'b' });
      expect(deleted).toEqual({ id });
      client.close();
    }
  ],
  [
    'tdd-search-large-tdds',
    async () => {
      const id = await stored({ title: 'needle' });
      const query = encodeURIComponent("$[?@.title=='needle'].id");
      const { body, headers } = await get(`search/jsonpath?query=${query}`).expect(200);
      expect([body, headers['content-type']]).toEqual([[id], 'application/json']);
      isProblem(await get('search/jsonpath?query=%24%5B'), 400);
    }
  ],
  [
    'tdd-search-sparql tdd-search-sparql-version tdd-search-sparql-method-get tdd-search-sparql-method-post tdd-search-sparql-resp-select-ask',
    async () => {
      await put('urn:room:test', thermometer('urn:room:test', '105')).expect(201);
      const query =
        'SELECT ?t WHERE { ?t <https://brickschema.org/schema/Brick#hasLocation> <urn:room:105> }';
      const expected = { bindings: [{ t: { type: 'uri', value: 'urn:room:test' } }] };
      const url = `search/sparql?query=${encodeURIComponent(query)}`;
      const { body, headers } = await get(url).expect(200);
      expect([body.results, headers['content-type']]).toEqual([expected, 'application/json']);
      const named = await get(url, { Accept: 'application/sparql-results+json' });
      expect(named.headers['content-type']).toBe('application/sparql-results+json');
      const posted = await request('post', 'search/sparql', query, 'application/sparql-query').expect(200);
      expect(posted.body.results).toEqual(expected);
      expect((await get(`search/sparql?query=${encodeURIComponent('ASK {?a ?b ?c}')}`)).body.boolean).toBe(
        true
      );
    }
  ],
  [
    'tdd-search-sparql-resp-describe-construct',
    async () => {
      for (const query of ['DESCRIBE <urn:room:test>', 'CONSTRUCT WHERE { <urn:room:test> a ?b }']) {
        const { body, headers } = await get(`search/sparql?query=${encodeURIComponent(query)}`).expect(200);
        expect(headers['content-type']).toBe('application/ld+json');
        expect(body.find((each) => each['@id'] === 'urn:room:test')).toBeDefined();
      }
    }
  ],
  [
    'tdd-search-sparql-error',
    async () => {
      for (const query of [
        'DROP ALL',
        'INSERT DATA {<a:a> <a:b> 1}',
        'x',
        'SELECT * {SERVICE <http://127.0.0.1> {}}'
      ])
        isProblem(await get(`search/sparql?query=${encodeURIComponent(query)}`), 400);
    }
  ]
];

test.each(assertions)('%s', (_names, check) => check());

test('docs/use/directory.md names every assertion that is tested here', () => {
  const docs = fs.readFileSync(path.join(__dirname, '../../docs/use/directory.md'), 'utf8');
  const names = assertions.flatMap(([each]) => each.split(' '));
  expect(names.filter((name) => !docs.includes(name))).toEqual([]);
  expect(new Set(names).size).toBe(names.length);
});
