'use strict';
// Two gateways in one overlay: records reach the broker behind the other gateway by its name, whatever happens to
// nodes and services, until the node is revoked.

const { NodeWatch } = require('../../flows/demo/overlay/node-watch');
const { NEEDED, TwoGateways } = require('../fixtures/overlay/two-gateways');
const { eventually } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');

const { describe } = needs(NEEDED, 'mosquitto');

jest.setTimeout(180000);

describe('an uplink by overlay', () => {
  /** @type {TwoGateways} */
  let both;
  beforeAll(async () => {
    both = await TwoGateways.start(({ gw }) => {
      Object.assign(
        gw.find(({ id }) => id === 'broker'),
        { ackTimeoutMs: '3000' }
      );
    });
  });
  afterAll(() => both?.close());

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

  test.each(['gw', 'hub'])('loses no record when the node of %s is killed', async (name) => {
    const killed = both.killNode(name);
    await both.send(50);
    await killed;
    await both.send(50);
    await both.delivered();
  });

  test('goes on without the services', async () => {
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
    await both.send(5);
    const uplink = () => both.statuses.get('uplink');
    await eventually(() => uplink()?.fill && uplink().fill !== 'green', {
      timeoutMs: 60000,
      what: 'the end of the connection'
    });
    expect(both.missing).toHaveLength(5);
  });
});
