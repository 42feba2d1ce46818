'use strict';
// Two gateways in one overlay: records reach the broker behind the other gateway, and its listeners, by its name,
// whatever happens to nodes and services, until the node is revoked.

const fs = require('node:fs');
const path = require('node:path');
const { NodeWatch } = require('../../flows/demo/overlay/node-watch');
const { NEEDED, TwoGateways } = require('../fixtures/overlay/two-gateways');
const { connectDevice } = require('../fixtures/devices/device');
const { hashPassword } = require('../../nodes/lib/login/password-hash');
const { eventually, freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs(NEEDED, 'mosquitto');

jest.setTimeout(180000);

/** Ports of hub's listeners. */
const ports = { open: 0, acme: 0 };

/**
 * Listeners of hub that are offered by overlay: one without a login, and one of the tenant acme. Their records go to
 * the broker, each with its device in the topic.
 * @param {import('../fixtures/overlay/two-gateways').Places} places
 */
async function listeners({ brokerPort, home }) {
  ports.open = await freePort();
  ports.acme = await freePort();
  const passwordFile = path.join(home('hub'), 'passwords');
  const secret = await hashPassword(Buffer.from('secret'), { ln: 10, r: 8, p: 1 });
  fs.writeFileSync(passwordFile, `gate:${secret}\n`, { mode: 0o600 });
  const place = { z: 'tab', engine: 'engine', x: 130, y: 300 };
  const devices = {
    ...place,
    type: 'seganet-mqtt-devices',
    version: 2,
    overlay: 'overlay',
    wires: [['cloud']]
  };
  const login = { login: 'passwords', passwordFile, identity: 'clientId' };
  return [
    { id: 'engine', type: 'seganet-engine', version: 1, workers: '1', logDir: path.join(home('hub'), 'log') },
    {
      id: 'own',
      type: 'seganet-uplink-broker',
      version: 1,
      url: `mqtt://127.0.0.1:${brokerPort}`,
      protocolVersion: '4',
      clientId: 'hub',
      groups: 'all'
    },
    { ...devices, id: 'open', port: String(ports.open), overlayName: 'pumps', allowAnonymous: true },
    { ...devices, ...login, id: 'acme', port: String(ports.acme), tenantFrom: 'port', tenantName: 'acme' },
    {
      ...place,
      id: 'cloud',
      type: 'seganet-uplink',
      version: 1,
      wires: [],
      broker: 'own',
      recordTopic: 'hub/{device}/{topic}'
    }
  ];
}

describe('an uplink by overlay', () => {
  /** @type {TwoGateways} */
  let both;
  beforeAll(async () => {
    both = await TwoGateways.start(async ({ gw, hub }, places) => {
      Object.assign(
        gw.find(({ id }) => id === 'broker'),
        { ackTimeoutMs: '3000' }
      );
      hub.push(...(await listeners(places)));
    });
    const wanted = ['tcp/1883', `tcp/${ports.open}`, `tcp/${ports.acme}`];
    await both.services.allow([{ from: 'group:gateways', to: 'group:hubs', ports: wanted }]);
  });
  afterAll(() => both?.close());

  /** Connects to a listener of hub by name. @param {number} port @param {string} id @param {object} [login] */
  async function deviceAt(port, id, login) {
    const params = { network: 'tcp', local: '127.0.0.1:0', remote: `hub:${port}` };
    const { local } = await both.watch.request('forward', params);
    return eventually(() => connectDevice({ url: `mqtt://${local}` }, id, login).catch(() => null), {
      timeoutMs: 30000,
      what: `a device at hub:${port}`
    });
  }
  const arrived = (/** @type {string} */ topic) =>
    eventually(() => both.received.arrivals.some((each) => each.topic === topic), {
      timeoutMs: 20000,
      what: topic
    });

  test('reaches the broker behind another gateway by name, then directly', async () => {
    await both.send(20);
    await both.delivered();
    const { peer } = await both.watch.reaches('hub', 'direct', 30000);
    expect(peer).toMatchObject({ name: 'hub', path: 'direct', reason: '' });
    await eventually(() => both.statuses.get('peers')?.text === '1 direct', { what: 'the status' });
    const get = async (/** @type {string} */ page) => (await fetch(`${both.gw.url}seganet/${page}`)).text();
    expect(JSON.parse(await get('overlay/overlay'))).toMatchObject({
      fqdn: 'gw.plant.seganet.internal',
      services: { areReached: true },
      peers: [{ name: 'hub', path: 'direct', reason: '' }]
    });
    expect(await get('metrics')).toMatch(/^seganet_overlay_peers\{node="overlay",path="direct"\} 1$/m);
    expect(both.gw.gateway.output).not.toMatch(/not encrypted|does not answer/);
  });

  test('keeps its connection while direct paths are off', async () => {
    await both.watch.request('relay-only', { on: true });
    await both.watch.reaches('hub', 'relay', 10000);
    await both.send(20);
    await both.delivered();
    await eventually(() => both.statuses.get('peers')?.text === '0 direct, 1 by relay', {
      what: 'the status'
    });
    await both.watch.request('relay-only', { on: false });
    expect((await both.watch.reaches('hub', 'direct', 20000)).isReached).toBe(true);
    await both.send(20);
    await both.delivered();
    expect(both.cloud.child.output.match(/New client connected from \S+ as gw/g)).toHaveLength(1);
  });

  test('reaches the listeners of the other gateway by name, and that of a tenant', async () => {
    const device = await deviceAt(ports.open, 'pump-7');
    await device.publishAsync('temperature', '21', { qos: 1 });
    await arrived('hub/pump-7/temperature');
    await device.endAsync(true);
    const tenant = await deviceAt(ports.acme, 'pump-7', { username: 'gate', password: 'secret' });
    await tenant.publishAsync('temperature', '22', { qos: 1 });
    await arrived('hub/acme:pump-7/temperature');
    await tenant.endAsync(true);
    const { offered } = await (await fetch(`${both.hub.url}seganet/overlay/overlay`)).json();
    expect(offered).toEqual(
      expect.arrayContaining([
        { name: 'broker', network: 'tcp', port: 1883 },
        { name: 'pumps', network: 'tcp', port: ports.open },
        { name: `mqtt-${ports.acme}`, network: 'tcp', port: ports.acme }
      ])
    );
  });

  test.each(['gw', 'hub'])('loses no record when the node of %s is killed', async (name) => {
    const killed = both.killNode(name);
    await both.send(50);
    await killed;
    await both.send(50);
    await both.delivered();
  });

  test('offers the listeners again after the node was killed', async () => {
    const device = await deviceAt(ports.open, 'pump-8');
    await device.publishAsync('temperature', '23', { qos: 1 });
    await arrived('hub/pump-8/temperature');
    await device.endAsync(true);
  });

  test('continues without the services', async () => {
    await both.watch.reaches('hub', 'direct', 30000);
    await both.services.kill();
    await both.send(50);
    await both.delivered();
    await eventually(async () => (await both.watch.request('status')).servicesError, { what: 'the loss' });
    await both.services.start();
    await eventually(async () => (await both.watch.request('status')).node.signalling, {
      timeoutMs: 30000,
      what: 'the services'
    });
  });

  test('ends when the node is revoked, and shows why in red', async () => {
    await both.send(1);
    await both.delivered();
    await both.services.command('revoke', 'gw');
    await eventually(() => both.statuses.get('peers')?.fill === 'red', {
      timeoutMs: 30000,
      what: 'the red status'
    });
    expect(both.statuses.get('peers').text).toBe('revoked: invite this node again');
    await eventually(
      () => /The services of the overlay refuse this node: .* is revoked/.test(both.gw.gateway.output),
      {
        timeoutMs: 30000,
        what: 'the sentence'
      }
    );
    // The other side knows no such peer any more, so nothing of it can arrive.
    const hub = new NodeWatch(both.overlayFolder('hub'));
    await eventually(async () => (await hub.peer('gw')) === undefined, { what: 'the loss of the peer' });
    hub.close();
    // Nothing was sent, so TCP alone would notice only by its keep-alive, 45 s later.
    const uplink = () => both.statuses.get('uplink');
    await eventually(() => uplink()?.fill && uplink().fill !== 'green', {
      timeoutMs: 20000,
      what: 'the end of the connection'
    });
    await both.send(5);
    expect(both.missing).toHaveLength(5);
  });
});
