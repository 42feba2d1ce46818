'use strict';
// The command direction with real components: from a client of the cloud's broker to devices of a gateway, and the
// reports to the cloud.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { startCloud } = require('../../bench/harness/cloud');
const { connectDevice } = require('../fixtures/devices/device');
const { startGateway } = require('../../bench/harness/gateway');
const { eventually, freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs('mosquitto');

jest.setTimeout(60000);

const FLEET = 1000;
const GATEWAY = 'gw-cmd-test';

describe('commands', () => {
  /** @type {import('../../bench/harness/cloud').Cloud} */
  let cloud;
  /** @type {import('../../bench/harness/gateway').Gateway} */
  let gateway;
  /** @type {mqtt.MqttClient} */
  let operator;
  /** @type {{ device: string, rest: string, status: string, id: string, reason?: string }[]} */
  const reports = [];
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-commands-'));
  /** @type {mqtt.MqttClient[]} */
  const devices = [];

  let editorPort = 0;

  const start = async () => {
    const env = { SEGANET_COMMANDS: 'on', SEGANET_HOME: home, SEGANET_EDITOR_PORT: String(editorPort) };
    gateway = await startGateway(cloud, { gatewayId: GATEWAY, env });
    await cloud.waitForClient(new RegExp(`^${GATEWAY}-cmd$`));
  };
  beforeAll(async () => {
    editorPort = await freePort();
    cloud = await startCloud();
    operator = await mqtt.connectAsync(`mqtt://127.0.0.1:${cloud.plainPort}`, { clientId: 'receiver-operator', protocolVersion: 5 }); // prettier-ignore
    operator.on('message', (topic, payload) => {
      const [, , device, ...rest] = topic.split('/');
      reports.push({ device, rest: rest.join('/'), ...JSON.parse(payload.toString()) });
    });
    await operator.subscribeAsync(`cmd-report/${GATEWAY}/#`, { qos: 1 });
    await start();
    // Messages published before the gateway's first subscription are lost.
    await eventually(
      async () => {
        await command('probe', 'x', '', { qos: 0 });
        return statusesOf('probe').length > 0;
      },
      { everyMs: 50, what: 'the subscription' }
    );
  });
  afterAll(async () => {
    for (const device of devices) device.end(true);
    await operator?.endAsync(true);
    if (gateway) expect(await gateway.stop()).toMatchObject({ code: 0 });
    await cloud?.close();
    fs.rmSync(home, { recursive: true, force: true });
  });

  /**
   * @param {string} device
   * @param {string} rest
   * @param {string} payload
   * @param {mqtt.IClientPublishOptions} [options]
   */
  const command = (device, rest, payload, options = {}) =>
    operator.publishAsync(`cmd/${GATEWAY}/${device}/${rest}`, payload, { qos: 1, ...options });
  /** @param {string} device */
  const statusesOf = (device) => reports.filter((each) => each.device === device).map(({ status }) => status);

  /**
   * A device that listens; its commands are in `got`.
   * @param {string} id
   * @param {mqtt.IClientOptions} [options]
   * @param {string} [filter]
   */
  async function listen(id, options = {}, filter = `cmd/${id}/#`) {
    /** @type {[string, string][]} */
    const got = [];
    const device = await connectDevice(gateway, id, options);
    devices.push(device);
    device.on('message', (topic, payload) => got.push([topic, payload.toString()]));
    await device.subscribeAsync(filter, { qos: 1 });
    return { device, got };
  }

  /** All pages of the admin API. */
  async function allAgents() {
    const all = [];
    for (let after = ''; after !== null;) {
      const url = `http://127.0.0.1:${editorPort}/seganet/engines/seganet-engine-1/agents?limit=300&after=${after}`;
      const { agents, next } = /** @type {any} */ (await (await fetch(url)).json());
      all.push(...agents);
      after = next;
    }
    return all;
  }

  test('delivers a command to each of 1,000 connected devices once, and reports each to the cloud', async () => {
    const ids = Array.from({ length: FLEET }, (_, i) => `dev-${i}`);
    const fleet = await Promise.all(ids.map((id, i) => listen(id, { protocolVersion: i % 2 ? 5 : 4 })));
    await Promise.all(ids.map((id) => command(id, 'set', `for ${id}`)));
    await eventually(() => reports.filter(({ status }) => status === 'taken').length >= FLEET, {
      timeoutMs: 20000,
      what: `taken ${FLEET} times`
    });
    for (const [i, id] of ids.entries()) expect(fleet[i].got).toEqual([[`cmd/${id}/set`, `for ${id}`]]);
    expect(new Set(reports.filter(({ status }) => status === 'taken').map(({ device }) => device)).size).toBe(FLEET); // prettier-ignore
    const agents = await allAgents();
    const known = agents.filter(({ device }) => device.startsWith('dev-'));
    expect(known.map(({ device }) => device)).toEqual([...ids].sort());
    for (const agent of known) expect(agent).toMatchObject({ connected: true, listening: true, protocol: 'mqtt' }); // prettier-ignore
    await Promise.all(fleet.map(({ device }) => device.endAsync(true)));
  });

  test('delivers commands to an absent device in order on its return', async () => {
    const texts = Array.from({ length: 50 }, (_, i) => String(i));
    for (const text of texts) await command('away', 'n', text);
    await eventually(() => statusesOf('away').length === 50, { what: '50 reports' });
    expect(new Set(statusesOf('away'))).toEqual(new Set(['queued']));
    const { got } = await listen('away');
    await eventually(() => statusesOf('away').length === 100, { what: 'all taken' });
    expect(got.map(([, text]) => text)).toEqual(texts);
  });

  test('delivers commands to a kept session without a new subscription', async () => {
    const options = { clean: false };
    const { device } = await listen('kept', options);
    await device.endAsync(true);
    await command('kept', 'x', 'while away');
    await eventually(() => statusesOf('kept').includes('queued'), { what: 'queued' });
    const again = mqtt.connect(gateway.url, { clientId: 'kept', protocolVersion: 4, reconnectPeriod: 0, ...options }); // prettier-ignore
    devices.push(again);
    /** @type {string[]} */
    const got = [];
    again.on('message', (_topic, payload) => got.push(payload.toString()));
    await eventually(() => statusesOf('kept').includes('taken'), { what: 'taken' });
    expect(got).toEqual(['while away']);
  });

  test('reports a command whose time is over, and never delivers it', async () => {
    await command('late', 'x', 'old', { properties: { messageExpiryInterval: 1 } });
    await eventually(() => statusesOf('late').includes('expired'), { what: 'expired' });
    expect(statusesOf('late')).toEqual(['queued', 'expired']);
    const { got } = await listen('late');
    await command('late', 'x', 'new');
    await eventually(() => got.length > 0, { what: 'the new one' });
    expect(got).toEqual([['cmd/late/x', 'new']]);
  });

  test('a kept session does not deliver a command that was reported as expired', async () => {
    const options = { clean: false };
    const { device } = await listen('silent', options);
    let received = 0;
    device.handleMessage = () => void received++; // without a PUBACK
    await command('silent', 'x', 'old', { properties: { messageExpiryInterval: 10 } });
    await eventually(() => received === 1, { what: 'the command' });
    await device.endAsync(true);
    await eventually(() => statusesOf('silent').includes('expired'), { timeoutMs: 30000, what: 'expired' });
    const again = mqtt.connect(gateway.url, { clientId: 'silent', protocolVersion: 4, reconnectPeriod: 0, ...options }); // prettier-ignore
    devices.push(again);
    /** @type {string[]} */
    const got = [];
    let present = false;
    again.on('connect', ({ sessionPresent }) => (present = sessionPresent));
    again.on('message', (_topic, payload) => got.push(payload.toString()));
    await eventually(() => present, { what: 'the session' });
    await command('silent', 'x', 'new');
    await eventually(() => statusesOf('silent').includes('taken'), { what: 'taken' });
    expect(got).toEqual(['new']);
    await again.endAsync(true);
  });

  test("sends the answer to the MQTT 5 response topic, with the command's correlation data", async () => {
    await listen('asked');
    /** @type {any[]} */
    const answers = [];
    operator.on('message', (topic, payload, { properties }) => topic === `answers/${GATEWAY}/a` && answers.push([JSON.parse(payload.toString()), String(properties?.correlationData)])); // prettier-ignore
    await operator.subscribeAsync(`answers/${GATEWAY}/#`, { qos: 1 });
    const properties = { responseTopic: `answers/${GATEWAY}/a`, correlationData: Buffer.from('c-7'), userProperties: { id: 'order-7' } }; // prettier-ignore
    await command('asked', 'x', 'p', { properties });
    await eventually(() => answers.length > 0, { what: 'the answer' });
    expect(answers).toEqual([[{ status: 'taken', id: 'order-7', ts: expect.any(Number) }, 'c-7']]);
  });

  test('refuses a packet that the device cannot take; does not keep QoS 0 for an absent device', async () => {
    await listen('small', { protocolVersion: 5, properties: { maximumPacketSize: 100 } });
    await command('small', 'x', 'y'.repeat(200));
    await command('nobody', 'x', 'z', { qos: 0 });
    await eventually(() => statusesOf('small').length > 0 && statusesOf('nobody').length > 0, {
      what: 'both'
    });
    expect([...statusesOf('small'), ...statusesOf('nobody')]).toEqual(['refused', 'expired']);
  });

  test('a command that its device does not listen to holds up no others, also after kill -9, until it does', async () => {
    const filter = 'cmd/partial/a/#';
    const { got } = await listen('partial', {}, filter);
    await command('partial', 'typo', 'lost');
    for (let i = 0; i < 5; i++) await command('partial', `a/${i % 2}`, String(i));
    await eventually(() => got.length === 5, { what: 'the commands behind it' });
    expect(got.map(([, text]) => text)).toEqual(['0', '1', '2', '3', '4']);
    const lost = () => reports.filter(({ device, rest }) => device === 'partial' && rest === 'typo');
    expect(lost()).toMatchObject([
      { status: 'queued', reason: expect.stringContaining('does not subscribe') }
    ]);
    await gateway.child.stop('SIGKILL');
    await start();
    const again = await listen('partial', {}, filter);
    await command('partial', 'a/0', '5');
    // The kill may bring those back that were taken just before.
    const texts = () => again.got.map(([, text]) => text);
    await eventually(() => texts().includes('5'), { what: 'the command after the restart' });
    expect(texts()).not.toContain('lost');
    await again.device.subscribeAsync('cmd/partial/+', { qos: 1 });
    await eventually(() => texts().includes('lost'), { timeoutMs: 5000, what: 'the first command' });
    await eventually(() => lost().at(-1)?.status === 'taken', { what: 'its report' });
  });

  test('keeps acknowledged commands across kill -9; the broker keeps those sent meanwhile', async () => {
    for (let i = 0; i < 20; i++) await command('survivor', 'n', String(i));
    await eventually(() => statusesOf('survivor').length === 20, { what: '20 queued' });
    await gateway.child.stop('SIGKILL');
    await command('survivor', 'n', '20');
    await start();
    const { got } = await listen('survivor');
    await eventually(() => statusesOf('survivor').filter((status) => status === 'taken').length >= 21, { what: '21 taken' }); // prettier-ignore
    expect([...new Set(got.map(([, text]) => Number(text)))]).toEqual(
      Array.from({ length: 21 }, (_, i) => i)
    );
  });
});
