'use strict';
// Measures the series: points a second with fsync, bytes a point, and the time that one day of one series takes.
//   node native/node/run.js bench/questions/series.js [--points 2000000] [--series 1000] [--commit 1000]
//     [--directory DIR]

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { numbersOf } = require('../../nodes/lib/series');
const { range } = require('../../nodes/lib/series/series-reader');
const { SeriesStore } = require('../../nodes/lib/series/series-store');
const { SeriesThread } = require('../../nodes/lib/series/series-thread');

const { values } = parseArgs({
  options: {
    points: { type: 'string', default: '2000000' },
    series: { type: 'string', default: '1000' },
    commit: { type: 'string', default: '1000' },
    directory: { type: 'string', default: os.tmpdir() }
  }
});
const points = Number(values.points);
const seriesCount = Number(values.series);
const perCommit = Number(values.commit);
const DAY_S = 86400;
const ROUNDS = 15;

/** Begins with an hour, some days ago. */
const start = Date.now() - (Date.now() % 3600000) - 5 * DAY_S * 1000;

/** A clock that the points move. */
const clock = { at: 0, wall: () => start + clock.at, monotonic: () => clock.at };

/** @type {Record<string, (i: number) => number>} */
const KINDS = {
  'any doubles': (i) => Math.sin(i),
  'two digits after the point': (i) => Math.round(2000 + 500 * Math.sin(i / 500)) / 100
};

/** @param {string} name @param {object} [more] */
function optionsOf(name, more = {}) {
  const directory = fs.mkdtempSync(path.join(values.directory, `seganet-series-${name}-`));
  const limits = {
    maxSeries: 100000,
    maxPoints: 1000000,
    days: 30,
    meansDays: 730,
    limitMiB: 4096,
    searchMiB: 64
  };
  return { directory, ...limits, search: /** @type {const} */ ('off'), ...more };
}

/** @param {string} sentence */
function fail(sentence) {
  throw new Error(sentence);
}

/**
 * Puts points of each series at 1 Hz, in one commit for each `perCommit` of them.
 * @param {SeriesStore} store @param {number} count @param {number} series @param {(i: number) => number} valueOf
 */
function fill(store, count, series, valueOf) {
  const devices = Array.from({ length: series }, (_, i) => `device-${i}`);
  for (let i = 0; i < count; i += perCommit) {
    const size = Math.min(perCommit, count - i);
    const batch = { devices: [], stamps: [], counts: [], names: [], values: [], topics: [], texts: [] };
    for (let j = i; j < i + size; j++) {
      batch.devices.push(devices[j % series]);
      batch.stamps.push(start + Math.floor(j / series) * 1000 + 1);
      batch.counts.push(1);
      batch.names.push('temperature');
      batch.values.push(valueOf(j));
    }
    clock.at = Math.floor((i + size) / series) * 1000;
    store.put([batch]);
    store.tick();
  }
}

/** @param {string} kind */
function storeSpeed(kind) {
  clock.at = 0;
  const options = optionsOf('store');
  const store = new SeriesStore(options, fail, clock);
  const began = performance.now();
  const cpu = process.cpuUsage();
  fill(store, points, seriesCount, KINDS[kind]);
  store.flush(true);
  const seconds = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const { commits, points: stored } = store.counters;
  console.log(
    `${kind}: ${Math.round(stored / seconds)} points a second (${commits} commits with fsync, blocks and hours included), ${((user + system) / stored).toFixed(2)} µs of processor time a point`
  );
  const minutes = store.database.usedBytes();
  clock.at += 2 * 3600000;
  store.retention.runAll();
  const bytes = store.database.usedBytes();
  console.log(
    `  ${(minutes / stored).toFixed(1)} bytes a point at the end, ${(bytes / stored).toFixed(1)} when all hours are merged`
  );
  store.close();
  fs.rmSync(options.directory, { recursive: true });
}

