'use strict';
// The arithmetic of bench/questions/cores.js, and what it reads of traces and layouts.

const {
  eventsByKind,
  figuresOf,
  kindOf,
  scaling,
  thousands,
  verdict
} = require('../../../bench/cores/figures');
const { sharedMembers } = require('../../../bench/cores/lines');

/** @param {string} name @param {number} cpuUs @param {number} [tid] */
const thread = (name, cpuUs, tid = 1) => ({ tid, name, cpuUs, waitedUs: 0, voluntary: 30, involuntary: 10 });

/** @param {import('../../../bench/cores/figures').Thread[]} threads @param {object} [more] */
const output = (threads, more = {}) => ({
  ...{ fromS: 100, toS: 102, realtimeAheadS: 1000, seconds: 2, records: 10_000, publishes: 500 },
  ...{ uplinkBytes: 1, commits: 0, lost: 0, slowTurns: 0, threads, ...more }
});

/** @param {number} workers @param {number} us of each worker @param {number} round @param {number} [broker] its µs */
function run(workers, us, round, broker = 500) {
  const each = Array.from({ length: workers }, (_, i) => thread(`seganet-w${i}`, us));
  const others = [
    thread('seganet-uplink', 2000),
    thread('load-devices', 1000),
    thread('load-broker', broker)
  ];
  return { round, ...figuresOf(workers, output([...each, ...others])) };
}

test('knows the kind of a thread by its name', () => {
  const names = [
    'seganet-w0',
    'seganet-w12',
    'seganet-uplink',
    'load-devices',
    'seganet-accept',
    'seganet-ww'
  ];
  expect(names.map(kindOf)).toEqual(['workers', 'workers', 'uplink', 'devices', 'others', 'others']);
});

test('computes the cost of a record, and the limit with a core for each thread, from CPU time alone', () => {
  const figures = run(2, 4000, 0);
  expect(figures.perSecond).toBe(5000);
  expect(figures.costs.workers.us).toBeCloseTo(0.8);
  expect(figures.costs.workers.voluntary).toBeCloseTo(6);
  expect(figures.workersAllow).toBeCloseTo(2.5e6);
  expect(figures).toMatchObject({ limit: 'workers', allows: figures.workersAllow });
  expect(run(8, 1000, 0)).toMatchObject({ limit: 'uplink', allows: 5e6 });
});

test('refuses a run that lost a record, or measured none', () => {
  expect(() => figuresOf(1, output([thread('seganet-w0', 1)], { lost: 3 }))).toThrow(
    '3 records with a PUBACK'
  );
  expect(() => figuresOf(1, output([thread('seganet-w0', 1)], { records: 0 }))).toThrow('Increase --seconds');
});

test('compares only runs of the same round with one worker', () => {
  const runs = [run(1, 8000, 0), run(2, 5000, 0), run(1, 4000, 1), run(2, 2000, 1), run(2, 1000, 2)];
  expect(scaling(runs, 2).map((value) => value.toFixed(2))).toEqual(['1.60', '2.00']);
  expect(scaling(runs, 4)).toEqual([]);
});

test('says that workers scale if each brings two thirds of what it could', () => {
  const good = verdict(2, [run(1, 8000, 0), run(2, 4400, 0)]);
  expect(good).toContain('2 workers scale: with a core each they handle × 1.82');
  expect(good).toContain('a record takes × 1.10 their CPU.');
  expect(good).toContain(
    'the limit is workers, at 2,273 thousand records/s; the load allows 20,000 thousand.'
  );
  expect(verdict(2, [run(1, 8000, 0), run(2, 5000, 0)])).toContain('2 workers do not scale');
  expect(verdict(4, [run(1, 8000, 0), run(4, 2500, 0)])).toContain('4 workers scale');
  expect(verdict(4, [run(4, 2500, 0)])).toBe('');
});

test('says that the load is the limit if its threads need more time than those of the gateway', () => {
  const slow = verdict(2, [run(1, 8000, 0, 9000), run(2, 4400, 0, 9000)]);
  expect(slow).toContain('the load allows 1,111 thousand, so it is the limit.');
});

test('prints thousands of records with their range', () => {
  expect(thousands([1_234_400, 1_234_000])).toBe('1,234');
  expect(thousands([900_000, 1_000_000, 1_200_000])).toBe('1,000 [900..1,200]');
});

test('counts events of a trace by kind of thread, in the measured time and on its clock', () => {
  const traced = output([thread('seganet-w0', 1, 7), thread('seganet-uplink', 1, 8)], { records: 2000 });
  const perf = '    7 99.999999: \n    7 100.5: \n    8 101.25: \n    7 102.1: \n    9 101.0: \n';
  expect(eventsByKind(perf, traced, false)).toEqual({ workers: 0.5, uplink: 0.5 });
  const strace = '7 1100.500000 futex(0x1, FUTEX_WAIT_PRIVATE, 2, NULL) = 0\n7 101.0 futex(';
  expect(eventsByKind(strace, traced, true)).toEqual({ workers: 0.5, uplink: 0 });
});

test('finds the atomics of a class in the layout that clang prints, also in its members', () => {
  const dump = `
*** Dumping AST Record Layout
         0 | class seganet::Other
         0 |   struct std::atomic<int> elsewhere_
           | [sizeof=4, dsize=4, align=4,

*** Dumping AST Record Layout
         0 | class seganet::Engine
         0 |   class seganet::Budget budget_
         0 |     int64_t limit_
         8 |     struct std::atomic<long> held_
         8 |       struct std::__atomic_base<long> (base)
         8 |         std::__atomic_base<long>::__int_type _M_i
        16 |     struct std::array<struct std::atomic<long>, 9> records_
        16 |       typename _AT_Type::_Type _M_elems
        88 |   std::atomic<int64_t> * outside_
        96 |   class std::mutex mutex_
        96 |     class std::__mutex_base (base)
           | [sizeof=136, dsize=136, align=8,
`;
  expect(sharedMembers(dump, 'Engine')).toEqual([
    { member: 'budget_.held_', from: 8, to: 16 },
    { member: 'budget_.records_', from: 16, to: 88 },
    { member: 'mutex_', from: 96, to: 136 }
  ]);
  expect(() => sharedMembers(dump, 'Nothing')).toThrow('no layout of Nothing');
});
