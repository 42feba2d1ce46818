'use strict';
// Alarms over two paths at once, on real interfaces: paths die while a subscriber checks what arrives, and when.

const fs = require('node:fs');
const { eventually } = require('../../bench/harness/net');
const { ip } = require('../fixtures/network/paths-lab');
const { UplinkPathsLab } = require('../fixtures/uplink/uplink-paths-lab');
const { needs } = require('../../bench/harness/tools');

const { test } = needs(
  ...['ip', 'ss', 'nft', 'mosquitto'],
  ...(process.getuid?.() === 0 ? [] : ['root']),
  ...(fs.existsSync('/proc/sys/net/mptcp/enabled') ? [] : ['a kernel with MPTCP'])
);

jest.setTimeout(60000);

/** Time until a session gives up a path: an alarm that waits for that takes longer. */
const LOSS_MS = 3000;
const DEATHS = Number(process.env.SEGANET_DEATHS ?? 3);

/** @type {UplinkPathsLab} */
let lab;
beforeEach(async () => {
  lab = new UplinkPathsLab();
  await lab.startBroker({ mptcp: false });
});
afterEach(() => lab.remove());

/** @param {any} uplink */
const alarmsOf = ({ state }) => state.alarms ?? { state: '', paths: [] };
const isDouble = (/** @type {any} */ uplink) =>
  uplink.state.state === 'connected' && [...new Set(alarmsOf(uplink).paths)].sort().join() === 'p1,p2';

/** @type {((cable: number) => () => void)[]} each returns the end of the failure */
const failures = [
  (cable) => {
    lab.swallow(cable);
    return () => lab.heal();
  },
  (cable) => {
    ip('-n', lab.gateway, 'link', 'set', `p${cable}`, 'down');
    return () => {
      ip('-n', lab.gateway, 'link', 'set', `p${cable}`, 'up');
      lab.mainRoute(cable);
    };
  },
  (cable) => {
    ip('-n', lab.cloud, 'link', 'set', `p${cable}`, 'down');
    return () => ip('-n', lab.cloud, 'link', 'set', `p${cable}`, 'up');
  }
];

test('delays no alarm when a path dies, loses none, and keeps the order of first arrivals', async () => {
  const receiver = await lab.startReceiver();
  const uplink = lab.startAlarms({
    paths: 'p1,p2',
    groups: '1,2/3,4',
    protocolVersion: 5,
    redundantAlarms: 'all-paths',
    pathLossMs: LOSS_MS
  });
  for (let i = 0; i < DEATHS; i++) {
    await eventually(() => isDouble(uplink), { timeoutMs: 20_000, what: 'two sessions' });
    const { paths } = alarmsOf(uplink);
    // Mostly the path of the first session.
    const cable = Number(paths[i % 3 === 1 ? 1 : 0].slice(1));
    const heal = failures[i % failures.length](cable);
    await eventually(() => !isDouble(uplink) || alarmsOf(uplink).paths.join() !== paths.join(), {
      timeoutMs: 20_000,
      what: 'a path that is given up'
    });
    heal();
  }
  const sent = await uplink.finish();
  const seen = await receiver.finish();
  const { alarms, sessions } = uplink.states.findLast((each) => each.alarms);
  process.stdout.write(
    `${DEATHS} deaths: ${sent.pushed} alarms, ${alarms.sent} copies, longest ${seen.longestMs.toFixed(1)} ms\n`
  );
  expect(sent.delivered).toBe(sent.pushed);
  expect(seen).toMatchObject({ first: sent.pushed, outOfOrder: 0, otherKeys: 0 });
  expect(seen.longestMs).toBeLessThan(LOSS_MS / 2);
  expect(seen.copies).toBeGreaterThan(0);
  expect(seen.copies).toBeLessThanOrEqual(sent.pushed + 64 * DEATHS);
  expect(alarms.leadFirst).toBeGreaterThan(0);
  expect(alarms.secondFirst).toBeGreaterThan(0);
  expect(sessions.map((/** @type {any} */ { clientId, classes }) => [clientId, classes[0]])).toEqual([
    ['gw1-a1', 1],
    ['gw1-1', 2],
    ['gw1-2', 3]
  ]);
});

test('says that there is no second path, and goes on with one', async () => {
  const receiver = await lab.startReceiver();
  const uplink = lab.startAlarms({ paths: 'p1', redundantAlarms: 'all-paths' });
  await eventually(() => uplink.state.state === 'connected', { what: 'a connection' });
  await eventually(() => uplink.state.code === 'ALARMS_ONE_PATH', { what: 'the reason' });
  expect(uplink.state.reason).toBe(
    'Alarms are sent over one path, because there is no second path to the broker.'
  );
  const sent = await uplink.finish();
  const seen = await receiver.finish();
  expect(sent.delivered).toBe(sent.pushed);
  expect(seen).toMatchObject({ first: sent.pushed, copies: 0, outOfOrder: 0 });
});

test('does not use a metered path if it must not', async () => {
  const uplink = lab.startAlarms({ paths: 'p1,p2:metered', redundantAlarms: 'unmetered-paths' });
  await eventually(() => uplink.state.code === 'ALARMS_ONE_PATH', { what: 'the reason' });
  expect(uplink.state.reason).toContain('the second path is metered');
  const sent = await uplink.finish();
  expect(sent.delivered).toBe(sent.pushed);
});
