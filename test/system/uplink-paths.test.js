'use strict';
// An uplink with two paths, on real interfaces, to a real broker with MPTCP and without.

const fs = require('node:fs');
const { eventually } = require('../../bench/harness/net');
const { ip } = require('../fixtures/network/paths-lab');
const { UplinkPathsLab } = require('../fixtures/uplink/uplink-paths-lab');
const { needs } = require('../../bench/harness/tools');
const { PATIENCE } = require('../../bench/harness/patience');

const { describe, test, missing } = needs(
  ...['ip', 'ss', 'nft', 'mosquitto', 'mptcpize', 'python3'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

jest.setTimeout(30000);

/** @type {UplinkPathsLab} */
let lab;
beforeEach(() => {
  lab = new UplinkPathsLab();
});
afterEach(() => lab.remove());

const isUp = (/** @type {any} */ { state }) => state === 'connected';
/** Names of the paths that a session has. */
const used = (/** @type {any} */ { paths }) =>
  paths.filter((/** @type {any} */ of) => of.subflows > 0).map((/** @type {any} */ of) => of.name);
const on = (/** @type {string} */ names) => (/** @type {any} */ session) =>
  isUp(session) && used(session).join() === names;
const nothingLost = (/** @type {any} */ end) => {
  expect(end).toMatchObject({ delivered: end.pushed, left: 0 });
  expect(end.pushed).toBeGreaterThan(0);
};

describe('MPTCP at both ends', () => {
  test('gives each session a subflow on each path, and one connection survives the silence of the first', async () => {
    lab.paths('apply', '--paths', 'p1,p2');
    await lab.startBroker({ mptcp: true });
    const uplink = lab.startUplink({ paths: 'p1,p2', groups: '1,2/3,4' });
    await uplink.until((one) => one.transport === 'mptcp' && on('p1,p2')(one));
    expect(uplink.state).toMatchObject({ state: 'connected', code: '', reason: '' });
    lab.swallow(1);
    await new Promise((resolve) => setTimeout(resolve, 2500));
    const end = await uplink.finish();
    nothingLost(end);
    expect(end.longestGapMs).toBeLessThan(2000 * PATIENCE);
    expect(uplink.history).toEqual(['connecting', 'connected', 'stopped']);
    expect(uplink.problems).toEqual([]);
    const [{ paths, bytesAcked, connects }] = uplink.states.findLast(
      (each) => each.state === 'connected'
    ).sessions;
    expect([connects, bytesAcked >= paths[1].bytesAcked]).toEqual([1, true]);
    // There is no watcher: the uplink reports the times itself.
    for (const { since } of paths) expect(Date.parse(since)).toBeGreaterThan(Date.now() - 30_000);
    expect(paths[1]).toMatchObject({ name: 'p2', role: 'active', interface: 'p2', address: '198.18.2.1' });
    expect(paths[1].bytesAcked).toBeGreaterThan(1000);
  });

  test('gives each subflow the configured congestion control', async () => {
    lab.paths('apply', '--paths', 'p1,p2');
    await lab.startBroker({ mptcp: true });
    const uplink = lab.startUplink({ paths: 'p1,p2', groups: 'all', congestion: 'reno' });
    await uplink.until((one) => one.transport === 'mptcp' && on('p1,p2')(one));
    const seen = lab.run('ss', '-tniH', 'state', 'established', 'dst', lab.broker);
    expect([...seen.matchAll(/([a-z0-9_-]+) wscale:/g)].map(([, name]) => name)).toEqual(['reno', 'reno']);
    expect(uplink.problems).toEqual([]);
    nothingLost(await uplink.finish());
  });

  test("keeps the priority of the urgent session's packets on every path, also with a DSCP", async () => {
    lab.paths('apply', '--paths', 'p1,p2');
    await lab.startBroker({ mptcp: true });
    for (const path of ['p1', 'p2']) lab.countPriority(path, 6);
    const uplink = lab.startUplink({ paths: 'p1,p2', groups: '1,2/3,4' });
    await uplink.until((one) => one.transport === 'mptcp' && on('p1,p2')(one));
    await eventually(() => lab.prioritized('p1') > 50, { what: 'urgent packets' });
    lab.swallow(1);
    await eventually(() => lab.prioritized('p2') > 20, { what: 'urgent packets by the other path' });
    nothingLost(await uplink.finish());
  });

  test('has a subflow without payload on a backup path', async () => {
    lab.paths('apply', '--paths', 'p1,p2:backup');
    await lab.startBroker({ mptcp: true });
    const uplink = lab.startUplink({ paths: 'p1,p2:backup' });
    await uplink.until((one) => on('p1,p2')(one) && one.paths[0].bytesAcked > 10_000);
    expect(uplink.state.sessions[0].paths[1]).toMatchObject({ role: 'backup', subflows: 1, bytesSent: 0 });
    nothingLost(await uplink.finish());
  });

  test("takes over by a backup path when only the main one's data are lost: the uplink notifies the watcher", async () => {
    await lab.startBroker({ mptcp: true });
    const { log } = await lab.watch('--paths', 'p1,p2:backup');
    const uplink = lab.startUplink({ paths: 'p1,p2:backup', groups: '1,2/3,4' });
    await uplink.until((one) => on('p1,p2')(one) && one.paths[0].bytesAcked > 10_000);
    const began = Date.now();
    lab.swallow(1);
    const { why } = await eventually(() => log.find(({ path, state }) => path === 'p1' && state === 'down'));
    const tookMs = Date.now() - began;
    // With its usual time-out it has 700 ms.
    expect(why).toMatch(/did not answer in ([1-4]\d\d) ms$/);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const end = await uplink.finish();
    nothingLost(end);
    const gapMs = Math.round(end.longestGapMs);
    process.stdout.write(`lossy outgoing link, backup: left after ${tookMs} ms, longest gap ${gapMs} ms\n`);
    expect(gapMs).toBeLessThan(3000 * PATIENCE);
    expect(uplink.history).toEqual(['connecting', 'connected', 'stopped']);
    expect(uplink.problems).toEqual([]);
  });

  test('loses a second on a path that is dead at connection, and nothing in later sessions', async () => {
    await lab.startBroker({ mptcp: true });
    lab.swallow(1);
    const began = Date.now();
    const uplink = lab.startUplink({ paths: 'p1,p2:backup' });
    await uplink.until(on('p2'));
    expect(Date.now() - began).toBeLessThan(4000 * PATIENCE);
    expect(uplink.state.sessions[0]).toMatchObject({
      transport: 'mptcp',
      localAddress: '198.18.2.1',
      paths: [
        { name: 'p1', role: 'active', state: 'down' },
        { name: 'p2', role: 'backup' }
      ]
    });
    nothingLost(await uplink.finish());
  });
});

const { test: withHaproxy } = needs('haproxy', 'openssl', ...missing);

withHaproxy('ends MPTCP before a broker without it, and TLS at the broker', async () => {
  lab.paths('apply', '--paths', 'p1,p2');
  const ca = await lab.startTerminator();
  const tls = { ca, servername: 'cloud.example' };
  const uplink = lab.startUplink({ url: `mqtts://${lab.broker}:8883`, tls, paths: 'p1,p2' });
  await uplink.until((one) => one.transport === 'mptcp' && on('p1,p2')(one));
  nothingLost(await uplink.finish());
});

describe('plain TCP, with the reason', () => {
  test('reconnects by the other path in about a second, losing nothing, when a path falls silent and the broker does not speak MPTCP', async () => {
    await lab.startBroker({ mptcp: false });
    const uplink = lab.startUplink({ paths: 'p1,p2', groups: '1,2/3,4' });
    await uplink.until(on('p1'));
    expect(uplink.state).toMatchObject({
      state: 'connected',
      code: 'NO_MPTCP',
      reason: expect.stringMatching(/^Fell back to TCP: the broker does not speak MPTCP/)
    });
    lab.swallow(1);
    await uplink.until(on('p2'), 4000);
    expect(uplink.state.sessions[0].paths[0].state).toBe('down');
    const end = await uplink.finish();
    nothingLost(end);
    process.stdout.write(`fail-over without MPTCP: longest gap ${Math.round(end.longestGapMs)} ms\n`);
    expect(end.longestGapMs).toBeLessThan(4000 * PATIENCE);
    expect(uplink.states.map(({ code }) => code)).toContain('PATH_LOST');
    expect(uplink.problems).toContain('NO_MPTCP');
  });

  test('a middlebox removes the option', async () => {
    lab.strip();
    await lab.startBroker({ mptcp: true });
    const uplink = lab.startUplink({ paths: 'p1,p2' });
    await uplink.until((one) => one.transport === 'fallback' && one.code === 'NO_MPTCP' && on('p1')(one));
    nothingLost(await uplink.finish());
  });

  test('MPTCP is switched off on this machine', async () => {
    lab.run('sh', '-c', 'echo 0 > /proc/sys/net/mptcp/enabled');
    await lab.startBroker({ mptcp: false });
    const uplink = lab.startUplink({ paths: '198.18.2.1,p1' });
    await uplink.until((one) => one.transport === 'tcp' && on('198.18.2.1')(one));
    expect(uplink.state).toMatchObject({
      code: 'NO_MPTCP_HERE',
      reason: expect.stringMatching(/turned off on this machine/)
    });
    nothingLost(await uplink.finish());
  });

  test('follows the report of `seganet-paths watch` with nothing to send', async () => {
    await lab.startBroker({ mptcp: false });
    await lab.listen();
    await lab.watch('--paths', 'p1,p2');
    const uplink = lab.startUplink({ paths: 'p1,p2', everyMs: 0 });
    await uplink.until((one) => on('p1')(one) && one.paths[0].state === 'up');
    ip('-n', lab.gateway, 'link', 'set', 'p1', 'down');
    // It may notice the missing interface before the watcher reports it.
    await uplink.until((one) => on('p2')(one) && one.paths[0].why === 'the link is down', 3000);
    expect(uplink.state.sessions[0].paths[0].state).toBe('down');
    await uplink.finish();
  });
});
