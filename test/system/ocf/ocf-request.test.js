'use strict';
// The ocf request node in a gateway, with messages over TCP nodes, and devices of a test.

const net = require('node:net');
const { freePort } = require('../../../bench/harness/net');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { LIGHT, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(120000);

const at = { z: 'tab', x: 0, y: 0 };
let cloud;
let socket;
const received = [];
beforeAll(async () => {
  const port = String(await freePort());
  const split = {
    server: 'server',
    host: '',
    port,
    datamode: 'stream',
    datatype: 'utf8',
    newline: '\\n',
    topic: ''
  };
  const answer =
    'return { payload: JSON.stringify({ mark: msg.mark, payload: msg.payload, coap: msg.coap, error: msg.error && msg.error.code, text: msg.error && msg.error.message }) + "\\n" };';
  cloud = await startGatewayCloud({
    more: [
      { ...at, id: 'in', type: 'tcp in', ...split, wires: [['read']] },
      {
        ...at,
        id: 'read',
        type: 'function',
        func: 'return JSON.parse(msg.payload);',
        outputs: 1,
        wires: [['ask']]
      },
      {
        ...at,
        id: 'ask',
        type: 'seganet-ocf-request',
        version: 1,
        cloud: 'cloud',
        timeoutMs: '1500',
        wires: [['write']]
      },
      { ...at, id: 'catch', type: 'catch', scope: ['ask'], wires: [['write']] },
      { ...at, id: 'write', type: 'function', func: answer, outputs: 1, wires: [['out']] },
      {
        ...at,
        id: 'out',
        type: 'tcp out',
        beserver: 'reply',
        host: '',
        port: '',
        base64: false,
        end: false,
        wires: []
      }
    ]
  });
  socket = net.connect(Number(port), '127.0.0.1');
  await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
  let rest = '';
  socket.on('data', (bytes) => {
    const lines = (rest + bytes).split('\n');
    rest = lines.pop();
    received.push(...lines.map((line) => JSON.parse(line)));
  });
});
afterAll(async () => {
  socket?.destroy();
  await cloud?.stop();
});
const { connected, lamp } = scenes(() => cloud);

let marks = 0;
function send(msg) {
  const mark = ++marks;
  socket.write(`${JSON.stringify({ ...msg, mark })}\n`);
  return mark;
}
const got = (mark, count = 1) =>
  eventually(() => {
    const all = received.filter((each) => each.mark === mark);
    return all.length >= count && all;
  }, `message ${mark}`);
const ask = async (msg) => (await got(send(msg)))[0];

test('reads and changes a resource, and passes errors of the device on', async () => {
  const device = await lamp(newUser());
  const light = { deviceId: device.di, href: LIGHT.href };
  const read = await ask({ ...light, query: { if: 'oic.if.baseline' } });
  expect(read).toMatchObject({
    payload: { on: false, query: 'if=oic.if.baseline' },
    coap: { code: '2.05', format: 10000 }
  });
  expect(await ask({ ...light, method: 'POST', payload: { on: true } })).toMatchObject({
    payload: { on: true },
    coap: { code: '2.04' }
  });
  expect((await ask({ ...light, href: '/none' })).coap.code).toBe('4.04');
});

test('a failure goes to a Catch node with its code', async () => {
  const device = await lamp(newUser());
  const light = { deviceId: device.di, href: LIGHT.href };
  expect((await ask({ ...light, deviceId: '00000000-0000-4000-8000-000000000000' })).error).toBe(
    'SEGANET_OCF_UNKNOWN'
  );
  expect((await ask({ ...light, href: 'light' })).text).toMatch(/msg.href/);
  device.serve = () => undefined;
  expect((await ask(light)).error).toBe('SEGANET_OCF_TIMEOUT');
  device.destroy();
  await eventually(async () => (await ask(light)).error === 'SEGANET_OCF_OFFLINE', 'it is offline');
});

test('observes, continues after a new sign-in, and stops', async () => {
  const device = await lamp(newUser());
  const light = { deviceId: device.di, href: LIGHT.href };
  const mark = send({ ...light, observe: true });
  await got(mark);
  await ask({ ...light, method: 'POST', payload: { on: true } });
  const two = await got(mark, 2);
  expect(two.map(({ payload, coap }) => [payload.on, coap.sequence, coap.observing])).toEqual([
    [false, 0, true],
    [true, 1, true]
  ]);
  device.destroy();
  const again = (await connected()).as(device);
  again.serve = ({ observe }) => ({ body: { on: 'again' }, ...(observe === 0 && { observe: 2 }) });
  expect((await again.signIn()).code).toBe('2.04');
  expect((await got(mark, 3))[2]).toMatchObject({ payload: { on: 'again' }, coap: { sequence: 2 } });
  send({ ...light, observe: false });
  await eventually(() => again.requests.some(({ observe }) => observe === 1), 'the end at the device');
});
