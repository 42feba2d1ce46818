'use strict';
// What an uplink does with the path quality that the watcher reports.

const { parsePaths } = require('../../../nodes/lib/settings/path-options');
const { isMetered, pathsView } = require('../../../nodes/lib/uplink/paths/path-view');
const { PathWatch } = require('../../../nodes/lib/uplink/paths/path-watch');
const { Paths } = require('../../../nodes/lib/uplink/paths/session-paths');

const ADDRESSES = { eth0: '192.0.2.1', wwan0: '198.51.100.1', lo: '127.0.0.1' };

let time = 0;
/** @type {any[]} */
let reported = [];
beforeEach(() => {
  time = 1000;
  const since = new Date(Date.now() - 60_000).toISOString();
  reported = Object.keys(ADDRESSES).map((name) => ({
    name,
    role: 'active',
    state: 'up',
    why: 'answers',
    since
  }));
});

/** @param {string} text */
const pathsOf = (text) =>
  new Paths(/** @type {any} */ (parsePaths(text)), {
    now: () => time,
    read: () => /** @type {any} */ ({ version: 1, paths: reported }),
    defaults: () => [],
    interfaces: /** @type {any} */ (
      () => Object.fromEntries(Object.entries(ADDRESSES).map(([name, address]) => [name, [{ address }]]))
    )
  });
/** @param {Paths} paths */
const order = (paths) => {
  time += 1000;
  return paths
    .inOrder()
    .map(({ name }) => name)
    .join();
};

test('tries a path that is backup by its quality after active ones, before dead ones', () => {
  const paths = pathsOf('eth0,wwan0,lo');
  expect(order(paths)).toBe('eth0,wwan0,lo');
  reported[0].actingRole = 'backup';
  reported[2].state = 'down';
  expect(order(paths)).toBe('wwan0,eth0,lo');
  reported[0].actingRole = 'active';
  expect(order(paths)).toBe('eth0,wwan0,lo');
});

test('keeps a configured backup as backup, whatever is reported', () => {
  reported[0].actingRole = 'active';
  expect(order(pathsOf('eth0:backup,wwan0'))).toBe('wwan0,eth0');
});

test("does not take roles in the watcher's list alone as quality", () => {
  Object.assign(reported[0], { role: 'backup', actingRole: 'backup' });
  expect(order(pathsOf('eth0,wwan0'))).toBe('eth0,wwan0');
});

test('changes nothing for advice without action', () => {
  Object.assign(reported[0], { actingRole: 'active', advice: 'backup' });
  expect(order(pathsOf('eth0,wwan0'))).toBe('eth0,wwan0');
});

test('moves a TCP connection in an orderly way to an active path that has been up for half a minute', () => {
  const watch = new PathWatch({ paths: pathsOf('eth0,wwan0'), lossMs: 1000, now: () => time });
  const figures = { remote: '', state: 1, rttUs: 1, retransmits: 0, bytesSent: 0, bytesAcked: 1, unacked: 0 };
  const by = (/** @type {string} */ local) =>
    /** @type {any} */ ({ transport: 'fallback', token: 0, subflows: [{ local, ...figures }] });
  expect(watch.check(1, by(ADDRESSES.eth0))).toBe(null);
  reported[0].actingRole = 'backup';
  time += 1000;
  expect(watch.check(1, by(ADDRESSES.eth0))).toMatchObject({
    code: 'PATH_BACK',
    isReturn: true,
    reason: 'The preferred path wwan0 is up. Connecting over it instead of eth0.'
  });
  expect(watch.check(2, by(ADDRESSES.wwan0))).toBe(null);
  expect(watch.check(1, { ...by(ADDRESSES.eth0), transport: 'mptcp' })).toBe(null);
});

test('reports quality, advice and both roles, and nothing for a watcher that does not know them', () => {
  const quality = { linkPercent: 30, signalDbm: -89 };
  Object.assign(reported[0], { actingRole: 'backup', advice: 'backup', adviceWhy: 'it is far', quality });
  expect(pathsView(pathsOf('eth0,wwan0,lo:backup'), null)).toMatchObject([
    { name: 'eth0', role: 'active', actingRole: 'backup', advice: 'backup', adviceWhy: 'it is far', quality },
    { name: 'wwan0', role: 'active', actingRole: 'active', advice: 'active', adviceWhy: '', quality: null },
    { name: 'lo', role: 'backup', actingRole: 'backup', advice: 'backup', quality: null }
  ]);
});

/** @param {Paths} paths @param {string[]} names */
const meteredOn = (paths, ...names) => {
  time += 1000;
  return isMetered(
    paths,
    names.map((name) => ({ local: ADDRESSES[/** @type {keyof typeof ADDRESSES} */ (name)] }))
  );
};

test('knows whether records go over a metered path', () => {
  const paths = pathsOf('eth0,wwan0:backup:metered,lo:metered');
  expect(meteredOn(paths)).toBe(false);
  expect(meteredOn(paths, 'eth0')).toBe(false);
  expect(meteredOn(paths, 'eth0', 'wwan0')).toBe(false);
  expect(meteredOn(paths, 'wwan0')).toBe(true);
  expect(meteredOn(paths, 'eth0', 'lo')).toBe(true);
  // The kernel has not removed the subflow of a dead path yet.
  reported[0].state = 'down';
  expect(meteredOn(paths, 'eth0', 'wwan0')).toBe(true);
  reported[0].state = 'up';
  reported[0].actingRole = 'backup';
  expect(meteredOn(paths, 'eth0', 'wwan0')).toBe(true);
});

test('takes metered paths from the watch, and mobile interfaces as metered without one', () => {
  reported[1].metered = true;
  expect(pathsView(pathsOf('auto'), null).map(({ name, metered }) => [name, metered])).toEqual([
    ['eth0', false],
    ['wwan0', true],
    ['lo', false]
  ]);
  const alone = new Paths([], {
    now: () => time,
    read: () => null,
    defaults: () => [{ device: 'eth0' }, { device: 'wwan0' }],
    interfaces: () => ({})
  });
  expect(alone.all().map(({ name, metered }) => [name, metered])).toEqual([
    ['eth0', false],
    ['wwan0', true]
  ]);
});
