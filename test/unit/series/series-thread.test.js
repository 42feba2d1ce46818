'use strict';

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { QuestionError } = require('../../../nodes/lib/series/question-error');
const { SeriesThread } = require('../../../nodes/lib/series/series-thread');
const { TextSearches } = require('../../../nodes/lib/series/text-searches');
const { eventually } = require('../../../bench/harness/net');
const { START } = require('../../fixtures/series/series-rig');

jest.setTimeout(60000);

/** @type {string} */
let directory;
/** @type {SeriesThread[]} */
const threads = [];
beforeEach(() => (directory = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-series-'))));
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.stop();
  fs.rmSync(directory, { recursive: true, force: true });
});

const open = (options = {}) => {
  const limits = {
    maxSeries: 1000,
    maxPoints: 100000,
    days: 3650,
    meansDays: 0,
    limitMiB: 64,
    search: 'latest',
    searchMiB: 8
  };
  const thread = new SeriesThread({ directory, ...limits, ...options });
  threads.push(thread);
  return thread;
};
const put = (thread, record) =>
  new Promise((resolve, reject) => {
    const whole = { device: 'a', ts: START, names: ['x'], values: [1], topic: 't', text: 'text', ...record };
    thread.put(whole, (error) => (error ? reject(error) : resolve()));
  });
const wide = { from: 0, to: 8e15, step: 0, limit: 100000 };
const read = async (thread, device = 'a') => {
  const { text } = await thread.range([{ device, name: '' }], wide, 'ndjson');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
};

test('gives the points of a series in pages, oldest first', async () => {
  const thread = open();
  await Promise.all(Array.from({ length: 2500 }, (_, i) => put(thread, { ts: START + i, values: [i] })));
  const seen = [];
  for (let from = START; from !== null;) {
    const page = await thread.points({ device: 'a', name: 'x' }, { from, to: START + 2400, limit: 1000 });
    expect(ArrayBuffer.isView(page.times)).toBe(true);
    expect(page.times.length).toBe(page.values.length);
    seen.push(...page.values);
    from = page.next;
  }
  expect(seen).toEqual(Array.from({ length: 2400 }, (_, i) => i));
  const none = await thread.points({ device: 'a', name: 'y' }, { from: 0, to: 8e15, limit: 10 });
  expect([none.times.length, none.next]).toEqual([0, null]);
});

test.each(/** @type {const} */ (['latest', 'all']))(
  'knows the topics of each device (%s)',
  async (search) => {
    const thread = open({ search });
    for (const [device, topic] of ['b t', 'a u', 'a t', 'a t'].map((each) => each.split(' ')))
      await put(thread, { device, topic });
    const first = await thread.topics({ device: '', topic: '' }, 2);
    const rest = await thread.topics(first[1], 2);
    expect([...first, ...rest]).toEqual([
      { device: 'a', topic: 't' },
      { device: 'a', topic: 'u' },
      { device: 'b', topic: 't' }
    ]);
  }
);

test('knows no topics while the search is off', async () => {
  const thread = open({ search: 'off' });
  await put(thread, {});
  expect(await thread.topics({ device: '', topic: '' }, 10)).toEqual([]);
});

test('completes a record when it is on disk, and answers questions', async () => {
  const thread = open();
  await Promise.all(Array.from({ length: 3000 }, (_, i) => put(thread, { ts: START + i, values: [i] })));
  expect(thread.waitingPoints).toBe(0);
  const rows = await read(thread);
  expect([rows.length, rows[2999].value]).toEqual([3000, 2999]);
  const question = { words: 'text', keys: null, operator: '=', value: null, device: '', limit: 10 };
  expect(await thread.search(question)).toMatchObject({
    records: [{ device: 'a', topic: 't' }],
    isComplete: true
  });
  await expect(thread.search({ ...question, words: '***' })).rejects.toThrow(QuestionError);
  const page = { device: '', name: '', contains: '', after: 0, limit: 10, withValues: true };
  expect((await thread.list(page)).series).toEqual([
    { device: 'a', name: 'x', ts: START + 2999, value: 2999 }
  ]);
});

test('stores what waits when it is stopped', async () => {
  const thread = open();
  const ends = Array.from({ length: 1000 }, (_, i) => put(thread, { ts: START + i }));
  await thread.stop();
  await Promise.all(ends);
  await expect(put(thread, {})).rejects.toThrow(/series .*closed/);
  expect(await read(open())).toHaveLength(1000);
});

