'use strict';
// The bench's reading of processes, on a real child whose threads and work are known.

const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { parseRollup, readMemory } = require('../../../bench/harness/memory');
const { parseStat, readCpu, readGroup, readThreads, threadUse } = require('../../../bench/harness/proc');

/** A thread called `busy` that takes 300 ms of CPU, and one called `idle` that sleeps. @type {Child} */
let child;

const program = `
const { Worker } = require('node:worker_threads');
const fs = require('node:fs');
const name = (text) => "require('node:fs').writeFileSync('/proc/thread-self/comm', '" + text + "');";
const busy = "const took = () => process.threadCpuUsage().user; while (took() < 3e5);";
const done = "require('node:worker_threads').parentPort.postMessage('done');";
new Worker(name('busy') + busy + done + 'setInterval(() => {}, 1e6);', { eval: true }).on('message', () => {
  new Worker(name('idle') + 'setInterval(() => {}, 1e6);', { eval: true }).on('online', () => {
    const kept = Buffer.alloc(20e6, 1);
    setTimeout(() => console.log('ready', kept.length), 100);
  });
});`;

beforeAll(async () => {
  child = new Child(process.execPath, ['-e', program], { name: 'two threads' });
  await child.until((output) => output.includes('ready'), 20000);
});
afterAll(() => child.stop('SIGKILL'));

test('distinguishes threads by name: the busy one and the idle one', () => {
  const use = threadUse(new Map(), readThreads([child.pid]), 1);
  const [busy, idle] = ['busy', 'idle'].map((name) => use.find((each) => each.name === name));
  expect(busy?.threads).toBe(1);
  expect(busy?.cores).toBeGreaterThan(0.25);
  expect(idle?.cores).toBeLessThan(/** @type {any} */ (busy).cores);
  expect(busy?.faultsPerSecond).toBeGreaterThan(0);
  expect(idle?.wakesPerSecond).toBeGreaterThan(0);
});

test('has a sum of threads equal to the group', () => {
  const sum = [...readThreads([child.pid]).values()].reduce((all, { cpuSeconds }) => all + cpuSeconds, 0);
  expect(Math.abs(sum - readGroup(child.pid).cpuSeconds)).toBeLessThan(0.15);
});

test('does not take many processes that work a little each for idle', async () => {
  const work = 'n=0; while [ $n -lt 300 ]; do n=$((n+1)); done; sleep 60';
  const many = new Child('sh', ['-c', `for i in $(seq 40); do sh -c '${work}' & done; echo started; wait`]);
  try {
    await many.until((output) => output.includes('started'));
    await eventually(() => readGroup(many.pid).processes === 81); // each with its sleep
    const exact = [...readThreads([many.pid]).values()].reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0);
    expect(exact).toBeGreaterThan(0);
    expect(readCpu(many.pid)).toBeGreaterThanOrEqual(exact - 1e-3);
    expect(readCpu(many.pid)).toBeGreaterThanOrEqual(readGroup(many.pid).cpuSeconds);
  } finally {
    many.kill('SIGKILL');
    await many.exited;
  }
});

test('reports no threads and no memory for a missing group', () => {
  expect(readThreads([2 ** 22 + 1]).size).toBe(0);
  expect(readMemory([2 ** 22 + 1])).toEqual({ rss: 0, pss: 0, privateDirty: 0 });
});

test('counts the memory that the child filled', () => {
  const { rss, pss, privateDirty } = readMemory([child.pid]);
  expect(privateDirty).toBeGreaterThan(20e6);
  expect(pss).toBeGreaterThanOrEqual(privateDirty);
  expect(rss).toBeGreaterThanOrEqual(pss);
});

describe('threads between two readings', () => {
  const thread = { group: 1, process: 'p', name: 't', waitSeconds: 0, involuntary: 0, minorFaults: 0 };

  test('are summed by name, a new one from its start', () => {
    const before = new Map([['1/1', { ...thread, cpuSeconds: 5, voluntary: 100 }]]);
    const after = new Map([
      ['1/1', { ...thread, cpuSeconds: 6, voluntary: 120 }],
      ['1/2', { ...thread, cpuSeconds: 0.5, voluntary: 10 }],
      ['1/3', { ...thread, name: 'u', cpuSeconds: 4, voluntary: 0 }]
    ]);
    const use = threadUse(before, after, 2);
    expect(use.map(({ name, threads, cores }) => [name, threads, cores])).toEqual([
      ['u', 1, 2],
      ['t', 2, 0.75]
    ]);
    expect(use[1].wakesPerSecond).toBe(15);
  });
});

test('read fields correctly after a name with spaces and parentheses', () => {
  const { comm, stat } = parseStat('12 (a (b) c) S 1 12 9 0 -1');
  expect(comm).toBe('a (b) c');
  expect(stat.slice(0, 3)).toEqual(['S', '1', '12']);
});

test('counts 0 for a sum of mappings without a field', () => {
  expect(parseRollup('Rss:    12 kB\nPss:   3 kB\n')).toEqual({ rss: 12288, pss: 3072, privateDirty: 0 });
});
