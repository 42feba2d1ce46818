'use strict';
// The chapter overlay: what it reads and computes, on synthetic results.

const chapter = require('../../../bench/chapters/overlay');
const { commandOf } = require('../../../bench/report/criteria');
const { set } = require('../../../bench/overlay/criteria');
const {
  hasCommand,
  matrixFigures,
  readChaos,
  readFaults,
  readMatrix,
  readMqtt,
  readSleep
} = require('../../../bench/overlay/lab');
const { proofCommand, proofs, readTests, testsOf } = require('../../../bench/overlay/proofs');
const { systems } = require('../../../bench/overlay/systems');
const { sizeOf, during } = require('../../../bench/overlay/network/engines');
const { planOf } = require('../../fixtures/bench/synthetic');

const { criteria } = set;

const plan = planOf({ rounds: 2, seconds: 5, warmup: 1, openFiles: 1024, tests: false });

/** @param {number} mbits @param {Record<string, any>} [more] */
const rate = (mbits, more = {}) => ({
  idle: { p50: 0.4 },
  tcp: {
    mbits,
    retransmits: 3,
    hubCores: 0.5,
    cores: 1,
    peak: 100 << 20,
    threads: 9,
    goroutines: 40,
    allocatedBytes: 5 << 20,
    heapBytes: 3 << 20,
    releasedBytes: 1 << 20,
    rtt: { p50: 4, p99: 9 }
  },
  pacedTcp: { rtt: { p50: 0.4, p99: 1 }, hubCores: 0.1 },
  paced: { rtt: { p50: 0.5, p99: 1 }, lost: 0, hubCores: 0.1, duplicates: 0, outOfOrder: 0 },
  udp: { mbits: 200, hubCores: 0.4, peak: 90 << 20, duplicates: 0 },
  ...more
});

/** @param {Record<string, any[]>} results by key; one for each round */
const outcomes = (results) =>
  Object.entries(results).flatMap(([key, all]) =>
    all.map((result, round) => ({ chapter: 'overlay', key, round, result }))
  );

/** @param {Record<string, any[]>} results */
const ratiosOf = (results) =>
  Object.fromEntries(chapter.report(outcomes(results), plan).ratios.map(({ name, ...rest }) => [name, rest]));

test('has the 25 criteria, each with a limit and a command', () => {
  expect(criteria.map(({ number }) => number)).toEqual(Array.from({ length: 25 }, (_, i) => i + 1));
  for (const criterion of criteria) {
    expect(criterion.limit).not.toBe('');
    expect(criterion.prototype).not.toBe('');
    expect(commandOf(set, criterion)).not.toBe('');
  }
});

test('names tests that exist', () => {
  for (const [number, { packages, tests }] of Object.entries(proofs)) {
    const found = testsOf(Number(number));
    // One is newer than the others.
    expect(found).toEqual(
      tests.filter((name) => name !== 'TestOrderHoldsOnEachPath' || found.includes(name))
    );
    expect(proofCommand(Number(number))).toContain(`./internal/${packages[0]}`);
  }
  expect(proofCommand(1)).toBe('');
});

test('a part for --systems is known for every criterion that is measured', () => {
  const { what } = chapter;
  for (const { part } of criteria) {
    for (const name of part.split(',').filter(Boolean)) expect(what).toContain(name);
  }
});

test('compares systems of the same round', () => {
  const found = ratiosOf({
    'seganet:1': [rate(3000), rate(1200)],
    'wireguard-go:1': [rate(2000), rate(1000)],
    'seganet-1:1': [rate(3000), rate(1000)]
  });
  expect(found['1: 1 peer, ÷ wireguard-go']).toEqual({ target: '≥ 1.1', median: 1.2, low: 1.2, high: 1.5 });
  const { markdown } = chapter.report(
    outcomes({ 'seganet:1': [rate(3000)], 'wireguard-go:1': [rate(2000)] }),
    plan
  );
  expect(markdown).toContain('CPU a bit, ÷ wireguard-go: 0.67');
  expect(found['4: 1 peer, ÷ one worker']).toMatchObject({ low: 1, high: 1.2 });
  expect(found['2: 10 peers, ÷ wireguard-go']).toBeUndefined();
});

