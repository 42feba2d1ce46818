'use strict';
// The coap observe node with a real CoAP server (node-coap) and the engine in memory.

const coap = require('coap');
const observe = require('../../nodes/seganet-coap-observe');
const gateway = require('./support/gateway');
const { helper, tab, engine, broker, node, unload, until, errors, shown, engines } = gateway;

/** @type {any} */
let server;
let port;
/** @type {Set<any>} responses to observers */
let observers;
let requests;

beforeAll(async () => {
  await new Promise((resolve) => helper.startServer(resolve));
});
beforeEach(async () => {
  observers = new Set();
  requests = [];
  server = coap.createServer((request, response) => {
    requests.push(request.url);
    if (request.url === '/value' && request.headers.Observe === 0) {
      observers.add(response);
      response.on('finish', () => observers.delete(response));
      return response.write('0');
    }
    response.code = request.url === '/none' ? '4.04' : '2.05';
    response.end(request.url);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = server._sock.address().port;
});
afterEach(async () => {
  await unload();
  await new Promise((resolve) => server.close(resolve));
});
afterAll(() => helper.stopServer());

const url = (path) => `coap://127.0.0.1:${port}${path}`;
const flow = (properties, ...more) => [
  tab,
  engine,
  broker,
  node('observe', 'seganet-coap-observe', properties, 'cloud'),
  node('cloud', 'uplink', { broker: 'broker' }),
  ...more
];
const load = (...args) => gateway.load(flow(...args), {}, [observe]);
const pushed = () =>
  engines[0].pushes.map(({ deviceId, topic, payload, cls }) => [deviceId, topic, payload, cls]);

test("turns a device's notifications into records of that device", async () => {
  const resources = [{ url: url('/value'), mode: 'observe', device: 'pump', class: '2' }];
  await load({ resources });
  await until(() => observers.size === 1);
  for (const response of observers) response.write('1');
  await until(() => pushed().length === 2);
  expect(pushed()).toEqual([
    ['pump', 'coap/pump/value', '0', 2],
    ['pump', 'coap/pump/value', '1', 2]
  ]);
  await until(() => /^1 observed/.test(shown('observe')?.text));
  expect(shown('observe').fill).toBe('green');
});

test('reads a resource now on a message', async () => {
  await load({});
  helper.getNode('observe').receive({ url: url('/now') });
  await until(() => pushed().length === 1);
  expect(pushed()).toEqual([['127.0.0.1', 'coap/127.0.0.1/now', '/now', 3]]);
});

test.each([
  [{}, /msg.url must be like coap:\/\/sensor\/temperature, and is missing/],
  [{ url: 'http://x/' }, /msg.url .*http is not supported/],
  [{ url: '/none' }, /could not be read: the device answered 4.04/]
])('fails the message %j with a sentence', async (message, sentence) => {
  await load({});
  const given = message.url?.startsWith('/') ? { url: url(message.url) } : message;
  helper.getNode('observe').receive(given);
  await until(() => errors().length === 1);
  expect(errors()).toEqual([['observe', expect.stringMatching(sentence)]]);
  expect(pushed()).toEqual([]);
});

test('shows a failing resource, and continues with the others', async () => {
  const resources = [
    { url: url('/none'), mode: 'poll' },
    { url: url('/a'), mode: 'poll', intervalS: '1' }
  ];
  await load({ resources });
  await until(() => shown('observe')?.text === '1 of 2 fail: 4.04 not found');
  expect(shown('observe').fill).toBe('yellow');
  expect(pushed()[0]).toEqual(['127.0.0.1', 'coap/127.0.0.1/a', '/a', 3]);
});

test('stops the node with a sentence on a wrong list, without any request', async () => {
  await load({ resources: [{ url: url('/a'), mode: 'poll' }, { url: 'x' }] });
  expect(errors()).toEqual([['observe', expect.stringMatching(/^Resource 2 must be like/)]]);
  expect(requests).toEqual([]);
});

test('releases the device on a deploy', async () => {
  await load({ resources: [{ url: url('/value'), mode: 'observe' }] });
  await until(() => observers.size === 1);
  await unload();
  await until(() => observers.size === 0 || requests.length > 1);
});
