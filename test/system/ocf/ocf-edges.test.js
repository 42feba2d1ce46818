'use strict';
// Edges of the ocf cloud node that need an uplink, a crash, or a small peer.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const cbor = require('cbor');
const mqtt = require('mqtt');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { CSM } = require('../../../flows/demo/ocf/coap-tcp');
const { uint } = require('../../../flows/demo/ocf/client');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { LIGHT, eventually, newUser, scenes } = require('../../fixtures/ocf/scenes');

jest.setTimeout(180000);

const [BLOCK2, MAX_MESSAGE_SIZE] = [23, 2];

describe('an ocf cloud node', () => {
  const { test: withBroker } = needs('mosquitto');
  let folder, cloud, broker, uplinkPort;
  /** @type {mqtt.MqttClient | undefined} */
  let reader;
  /** @type {{ d: string, t: string, b?: string, p?: any }[]} */
  const arrived = [];
  const { connected, lamp, signedIn } = scenes(() => cloud);

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
    uplinkPort = await freePort();
    cloud = await startGatewayCloud({
      uplink: `mqtt://127.0.0.1:${uplinkPort}`,
      node: { recordTypes: 'core.light', presenceTopic: 'presence/{device}', keepAliveS: '3' }
    });
  }, 60000);
  afterAll(async () => {
    reader?.end(true);
    await broker?.stop();
    await cloud?.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  async function startBroker() {
    broker = startMosquitto(folder, 'up', [`listener ${uplinkPort} 127.0.0.1`, 'allow_anonymous true']);
    await waitForPort(uplinkPort);
    reader = mqtt.connect(`mqtt://127.0.0.1:${uplinkPort}`, { clientId: 'reader' });
    reader.on('message', (_topic, payload) => {
      for (const line of payload.toString().split('\n').filter(Boolean)) arrived.push(JSON.parse(line));
    });
    await reader.subscribeAsync('up/#', { qos: 1 });
  }
  /** Marks of the lamp's records, as they arrived. @param {any} device */
  const marks = (device) =>
    arrived
      .filter(({ d, t }) => d === device.di && t === `${device.di}${LIGHT.href}`)
      .map(({ b = '' }) => cbor.decode(Buffer.from(b, 'base64')).mark);

  withBroker(
    'values that became records outlive a kill -9, and the present value follows the next sign-in',
    async () => {
      const device = await lamp(newUser());
      await eventually(() => device.observers.length > 0, 'the gateway observes the lamp');
      const stored = async () => (await cloud.gateway.stats('engine')).counters.recordsStored;
      await eventually(async () => (await stored()) >= 2, 'presence and first value are on disk');
      const before = await stored();
      const [observer] = device.observers;
      for (let mark = 1; mark <= 20; mark++) {
        device.respond(observer.token, { observe: ++observer.next, body: { mark } });
        // The latest value counts, so each waits until the one before is on disk.
        await eventually(async () => (await stored()) >= before + mark, `record ${mark} is on disk`);
      }
      cloud = await cloud.restart('SIGKILL', startBroker);
      const again = (await connected()).as(device);
      again.serve = ({ observe, path: href }) =>
        href === LIGHT.href ? { body: { mark: 100 }, ...(observe === 0 && { observe: 2 }) } : null;
      expect((await again.signIn()).code).toBe('2.04');
      await eventually(() => marks(device).includes(100), 'the present value arrives');
      await eventually(
        () => new Set(marks(device).filter((mark) => mark > 0)).size === 21,
        'all values arrive'
      );
    }
  );

  withBroker('D: the presence of a device that falls silent is recorded with its reason', async () => {
    const device = await lamp(newUser());
    const states = () =>
      arrived
        .filter(({ t }) => t === `presence/${device.di}`)
        .map(({ p, b }) => p ?? JSON.parse(Buffer.from(b ?? '', 'base64').toString()));
    await eventually(() => states().some(({ state }) => state === 'connected'), 'it is recorded as on');
    device.isSilent = true;
    await device.closed;
    await eventually(() => states().some(({ state }) => state === 'disconnected'), 'it is recorded as off');
    expect(states().map(({ state, reason }) => [state, reason])).toEqual([
      ['connected', undefined],
      ['disconnected', 'keepAlive']
    ]);
  });

  test.each([1152, 4096])(
    'H: an answer of 100,000 bytes arrives in messages that a peer with %i bytes takes',
    async (most) => {
      const user = newUser();
      const device = await lamp(user);
      const controller = await signedIn(user);
      if (most !== 1152) controller.send({ code: CSM, options: [[MAX_MESSAGE_SIZE, uint(most)]] });
      const bytes = Buffer.from(Array.from({ length: 100000 }, (_none, n) => (n * 7) & 255));
      device.serve = () => ({ body: { bytes } });
      const parts = [];
      for (let num = 0, isMore = true; isMore; num++) {
        const options = num === 0 ? [] : [[BLOCK2, uint((num << 4) | 6)]];
        const answer = await controller.request('GET', device.href, { options });
        expect(answer.code).toBe('2.05');
        // Head, token and options need room in the message, too.
        expect(answer.payload.length).toBeLessThan(most);
        const [, block] = answer.options.find(([number]) => number === BLOCK2) ?? [0, Buffer.from([0])];
        expect([num, block.readUIntBE(0, block.length) >> 4]).toEqual([num, num]);
        isMore = (block[block.length - 1] & 8) > 0;
        parts.push(answer.payload);
      }
      expect(parts.length).toBeGreaterThan(90);
      expect(cbor.decodeFirstSync(Buffer.concat(parts)).bytes.equals(bytes)).toBe(true);
    }
  );

  test('a device that was deleted while it was away, or while the gateway was, is unknown when it returns', async () => {
    const user = newUser();
    const [one, two] = [await lamp(user), await lamp(user)];
    one.destroy();
    two.destroy();
    const url = `http://127.0.0.1:${cloud.gateway.adminPort}/seganet/ocf/cloud/delete`;
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ device: one.di });
    const answer = await fetch(url, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toEqual([200, { deleted: true }]);
    const check = async (device) => {
      const returned = (await connected()).as(device);
      expect((await returned.signIn()).code).toBe('4.01');
      expect((await returned.refresh()).code).toBe('4.01');
      const controller = await signedIn(user);
      expect((await controller.request('GET', device.href)).code).toBe('4.04');
      const found = await controller.request('GET', '/oic/res', { query: ['rt=core.light'] });
      expect(found.value.filter(({ anchor }) => anchor === `ocf://${device.di}`)).toEqual([]);
    };
    await check(one);
    cloud = await cloud.restart('SIGTERM', async () => {
      const store = new SqliteStore(path.join(cloud.gateway.home, 'ocf.db'));
      expect(await store.write('removeDevice', { di: two.di })).toBe(true);
      await store.close();
    });
    await check(two);
  });
});
