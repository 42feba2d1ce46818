'use strict';

const { Stillness } = require('../../../nodes/lib/engine/figures/stillness');

/** @returns {any} what Stillness reads of a host */
function quietHost() {
  const link = { state: {} };
  return {
    plan: {},
    log: { state: { state: 'ready' } },
    members: [{ isSteady: true }, { isSteady: true }],
    uplinks: { tenants: null, links: new Map([[link, {}]]), allConnected: true },
    link,
    commands: { isIdle: true },
    deliveries: { size: 0 },
    upkeep: { waitsToRelease: false, isLight: false },
    figures: 1,
    engine: { fingerprint: () => host.figures }
  };
}

/** @type {any} */
let host;
/** @type {Stillness} */
let stillness;

beforeEach(() => {
  host = quietHost();
  stillness = new Stillness();
  for (let second = 0; second < 7; second++) stillness.next(host);
});

test('only looks while nothing changes', () => {
  expect(stillness.next(host)).toBe('look');
});

/** @type {[string, () => void][]} */
const changes = [
  ['a figure', () => (host.figures = 2)],
  ['the plan', () => (host.plan = {})],
  ['a report of the log', () => (host.log.state = { chunks: 1 })],
  ['a report of an uplink', () => (host.link.state = { state: 'connecting' })],
  ['an uplink that is gone', () => host.uplinks.links.clear()],
  ['a new node', () => host.members.push({ isSteady: true })],
  ['another node', () => (host.members[0] = { isSteady: true })],
  ['a node whose status changes by itself', () => (host.members[1].isSteady = false)],
  ['tenants', () => (host.uplinks.tenants = {})],
  ['a command whose time may end', () => (host.commands.isIdle = false)],
  ['a record whose flow may not deliver it in time', () => (host.deliveries.size = 1)],
  ['memory to release', () => (host.upkeep.waitsToRelease = true)]
];

test.each(changes)('does the work at the next look after a change: %s', (_name, change) => {
  change();
  expect([stillness.next(host), stillness.next(host)]).toEqual(['work', 'work']);
});

test('ignores a report that is equal to the last one', () => {
  host.link.state = { ...host.link.state, energy: { watts: 3 } };
  host.log.state = { ...host.log.state };
  expect(stillness.next(host)).toBe('look');
});

test('does the work after a doorbell', () => {
  stillness.next(host);
  stillness.stir();
  expect(stillness.next(host)).toBe('work');
});

describe('under a light load', () => {
  const duty = () => {
    host.figures++;
    return stillness.next(host);
  };
  beforeEach(() => {
    host.upkeep.isLight = true;
    stillness.next(host);
  });

  test('does the work each third second', () => {
    expect([duty(), duty(), duty(), duty()]).toEqual(['rest', 'rest', 'work', 'rest']);
  });

  /** @type {[string, () => void][]} */
  const troubles = [
    ['an uplink without a connection', () => (host.uplinks.allConnected = false)],
    ['a log that is full', () => (host.log.state = { state: 'full' })],
    ['a viewer, or many records', () => (host.upkeep.isLight = false)]
  ];
  test.each(troubles)('does the work each second with %s', (_name, trouble) => {
    trouble();
    duty();
    duty();
    expect([duty(), duty(), duty(), duty()]).toEqual(['work', 'work', 'work', 'work']);
  });
});