test('ignores a round in which one of the two failed', () => {
  const all = outcomes({ 'seganet:1': [rate(3000), rate(1200)], 'wireguard-go:1': [rate(2000)] });
  all.push(/** @type {any} */ ({ chapter: 'overlay', key: 'wireguard-go:1', round: 1, error: 'x' }));
  const [ratio] = chapter.report(all, plan).ratios;
  expect(ratio).toMatchObject({ name: '1: 1 peer, ÷ wireguard-go', median: 1.5, low: 1.5, high: 1.5 });
});

test('round trips, threads and memory of 10 peers', () => {
  const ten = rate(2000, { pacedTcp: { rtt: { p50: 0.44 } }, paced: { rtt: { p50: 0.6 } } });
  const found = ratiosOf({
    'seganet:1': [rate(3000)],
    'seganet:10': [ten],
    gone: [{ before: { goroutines: 30 }, after: { goroutines: 31, memory: 20 << 20 }, loaded: {}, peers: 10 }]
  });
  expect(found['3: TCP: RTT p50, 10 ÷ 1'].median).toBeCloseTo(1.1);
  expect(found['3: UDP of 1,200 B: RTT p50, 10 ÷ 1'].median).toBeCloseTo(1.2);
  expect(found['6: threads, 10 ÷ 1'].median).toBe(1);
  expect(found['5: saturated, MiB at most'].median).toBe(100);
  expect(found['5: after, MiB'].median).toBe(20);
  expect(found['5: goroutines more than before'].median).toBe(1);
});

test('the report has the criteria and the figures of what was measured', () => {
  const { markdown } = chapter.report(
    outcomes({ 'seganet:1': [rate(3000)], 'seganet:4': [rate(2500)], 'nebula:1': [rate(600)] }),
    plan
  );
  expect(markdown).toContain('| TCP, Mbit/s in all; peers: | 1 | 4 |');
  expect(markdown).toContain('| seganet-overlay | 3000 | 2500 |');
  expect(markdown).toContain('| Nebula | 600 | – |');
  for (const figure of [5, 6, 7, 8]) expect(markdown).toContain(`### Figure ${figure}`);
  const rows = markdown.split('\n').filter((line) => /^\| \d+ \|/.test(line));
  expect(rows).toHaveLength(25);
  const bars = rows.map((row) => row.replaceAll('\\|', '').split('|').length);
  expect(new Set(bars)).toEqual(new Set([9]));
});

test('an empty report is one', () => {
  const { markdown, ratios, warnings } = chapter.report([], plan);
  expect(markdown).toContain('not run');
  expect([ratios, warnings]).toEqual([[], []]);
});

test('warns of datagrams that arrived twice or out of order, and of skipped tests', () => {
  const bad = rate(1, { paced: { rtt: {}, duplicates: 1, outOfOrder: 2 } });
  const { warnings } = chapter.report(
    outcomes({ 'seganet:1': [bad], 'test-13': [{ passed: 0, failed: 0, skipped: 1, missing: 0 }] }),
    plan
  );
  expect(warnings).toEqual([
    'seganet:1, round 1: datagrams arrived twice.',
    'seganet:1, round 1: 2 datagrams out of order.',
    'test-13, round 1: 1 tests were skipped.'
  ]);
});

test('reads the pairs of NATs', () => {
  const pairs = readMatrix(
    [
      'full      port      first answer 0.02 s, 290 of 300, direct after 0.11 s (direct 10.77.0.12:4000)',
      'symmetric symmetric first answer 0.30 s, 280 of 300, relay: both sides are behind a symmetric NAT',
      'port      noudp     first answer 0.90 s, 250 of 300, relay: UDP is blocked',
      'full      noudp     first answer 0.00 s, 0 of 300, none: no answer'
    ].join('\n')
  );
  expect(pairs[0]).toEqual({ a: 'full', b: 'port', first: 0.02, answered: 290, direct: 0.11 });
  expect(matrixFigures(pairs)).toEqual({
    pairs: 4,
    connected: 3,
    direct: 1,
    directAfter: 0.11,
    firstWithUdp: 0.3,
    firstWithoutUdp: 0.9
  });
  expect(matrixFigures([])).toMatchObject({ pairs: 0, directAfter: undefined });
});

