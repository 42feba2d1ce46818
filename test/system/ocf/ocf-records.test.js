'use strict';
// Posts to topics of the ocf cloud node become records that reach the uplink, whatever happens to the gateway.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const cbor = require('cbor');
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
  /** @type {mqtt.MqttClient | undefined} */
  let reader;
  let uplinkPort;
  const { connected, signedIn } = scenes(() => cloud);

  beforeAll(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-ocf-'));
    uplinkPort = await freePort();
    cloud = await startGatewayCloud({ uplink: `mqtt://127.0.0.1:${uplinkPort}` });
  });
  afterAll(async () => {
    reader?.end(true);
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
    /** @type {string[]} */
    const lines = [];
    cloud = await cloud.restart('SIGKILL', async () => {
      broker = startMosquitto(folder, 'up', [`listener ${uplinkPort} 127.0.0.1`, 'allow_anonymous true']);
      await waitForPort(uplinkPort);
      reader = mqtt.connect(`mqtt://127.0.0.1:${uplinkPort}`, { clientId: 'reader' });
      reader.on('message', (_topic, payload) =>
        lines.push(...payload.toString().split('\n').filter(Boolean))
      );
      await reader.subscribeAsync('up/#', { qos: 1 });
    });
    const again = (await connected()).as(device);
    expect((await again.signIn()).code).toBe('2.04');
    // Topics are in memory only.
    expect((await again.request('PUT', '/oic/ps/room')).code).toBe('2.01');
    expect((await again.request('POST', '/oic/ps/room', { body: { mark: 51 } })).code).toBe('2.04');
    const records = () => lines.map((line) => JSON.parse(line)).filter(({ b }) => b);
    const marks = () => new Set(records().map(({ b }) => cbor.decode(Buffer.from(b, 'base64')).mark));
    await eventually(() => marks().size >= 51, { timeoutMs: 60000, what: '51 different records' }).catch(
      (error) => {
        throw new Error(`${error.message}: ${lines.length} lines, first ${lines[0]}`);
      }
    );
    expect([...marks()].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 51 }, (_none, index) => index + 1)
    );
    expect(lines.join('\n')).toContain(`"${device.di}"`);
    expect(lines.join('\n')).toContain('"ps/room"');
  });
});
