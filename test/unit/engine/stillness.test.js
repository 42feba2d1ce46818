'use strict';

const { Stillness } = require('../../../nodes/lib/engine/stillness');

/** @returns {any} what Stillness reads of a host */
function quietHost() {
  const link = { state: {} };
  return {
    ...{ plan: {}, log: { state: {} }, members: [{ isSteady: true }, { isSteady: true }] },
    ...{ uplinks: { tenants: null, links: new Map([[link, {}]]) }, link },
    ...{ figures: 1, engine: { fingerprint: () => host.figures } }
  };
}

/** @type {any} */
let host;
/** @type {Stillness} */
let stillness;

beforeEach(() => {
  host = quietHost();
  stillness = new Stillness();
  for (let second = 0; second < 5; second++) stillness.isStill(host);
});

test('is still when nothing changes', () => {
  expect(stillness.isStill(host)).toBe(true);
});

/** @type {[string, () => void][]} */
const changes = [
  ['a figure', () => (host.figures = 2)],
  ['the plan', () => (host.plan = {})],
  ['a report of the log', () => (host.log.state = {})],
  ['a report of an uplink', () => (host.link.state = {})],
  ['an uplink that is gone', () => host.uplinks.links.clear()],
  ['a new node', () => host.members.push({ isSteady: true })],
  ['another node', () => (host.members[0] = { isSteady: true })],
  ['a node whose status changes by itself', () => (host.members[1].isSteady = false)],
  ['tenants', () => (host.uplinks.tenants = {})]
];

test.each(changes)('%s: it is not', (_name, change) => {
  change();
  expect(stillness.isStill(host)).toBe(false);
  expect(stillness.isStill(host)).toBe(false);
});

test('looks at all figures at least each ten seconds', () => {
  const still = Array.from({ length: 20 }, () => stillness.isStill(host));
  expect(still.filter((each) => !each)).toHaveLength(2);
});