test('reads faults and the first packet', () => {
  const found = readFaults(
    [
      '8 the direct path falls silent             longest silence 1.55 s (limit 2.0), 190 of 300 answered, 0 out of order, now relay []',
      '17 the relay dies, relayed                 longest silence 2.40 s (limit 3.0), 280 of 400 answered, 0 out of order, now relay []',
      "10 the host's address changes              longest silence 0.47 s (limit 1.0), 380 of 400 answered, 2 out of order, now direct [0.47]"
    ].join('\n')
  );
  expect(found).toEqual({
    '8 the direct path falls silent': { silence: 1.55, outOfOrder: 0 },
    '17 the relay dies, relayed': { silence: 2.4, outOfOrder: 0 },
    "10 the host's address changes": { silence: 0.47, outOfOrder: 2 }
  });
  const ratios = ratiosOf({ faults: [found], relays: [found] });
  expect(ratios['17: relayed peers: longest pause, 0 = under 0.15 s']).toMatchObject({
    median: 2.4,
    target: '≤ 3'
  });
  expect(ratios['8: dead path: longest pause, 0 = under 0.15 s'].median).toBe(1.55);
  expect(ratios['10: host: longest pause, 0 = under 0.15 s'].median).toBe(0.47);
  expect(ratios['10: outside: longest pause, 0 = under 0.15 s']).toBeUndefined();
  expect(readSleep('ping by name of an unknown peer: 5 ms\nfirst answer 0.02 s\n')).toBe(0.02);
  expect(readSleep('lab: failed')).toBeUndefined();
});

test('knows the commands of the lab', () => {
  const commands = ['matrix', 'faults', 'relays', 'sleep'];
  expect(commands.map(hasCommand)).toEqual([true, true, true, true]);
  expect(hasCommand('nothing')).toBe(false);
});

test('reads the MQTT session and the schedules of faults', () => {
  const good = '11 MQTT: 450 records, 0 lost, 2 copies, 1 connection(s), longest wait 1.8 s\n';
  expect(readMqtt(good)).toEqual({ records: 450, lost: 0, connections: 1 });
  expect(readMqtt('lab: MQTT: 3 of 450 records lost, 447 acknowledged')).toEqual({ records: 450, lost: 3 });
  expect(readMqtt('lab: no broker')).toBeUndefined();
  const chaos = readChaos(
    'seed 1: passed: full with port, 20 faults\n  seed 2, 3.0 s: the link\nseed 2: FAILED: 1 packets arrived twice: port\n'
  );
  expect(chaos).toEqual({
    schedules: 2,
    passed: 1,
    failures: ['seed 2: FAILED: 1 packets arrived twice: port']
  });
  expect(readChaos('lab: failed')).toBeUndefined();
  const found = ratiosOf({ mqtt: [readMqtt(good)], chaos: [chaos] });
  expect(found['11: connections'].median).toBe(1);
  expect(found['11: schedules failed'].median).toBe(1);
});

test('counts tests of Go, not their parts', () => {
  const output =
    '=== RUN   TestA\n    --- PASS: TestA/x (0.0s)\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.0s)\n--- FAIL: TestC (1s)\n';
  expect(readTests(output)).toEqual({ passed: 1, failed: 1, skipped: 1 });
});

test('takes the numbers of peers from the plan', () => {
  const listed = { ...plan, systems: ['wireguard-go'] };
  // Without Go or root nothing runs, and the chapter says why.
  if ((chapter.lacking?.(listed) ?? []).length > 0) return;
  const keys = (/** @type {any} */ more) => chapter.cases({ ...listed, ...more }).map(({ key }) => key);
  expect(keys({})).toEqual(['wireguard-go:1', 'wireguard-go:4', 'wireguard-go:10']);
  expect(keys({ sizes: { devices: 7 } })).toEqual(['wireguard-go:7']);
  expect(keys({ all: true })).toHaveLength(10);
  expect(keys({ systems: ['nebula', 'rootless'] })).toEqual(['nebula:1', 'nebula:10', 'rootless']);
  const all = keys({ systems: ['rates'], quick: true });
  for (const { name, lacking } of systems) {
    expect(all.includes(`${name}:10`)).toBe(!lacking?.());
  }
});

test('reads CPU, memory and threads of a process', async () => {
  const self = /** @type {any} */ ({ pid: process.pid });
  const { memory, own, peak, threads } = sizeOf(self);
  expect(own).toBeGreaterThan(1 << 20);
  expect(own).toBeLessThan(memory);
  expect(memory).toBeGreaterThan(1 << 20);
  expect(peak).toBeGreaterThanOrEqual(memory);
  expect(threads).toBeGreaterThan(1);
  const { cores, result } = await during([self], async () => {
    const end = process.cpuUsage().user + 60_000;
    while (process.cpuUsage().user < end);
    return 'done';
  });
  expect(result).toBe('done');
  expect(cores[0]).toBeGreaterThan(0);
});
