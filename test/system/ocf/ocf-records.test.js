'use strict';
// Posts to topics of the ocf cloud node become records that reach the uplink, whatever happens to the gateway.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { startMosquitto } = require('../../../bench/harness/cloud');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { needs } = require('../../../bench/harness/tools');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { scenes, newUser } = require('../../fixtures/ocf/scenes');

const { describe } = needs('mosquitto');

jest.setTimeout(240000);

describe('a post to a topic', () => {
  let folder;
  let cloud;
  let broker;
  let uplinkPort;
  const { connected, signedIn } = scenes(() => cloud);

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
    uplinkPort = await freePort();
    cloud = await startGatewayCloud({ uplink: `mqtt://127.0.0.1:${uplinkPort}` });
  });
  afterAll(async () => {
    await broker?.stop();
    await cloud?.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  });

  test('reaches the cloud after 2.04, also if the gateway is killed before the uplink is connected', async () => {
    const device = await signedIn(newUser());
    expect((await device.request('PUT', '/oic/ps/room')).code).toBe('2.01');
    for (let mark = 1; mark <= 50; mark++) {
      expect((await device.request('POST', '/oic/ps/room', { body: { mark } })).code).toBe('2.04');
    }
    cloud = await cloud.restart('SIGKILL');
    const again = (await connected()).as(device);
    expect((await again.signIn()).code).toBe('2.04');
    expect((await again.request('PUT', '/oic/ps/room')).code).toBe('2.01');
    expect((await again.request('POST', '/oic/ps/room', { body: { mark: 51 } })).code).toBe('2.04');

    broker = startMosquitto(folder, 'up', [`listener ${uplinkPort} 127.0.0.1`, 'allow_anonymous true']);
    await waitForPort(uplinkPort);
    const client = mqtt.connect(`mqtt://127.0.0.1:${uplinkPort}`, { clientId: 'reader' });
    /** @type {{ device: string, topic: string, payload: string }[]} */
    const lines = [];
    client.on('message', (_topic, payload) => {
      for (const line of payload.toString().split('\n')) if (line) lines.push(line);
    });
    try {
      await client.subscribeAsync('up/#', { qos: 1 });
      await eventually(() => lines.length >= 51, { timeoutMs: 60000, what: '51 records' });
    } finally {
      client.end(true);
    }
    const records = lines.map((line) => JSON.parse(line));
    expect(lines[0]).toContain(device.di);
    expect(lines[0]).toContain('ps/room');
    expect(new Set(records.map(({ seq, ts }) => `${ts} ${seq}`)).size).toBeGreaterThanOrEqual(1);
    console.log(lines[0], lines[50]);
  });
});
