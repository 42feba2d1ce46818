'use strict';
// The watch of the pods, against a server whose answers a test writes byte by byte.

const https = require('node:https');
const selfsigned = require('selfsigned');
const { eventually } = require('../../../bench/harness/net');
const { PodBells } = require('../../../docker/tenants/lib/drivers/kubernetes-bells');
const { KubernetesClient } = require('../../../docker/tenants/lib/drivers/kubernetes-client');

const POD = 'seganet-tenant-acme-0';
const LONG_MS = 20_000;

/** @type {https.Server} */
let server;
/** @type {KubernetesClient} */
let client;
/** Requests that wait for an answer, and the versions that all have asked for. */
let open = /** @type {import('node:http').ServerResponse[]} */ ([]);
let versions = /** @type {(string | null)[]} */ ([]);

beforeEach(async () => {
  const { private: key, cert } = await selfsigned.generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256'
  });
  [open, versions] = [[], []];
  server = https.createServer({ key, cert }, ({ url = '' }, response) => {
    if (url === '/readyz') return void response.end('ok');
    const { searchParams } = new URL(url, 'https://x');
    expect(searchParams.get('labelSelector')).toBe('seganet.tenant');
    versions.push(searchParams.get('resourceVersion'));
    open.push(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  client = new KubernetesClient({
    server: `https://localhost:${port}`,
    namespace: 'home',
    ca: Buffer.from(cert),
    token: () => ''
  });
});
afterEach(() => {
  client.close();
  server.closeAllConnections();
  server.close();
});

const event = (/** @type {string} */ type, /** @type {string} */ version, name = POD) =>
  `${JSON.stringify({ type, object: { metadata: { name, resourceVersion: version } } })}\n`;

/** @param {number} count */
const asked = (count) => eventually(() => versions.length === count);

/** @param {{ wait: (ms: number) => Promise<void> }} bell @returns {Promise<boolean>} it rang within a moment */
async function rang(bell) {
  const began = performance.now();
  await bell.wait(300);
  return performance.now() - began < 290;
}

test('rings for events of its pod, which may come in any pieces, and for no others', async () => {
  const bell = new PodBells(client).listen(POD);
  await asked(1);
  const text = event('MODIFIED', '7', 'other') + event('BOOKMARK', '8', '') + event('ADDED', '9');
  for (const byte of Buffer.from(text.slice(0, -1))) open[0].write(Buffer.of(byte));
  expect(await rang(bell)).toBe(false);
  open[0].write('\n');
  await bell.wait(LONG_MS);
  expect(await rang(bell)).toBe(false);
  bell.end();
});

test('goes on after the last version when the server ends the watch, without a ring', async () => {
  const bell = new PodBells(client).listen(POD);
  await asked(1);
  open[0].end(event('ADDED', '7') + event('BOOKMARK', '31', ''));
  await bell.wait(LONG_MS);
  await asked(2);
  expect(versions).toEqual([null, '31']);
  expect(await rang(bell)).toBe(false);
  bell.end();
});

test.each(['in its status', 'as an event'])(
  'begins again, and rings, when the version is too old: told %s',
  async (how) => {
    const bell = new PodBells(client).listen(POD);
    await asked(1);
    open[0].end(event('ADDED', '7'));
    await bell.wait(LONG_MS);
    await asked(2);
    const status = { kind: 'Status', code: 410, message: 'too old resource version: 7 (900)' };
    if (how === 'as an event') open[1].end(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
    else open[1].writeHead(410, { 'Content-Type': 'application/json' }).end(JSON.stringify(status));
    await bell.wait(LONG_MS);
    await asked(3);
    expect(versions).toEqual([null, '7', null]);
    bell.end();
  }
);

test.each([
  ['breaks', () => open[0].destroy()],
  ['is no JSON', () => open[0].write('nonsense\n')],
  ['has an object without a version', () => open[0].write('{"type":"ADDED","object":{}}\n')],
  ['has a line without an end', () => open[0].write('x'.repeat((4 << 20) + 1))],
  ['is an error of the server', () => open[0].writeHead(503).end()]
])('rings and tries again when its answer %s', async (_, answer) => {
  const bell = new PodBells(client).listen(POD);
  await asked(1);
  answer();
  await bell.wait(LONG_MS);
  await asked(2);
  bell.end();
});

test('reports a refused watch to all callers that wait, and tries it again for the next one', async () => {
  const bells = new PodBells(client);
  const [first, second] = [bells.listen(POD), bells.listen('other-0')];
  const refusal = { message: 'pods is forbidden: User "u" cannot watch resource "pods" in API group ""' };
  // The second time, the server has said that it is ready.
  for (const count of [1, 2]) {
    await asked(count);
    open[count - 1].writeHead(403, { 'Content-Type': 'application/json' }).end(JSON.stringify(refusal));
  }
  for (const bell of [first, second]) {
    await expect(bell.wait(LONG_MS)).rejects.toThrow(/cannot watch .*manifest --keeper" prints the rights/);
    bell.end();
  }
  const third = bells.listen(POD);
  await asked(3);
  third.end();
});

test('one watch serves all, and ends with the last who listens', async () => {
  const bells = new PodBells(client);
  const [first, second] = [bells.listen(POD), bells.listen(POD)];
  await asked(1);
  open[0].write(event('DELETED', '9'));
  await Promise.all([first.wait(LONG_MS), second.wait(LONG_MS)]);
  first.end();
  open[0].write(event('ADDED', '10'));
  await second.wait(LONG_MS);
  second.end();
  await eventually(() => open[0].destroyed);
  expect(versions).toHaveLength(1);
});
