'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { root } = require('../../../bench/harness/gateway');
const { EDITS } = require('./faults/flow-edits');
const { faults: known } = require('./faults');
const { KINDS, drawSchedule } = require('./schedule');

const options = { seconds: 4, kinds: KINDS };

test('draws the same schedule from the same seed, and another from another', () => {
  for (let seed = 0; seed < 50; seed += 1)
    expect(drawSchedule(seed, options)).toEqual(drawSchedule(seed, options));
  const all = new Set(Array.from({ length: 200 }, (_, seed) => JSON.stringify(drawSchedule(seed, options))));
  expect(all.size).toBe(200);
});

test('draws every kind of fault equally often in a row of seeds', () => {
  const counts = new Map(KINDS.map((kind) => [kind, 0]));
  for (let seed = 1000; seed < 1000 + 5 * KINDS.length; seed += 1) {
    const { kind, faults } = drawSchedule(seed, options);
    counts.set(kind, /** @type {number} */ (counts.get(kind)) + 1);
    expect(faults[0].kind).toBe(kind);
  }
  expect([...counts.values()].every((count) => count === 5)).toBe(true);
});

test('can run every kind, within the load', () => {
  for (let seed = 0; seed < 300; seed += 1) {
    for (const fault of drawSchedule(seed, options).faults) {
      expect(known[fault.kind]).toBeInstanceOf(Function);
      expect(fault.at).toBeGreaterThanOrEqual(0);
      expect(fault.at).toBeLessThanOrEqual(4000);
      expect(Number.isFinite(fault.for)).toBe(true);
    }
  }
});

test('puts a kill in an outage inside an outage, from before to after', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const { faults } = drawSchedule(seed, { seconds: 4, kinds: ['kill-in-outage'] });
    expect(faults).toHaveLength(2);
    const [kill, outage] = faults;
    expect(outage.at).toBeLessThan(kill.at);
    expect(outage.at + outage.for).toBeGreaterThan(kill.at);
  }
});

test('changes the shipped flow in every edit, and leaves unique ids', () => {
  const shipped = JSON.parse(fs.readFileSync(path.join(root, 'flows', 'gateway.json'), 'utf8'));
  for (const [name, { apply }] of Object.entries(EDITS)) {
    const next = apply(shipped);
    expect([name, next]).not.toEqual([name, shipped]);
    expect(new Set(next.map(({ id }) => id)).size).toBe(next.length);
    expect(() => apply(next)).not.toThrow();
  }
});
