'use strict';
// Server-sent events of a directory over real connections: clients that missed many, and clients that do not read.

const http = require('node:http');
const { EventStreams } = require('../../../nodes/lib/directory/event-streams');
const { eventually } = require('../../../bench/harness/net');

/** 12 MiB in total, three times what may wait for a client. */
const EVENTS = 200;
const BYTES = 60000;

/** @type {import('../../../nodes/lib/directory/directory-store').Event[]} */
let stored;
/** @type {number[]} lengths of the pages that were read */
let pages;
/** @type {EventStreams} */
let streams;
/** @type {http.Server} */
let server;

const event = (id) => ({
  id,
  type: /** @type {const} */ ('thing_updated'),
  thing: `urn:t:${id}`,
  data: { id: `urn:t:${id}`, title: 'x'.repeat(BYTES) }
});
const begin = async (options = {}) => {
  stored = Array.from({ length: EVENTS }, (_, i) => event(i + 1));
  pages = [];
  streams = new EventStreams(async (after, limit) => {
    const page = stored.filter(({ id }) => id > after).slice(0, limit);
    pages.push(page.length);
    return page;
  }, options);
  server = http.createServer((request, response) => {
    const query = Object.fromEntries(new URL(request.url ?? '', 'http://localhost').searchParams);
    void streams.open(Object.assign(request, { query }), response, '');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
};
afterEach(() => {
  streams.close();
  server.closeAllConnections();
  server.close();
});

/** Connects; ids: of the events so far; the client reads only while isReading. */
async function connect(lastId) {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const client = { ids: /** @type {number[]} */ ([]), isClosed: false, pause: () => {}, resume: () => {} };
  await new Promise((resolve, reject) => {
    const request = http.get(
      {
        port,
        host: '127.0.0.1',
        path: '/?diff=true',
        headers: lastId === null ? {} : { 'Last-Event-ID': lastId }
      },
      (response) => {
        let rest = '';
        response.setEncoding('utf8');
        response.on('data', (text) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line.startsWith('id: ')) client.ids.push(Number(line.slice(4)));
        });
        response.on('close', () => (client.isClosed = true));
        response.on('error', () => {});
        client.pause = () => response.pause();
        client.resume = () => response.resume();
        resolve(undefined);
      }
    );
    request.on('error', reject);
  });
  return client;
}
const upTo = (last, first = 1) => Array.from({ length: last - first + 1 }, (_, i) => first + i);

test('sends more missed events than may wait in memory, and those that happen meanwhile, once and in order', async () => {
  await begin();
  const client = await connect(0);
  await eventually(() => client.ids.length > 0);
  for (let id = EVENTS + 1; id <= EVENTS + 100; id++) {
    stored.push(event(id));
    streams.send([event(id)]);
  }
  await eventually(() => client.ids.length >= EVENTS + 100, { timeoutMs: 20000, what: 'all events' });
  streams.send([event(EVENTS + 101)]);
  await eventually(() => client.ids.length > EVENTS + 100);
  expect(client.ids).toEqual(upTo(EVENTS + 101));
  expect(Math.max(...pages)).toBeLessThanOrEqual(50);
});

test('does not read further events for a client that takes none, and ends its connection', async () => {
  await begin({ stallMs: 200 });
  const client = await connect(0);
  client.pause();
  await eventually(() => streams.size === 0, { what: 'the end of the stream' });
  expect(pages.reduce((sum, each) => sum + each, 0)).toBeLessThan(EVENTS);
  client.resume();
  await eventually(() => client.isClosed);
  // It goes on where it was.
  const again = await connect(client.ids.at(-1) ?? 0);
  const all = () => [...client.ids, ...again.ids];
  await eventually(() => all().length >= EVENTS, { timeoutMs: 20000, what: 'the rest' });
  expect(all()).toEqual(upTo(EVENTS));
});

test('ends the connection of a live client that does not read, which then catches up', async () => {
  await begin();
  stored = [];
  const client = await connect(null);
  client.pause();
  for (let id = 1; streams.size > 0 && id < 1000; id++) {
    stored.push(event(id));
    streams.send([event(id)]);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(streams.size).toBe(0);
  client.resume();
  await eventually(() => client.isClosed);
  const again = await connect(client.ids.at(-1) ?? 0);
  await eventually(() => client.ids.length + again.ids.length >= stored.length, { timeoutMs: 20000 });
  expect([...client.ids, ...again.ids]).toEqual(upTo(stored.length));
});