/** @param {string} kind */
async function day(kind) {
  clock.at = 0;
  const options = optionsOf('day');
  const store = new SeriesStore(options, fail, clock);
  // The day is among others.
  fill(store, DAY_S * 4, 4, KINDS[kind]);
  clock.at += 2 * 3600000;
  store.retention.runAll();
  const wanted = [{ device: 'device-1', name: 'temperature' }];
  for (const [what, step] of /** @type {const} */ ([
    ['all 86,400 points', 0],
    ['means of 5 min', 300000],
    ['hourly means', 3600000]
  ])) {
    const asked = { from: start, to: start + DAY_S * 1000, step, limit: 100000 };
    const times = [];
    let rows = 0;
    for (let i = 0; i < ROUNDS; i++) {
      const began = performance.now();
      rows = (await range(store, wanted, asked)).series[0].columns.ts.length;
      times.push(performance.now() - began);
    }
    times.sort((a, b) => a - b);
    console.log(
      `${kind}, one day of one series, ${what} (${rows} rows): median ${times[ROUNDS >> 1].toFixed(2)} ms, most ${times[ROUNDS - 1].toFixed(2)} ms`
    );
  }
  store.close();
  fs.rmSync(options.directory, { recursive: true });
}

/**
 * Puts records of 10 numbers, parsed, through the thread; each is completed when it is on disk.
 * @param {'off' | 'latest'} search
 */
async function throughThread(search) {
  const options = optionsOf('thread', { search });
  const thread = new SeriesThread(options);
  const names = Array.from({ length: 10 }, (_, i) => `value${i}`);
  const records = Math.floor(points / 20);
  let ended = 0;
  let failed = 0;
  const began = performance.now();
  for (let i = 0; i < records;) {
    if (thread.waitingPoints > 100000) {
      await new Promise((resolve) => setImmediate(resolve));
      continue;
    }
    const device = `device-${i % 100}`;
    const payload = JSON.stringify(Object.fromEntries(names.map((name, j) => [name, (i + j) / 4])));
    const found = numbersOf(payload, 't', { choices: [], maxValues: 64, byTopic: false });
    thread.put(
      {
        device,
        ts: start + Math.floor(i / 100) * 100,
        topic: 't',
        text: search === 'off' ? null : payload,
        ...found
      },
      (error) => {
        ended++;
        if (error) failed++;
      }
    );
    i++;
  }
  while (ended < records) await new Promise((resolve) => setTimeout(resolve, 1));
  const seconds = (performance.now() - began) / 1000;
  console.log(
    `through the thread, JSON of 10 numbers, search ${search}: ${Math.round((records * 10) / seconds)} points a second, ${failed} failed`
  );
  await thread.stop();
  fs.rmSync(options.directory, { recursive: true });
}

/** @returns {string} what one fsync costs here and now, and how busy the machine is */
function conditions() {
  const file = path.join(values.directory, `seganet-fsync-${process.pid}`);
  const fd = fs.openSync(file, 'w');
  const times = Array.from({ length: 50 }, () => {
    fs.writeSync(fd, Buffer.alloc(20000));
    const began = performance.now();
    fs.fsyncSync(fd);
    return performance.now() - began;
  }).sort((a, b) => a - b);
  fs.closeSync(fd);
  fs.rmSync(file);
  return `20 KB with fsync: median ${times[25].toFixed(2)} ms, most ${times[49].toFixed(2)} ms; load ${os.loadavg()[0].toFixed(1)}`;
}

async function main() {
  const { model } = os.cpus()[0];
  console.log(
    `${os.cpus().length} cores (${model}), Node.js ${process.version}, ${values.directory}; WAL, synchronous=FULL`
  );
  console.log(conditions());
  console.log(`${points} points of ${seriesCount} series, ${perCommit} a commit`);
  for (const kind of Object.keys(KINDS)) storeSpeed(kind);
  for (const kind of Object.keys(KINDS)) await day(kind);
  await throughThread('off');
  await throughThread('latest');
}

void main();
