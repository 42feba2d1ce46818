'use strict';

const { drainedBatches } = require('../../../../nodes/lib/forecast/network/drained-batches');

const batch = (/** @type {string} */ id, /** @type {number} */ stage, settings = {}) => ({
  id,
  stage,
  kind: 'batch',
  planMember: () => ({
    settings: { drainAhead: true, flush: 'thrifty', patienceMs: [0, 0, 100, 1000, 10000], ...settings }
  })
});
const uplink = (/** @type {number} */ stage, /** @type {string} */ link) => ({
  id: `u${stage}`,
  stage,
  kind: 'uplink',
  uplink: { link: { id: link } },
  planMember: () => ({ settings: {} })
});

/** @param {any[]} members @param {Record<number, number[]>} next by stage */
function hostOf(members, next) {
  const routes = members.map(({ id, stage }) => [id, { stage, next: next[stage] ?? [] }]);
  return /** @type {any} */ ({ members, plan: { routes: new Map(/** @type {any} */ (routes)) } });
}

test('finds the uplinks behind a batch node, also through other nodes', () => {
  const tap = { id: 't', stage: 2, kind: 'tap', planMember: () => ({ settings: {} }) };
  const members = [batch('b', 1), tap, uplink(3, 'near'), uplink(4, 'far'), uplink(5, 'another')];
  const host = hostOf(members, { 1: [2, 4], 2: [3] });
  expect(drainedBatches(host)).toEqual([{ stage: 1, patienceMs: 10000, links: new Set(['near', 'far']) }]);
});

test('leaves out nodes that do not want it, that do not wait, or that the plan does not have', () => {
  const members = [
    batch('off', 1, { drainAhead: false }),
    batch('fast', 2, { flush: 'adaptive' }),
    batch('limits', 3, { flush: 'limits' }),
    uplink(5, 'cloud')
  ];
  const host = hostOf(members, { 1: [5], 2: [5], 3: [5] });
  host.members.push(batch('new', 4));
  expect(drainedBatches(host)).toEqual([]);
  expect(drainedBatches({ members: host.members, plan: null })).toEqual([]);
});
