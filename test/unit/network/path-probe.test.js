'use strict';
// Valid answers, with the native part and without it.

const { once } = require('node:events');
const net = require('node:net');
const { freePort } = require('../../../bench/harness/net');

/** @type {net.Server} */
let server;
beforeAll(async () => {
  server = net.createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

/** @param {boolean} hasNative */
function prober(hasNative) {
  jest.resetModules();
  if (hasNative) jest.unmock('../../../native');
  else {
    jest.doMock('../../../native', () => {
      throw new Error('not built');
    });
  }
  return require('../../../nodes/lib/network/paths/path-probe').prober();
}

const QUESTION = { host: '127.0.0.1', device: 'lo', address: '127.0.0.1', timeoutMs: 5000 };

describe.each([
  ['native', true],
  ['without the native part', false]
])('%s', (_, hasNative) => {
  test('takes a connection and a refusal as answers, but not an address that is not ours', async () => {
    const { ask, isUrgent } = prober(hasNative);
    expect(isUrgent).toBe(hasNative);
    const { port } = /** @type {net.AddressInfo} */ (server.address());
    expect(await ask({ ...QUESTION, port })).toEqual({ ok: true, why: '127.0.0.1 answers' });
    expect(await ask({ ...QUESTION, port: await freePort() })).toMatchObject({ ok: true });
    expect(await ask({ ...QUESTION, port, address: '192.0.2.1' })).toEqual({
      ok: false,
      why: `127.0.0.1 port ${port} cannot be reached: EADDRNOTAVAIL`
    });
  });
});

test('reports silence with the time waited', () => {
  const { readError } = require('../../../nodes/lib/network/paths/path-probe');
  const error = Object.assign(new Error('x'), { code: 'ETIMEDOUT' });
  expect(readError(error, { ...QUESTION, port: 8883 })).toEqual({
    ok: false,
    why: '127.0.0.1 port 8883 did not answer in 5000 ms'
  });
});
