'use strict';

const { coresOf, faultWarnings, machineWarnings, runWarnings } = require('../../../bench/report/warnings');
const { machineTimes, machineUse } = require('../../../bench/harness/machine');

const plan = /** @type {any} */ ({ gatewayCpus: '0', harnessCpus: '1' });
const quiet = { loadAverage: 0.1, governors: ['performance'] };
const good = {
  sent: { sent: 10000, late: 10, acked: 10000 },
  harness: [
    { name: 'loadgen', cores: 0.4 },
    { name: 'sink', cores: 0.2 }
  ],
  machine: { steal: 0.02, throttled: 0 }
};

/** @param {object} change @param {string} [key] */
const outcome = (change, key = 'a') => ({ chapter: 'c', key, round: 0, result: { ...good, ...change } });

describe('machine warnings', () => {
  test('are absent on a quiet, pinned machine', () => {
    expect(machineWarnings(plan, quiet)).toEqual([]);
    expect(machineWarnings(plan, { ...quiet, governors: [] })).toEqual([]);
  });

  test.each([
    ['load before the start', plan, { ...quiet, loadAverage: 0.6 }, 'load average was 0.60'],
    ['a governor that saves power', plan, { ...quiet, governors: ['powersave'] }, 'powersave'],
    ['nothing pinned', {}, quiet, 'Nothing is pinned'],
    ['shared cores', { gatewayCpus: '0-2', harnessCpus: '2,3' }, quiet, 'share cores']
  ])('include %s', (_, asked, machine, text) => {
    const found = machineWarnings(/** @type {any} */ (asked), machine);
    expect(found).toEqual([expect.stringContaining(text)]);
  });

  test('parse core lists', () => {
    expect([...coresOf('0-2,5')]).toEqual([0, 1, 2, 5]);
    expect(coresOf(undefined).size).toBe(0);
  });

  test('take steal as a part of all time, and count guest time once', () => {
    const before = machineTimes('cpu  100 0 100 700 0 0 0 100 50 0\ncpu0 1 1');
    const after = machineTimes('cpu  200 0 200 1490 0 0 0 110 90 0\ncpu0 1 1');
    expect(machineUse(before, after).steal).toBeCloseTo(0.01);
    expect(machineUse(before, before).steal).toBe(0);
  });
});

describe('run warnings', () => {
  test('are absent at the limits', () => {
    expect(runWarnings([outcome({})], plan)).toEqual([]);
    // A system that is not a generator's, and a case that failed.
    expect(runWarnings([{ chapter: 'c', key: 'a', round: 0, result: {} }], plan)).toEqual([]);
    expect(runWarnings([{ chapter: 'c', key: 'a', round: 0, error: 'no' }], plan)).toEqual([]);
  });

  test.each([
    ['late sends', { sent: { sent: 10000, late: 11 } }, 'were late'],
    ['a busy generator', { harness: [{ name: 'loadgen', cores: 0.86 }] }, 'loadgen used more than 85 %'],
    ['stolen time', { machine: { steal: 0.021, throttled: 0 } }, 'steal time was above'],
    ['throttling', { machine: { steal: 0, throttled: 1 } }, 'throttled']
  ])('include %s, with how often and where', (_, change, text) => {
    const found = runWarnings([outcome({}), outcome(change, 'b')], plan);
    expect(found[0]).toContain(text);
    expect(found[0]).toMatch(/^In 1 of 2 runs .* \(b\)\.$/);
  });

  test('include runs repeated for steal time, with the configured limit', () => {
    const strict = /** @type {any} */ ({ ...plan, mostSteal: 0.005 });
    const still = { machine: { steal: 0.006, throttled: 0 } };
    expect(
      runWarnings(
        [
          { ...outcome({}), again: { times: 1, faults: [] } },
          { ...outcome(still, 'b'), again: { times: 2, faults: [] } }
        ],
        strict
      )
    ).toEqual([
      '2 of 2 runs were repeated because their steal time was above 0.50 %.',
      expect.stringMatching(/^In 2 of 2 runs steal time was above 0\.50 % .*\(a, b\)\.$/)
    ]);
  });

  test('include a harness that fills its cores together, where it has cores of its own', () => {
    const harness = ['loadgen', 'sink', 'cloud'].map((name) => ({ name, cores: 0.3 }));
    expect(runWarnings([outcome({ harness })], plan)[0]).toContain('together');
    expect(runWarnings([outcome({ harness })], /** @type {any} */ ({ harnessCpus: '2,3' }))).toEqual([]);
    expect(runWarnings([outcome({ harness })], /** @type {any} */ ({}))).toEqual([]);
  });

  test('list lost, swapped and duplicate messages by run', () => {
    const bad = outcome({
      verdict: { lost: 2, examples: ['device 7 normal 5'] },
      arrived: { outOfOrder: 1, duplicates: 3 },
      cleanEnd: false
    });
    expect(faultWarnings([outcome({ verdict: { lost: 0 } }), bad])).toEqual([
      'a, round 1: 2 of 10000 acknowledged records were lost (device 7 normal 5).',
      'a, round 1: 1 records arrived out of order.',
      'a, round 1: 3 duplicate records arrived.',
      'a, round 1: the system did not exit cleanly.'
    ]);
  });
});
