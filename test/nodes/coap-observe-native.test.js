'use strict';
// Observed values pass through the real engine: as messages, with their origin.

const coap = require('coap');
const { replaceModules } = require('../../nodes/lib/engine/modules');
const native = require('../../native');
const observe = require('../../nodes/seganet-coap-observe');
const { helper, tab, engine, node, load, unload, inbox, until, parts } = require('./support/gateway');

beforeAll(() => helper.startServer());
afterEach(async () => {
  await helper.unload();
  replaceModules();
});
afterAll(() => helper.stopServer());

test('turns 1,000 notifications of a device into 1,000 messages, in order', async () => {
  const observers = [];
  const server = coap.createServer((_request, response) => {
    response.write('0');
    observers.push(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `coap://127.0.0.1:${server._sock.address().port}/count`;
  const flow = [
    tab,
    { ...engine, workers: '1', acknowledge: 'received' },
    node(
      'observe',
      'seganet-coap-observe',
      { resources: [{ url, mode: 'observe', device: 'meter' }] },
      'out'
    ),
    node('out', 'helper')
  ];
  await load(flow, {}, [observe, () => replaceModules({ ...parts, native })]);
  const messages = inbox('out');
  await until(() => observers.length === 1 && messages.length === 1);
  for (let count = 1; count <= 1000; count++) {
    observers[0].write(String(count));
    // As many as a device's radio would send at once.
    if (count % 50 === 0) await until(() => messages.length === count + 1);
  }
  expect(messages.map(({ payload }) => Number(payload))).toEqual(
    Array.from({ length: 1001 }, (_none, index) => index)
  );
  expect(messages[7]).toMatchObject({
    deviceId: 'meter',
    topic: 'coap/meter/count',
    priority: 3,
    seq: messages[6].seq + 1,
    source: { protocol: 'coap', nodeId: 'observe' }
  });
  observers[0].end();
  await unload();
  await new Promise((resolve) => server.close(resolve));
});