test('fails what the thread had when it ended, and continues with the next thread', async () => {
  const thread = open();
  await put(thread, {});
  const problems = [];
  thread.on('problem', (sentence) => problems.push(sentence));
  const ends = Promise.allSettled([put(thread, { ts: START + 1 })]);
  thread.thread.terminate();
  await ends;
  await eventually(() => problems.length > 0, { what: 'the end is reported' });
  expect(problems[0]).toMatch(/thread of the series ended unexpectedly/);
  await put(thread, { ts: START + 2 });
  const times = (await read(thread)).map(({ ts }) => ts);
  expect([times[0], times.at(-1)]).toEqual([START, START + 2]);
});

test('fails records with a sentence when too many wait', async () => {
  const thread = open();
  const names = Array.from({ length: 1000 }, (_, i) => `n${i}`);
  const ends = Array.from({ length: 300 }, (_, i) =>
    put(thread, { ts: START + i, names, values: names.map(() => 1) })
  );
  const results = await Promise.allSettled(ends);
  const failed = results.filter(({ status }) => status === 'rejected');
  expect(failed).toHaveLength(100);
  expect(String(failed[0].reason)).toMatch(/too slow: 200000 points wait/);
  expect(thread.refused).toBe(100);
});

test('loses no completed point when the process is killed in the middle of commits', async () => {
  const script = path.join(__dirname, '../../fixtures/series/writer.js');
  const stored = new Set();
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, [script, directory], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, problems] = ['', ''];
    child.stdout.on('data', (data) => (output += data));
    child.stderr.on('data', (data) => (problems += data));
    const ended = new Promise((resolve) => child.once('close', resolve));
    await eventually(() => output.length > 15000 || child.exitCode !== null, {
      timeoutMs: 60000,
      what: 'points are on disk'
    });
    child.kill('SIGKILL');
    await ended;
    expect(problems).toBe('');
    const lines = output.split('\n').slice(0, -1).map(Number);
    for (const n of lines) stored.add(n);
    fs.writeFileSync(path.join(directory, 'last'), String(Math.max(...lines) + 1000));
  }
  const thread = open();
  const found = new Set();
  for (let d = 0; d < 10; d++) for (const { value } of await read(thread, `d${d}`)) found.add(value);
  const lost = [...stored].filter((n) => !found.has(n));
  expect(stored.size).toBeGreaterThan(5000);
  expect(lost).toEqual([]);
  expect(thread.state.counters.damagedBlocks ?? 0).toBe(0);
});

test('stores records while a reader searches, ends the search at its limit, and searches again', async () => {
  // A * for all of 130,000 words: some hundred milliseconds of native work before the first row.
  const thread = open({ search: 'all', searchMiB: 64, limitMiB: 512 });
  const text = (i) =>
    Array.from(
      { length: 1900 },
      (_, k) => `ab${String.fromCharCode(97 + (k % 26))}${(i * 31 + k * 17) % 5000}`
    );
  for (let i = 0; i < 200; i += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, j) =>
        put(thread, { ts: START + i + j, text: `every ${text(i + j).join(' ')}` })
      )
    );
  const question = { keys: null, operator: '=', value: null, device: '', limit: 10 };
  const ask = (words) => thread.search({ ...question, words });
  expect((await ask('every')).records.length).toBeGreaterThan(0);
  const searches = new TextSearches(directory, { workMs: 20 });
  let isSearching = true;
  const failure = searches
    .run({ ...question, words: 'ab* abc* abd*' })
    .then(
      () => 'answered',
      (error) => (error instanceof QuestionError ? error.message : `wrong: ${error}`)
    )
    .finally(() => (isSearching = false));
  let stored = 0;
  while (isSearching) await put(thread, { device: 'b', ts: START + stored++, text: null });
  expect(await failure).toMatch(/took longer than 20 ms.*more letters before each \*/);
  expect(stored).toBeGreaterThan(0);
  // As long as the thread still works on it, nothing is searched beside it.
  const next = await searches.run({ ...question, words: 'every' }).then(
    () => '',
    (error) => error.message
  );
  expect(next).toMatch(/^$|has not ended yet|took longer/);
  expect((await ask('every')).records.length).toBeGreaterThan(0);
  await searches.close();
});
