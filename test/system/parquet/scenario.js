'use strict';
// Real devices publish numbers over MQTT while the gateway is killed (SIGKILL) at random moments. At the end DuckDB,
// which shares no code with the gateway, reads the files that the manifests name: each acknowledged number must be
// there, and once, unless its device has sent it again.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { promisify } = require('node:util');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { RawDevice } = require('../../fixtures/parquet/raw-device');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');

const MERGE = path.join(__dirname, '../../fixtures/parquet/merge-all.js');
const run = promisify(execFile);

/** @param {number} port @param {string} folder @param {Record<string, string>} settings */
function flowOf(port, folder, settings) {
  const at = { z: 'tab', x: 100, y: 100 };
  return [
    { id: 'tab', type: 'tab', label: 'parquet' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      wires: [['batch']]
    },
    { ...at, id: 'batch', type: 'seganet-batch', engine: 'engine', mode: 'records', wires: [['files']] },
    {
      ...at,
      id: 'files',
      type: 'seganet-parquet-uplink',
      engine: 'engine',
      folder,
      valuePath: '$.n',
      ...settings,
      wires: []
    }
  ];
}

/** @param {string} folder @returns {string[]} files that the manifests name */
function listedFiles(folder) {
  const days = fs.readdirSync(folder).filter((name) => name.startsWith('date='));
  return days.flatMap((day) => {
    const manifest = path.join(folder, day, '_manifest.json');
    if (!fs.existsSync(manifest)) return [];
    const { runs } = JSON.parse(fs.readFileSync(manifest, 'utf8'));
    return runs.flatMap((/** @type {any} */ { files }) =>
      files.map((/** @type {any} */ { name }) => path.join(folder, day, name))
    );
  });
}

/** @param {string} folder @returns {number} 0 = the gateway has merged nothing */
function highestLevel(folder) {
  const days = fs.readdirSync(folder).filter((name) => name.startsWith('date='));
  const levels = days.flatMap((day) => {
    const { runs } = JSON.parse(fs.readFileSync(path.join(folder, day, '_manifest.json'), 'utf8'));
    return runs.map((/** @type {any} */ { level }) => level);
  });
  return Math.max(...levels);
}

/**
 * @param {string[]} files
 * @param {RawDevice[]} devices
 * @returns {Promise<{ rows: number, lost: number, double: number, sentAgain: number }>} double: numbers that occur more
 *   often than their device has sent them
 */
async function judge(files, devices) {
  const { DuckDBInstance } = require('@duckdb/node-api');
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  const list = files.map((file) => `'${file.replaceAll("'", "''")}'`).join(', ');
  await db.run(`CREATE VIEW records AS FROM read_parquet([${list}])`);
  const rowsOf = async (/** @type {string} */ sql) =>
    (await db.runAndReadAll(sql)).getRows().map((row) => row.map(Number));
  let lost = 0;
  let double = 0;
  let sentAgain = 0;
  for (const { id, acked, again } of devices) {
    const [[found]] = await rowsOf(
      `SELECT count(DISTINCT value) FROM records WHERE device = '${id}' AND value < ${acked}`
    );
    lost += acked - found;
    const copies = await rowsOf(
      `SELECT value, count(*) FROM records WHERE device = '${id}' GROUP BY value HAVING count(*) > 1`
    );
    for (const [value, count] of copies) {
      const sends = 1 + again.filter(({ from, to }) => value >= from && value < to).length;
      if (count > sends) double++;
    }
    sentAgain += again.reduce((sum, { from, to }) => sum + to - from, 0);
  }
  const [[rows]] = await rowsOf('SELECT count(*) FROM records');
  db.closeSync();
  return { rows, lost, double, sentAgain };
}

/**
 * @param {{ points: number, devices: number, kills: number, random: ReturnType<typeof import('../../fixtures/random').seeded>,
 *   meanS: number, settings?: Record<string, string>, keep?: boolean, log?: (line: string) => void }} options meanS:
 *   mean time between two kills
 */
async function killAndCount({
  points,
  devices: count,
  kills,
  random,
  meanS,
  settings = {},
  keep = false,
  log = () => {}
}) {
  const port = await freePort();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-parquet-'));
  const flow = flowOf(port, folder, { maxWaitS: '2', ...settings });
  let gateway = await startFlow(flow);
  const { home } = gateway;
  const devices = Array.from(
    { length: count },
    (_, i) => new RawDevice(`dev-${i}`, port, Math.ceil(points / count))
  );
  const startedAt = performance.now();
  const acked = () => devices.reduce((sum, device) => sum + device.acked, 0);
  const all = Promise.all(devices.map(({ done }) => done));
  let isOver = false;
  void all.then(() => (isOver = true));
  let killed = 0;
  try {
    for (; killed < kills && !isOver; killed++) {
      await Promise.race([all, delay(500 + random.integer(2 * meanS * 1000))]);
      if (isOver) break;
      await gateway.end('SIGKILL');
      log(`kill ${killed + 1} of ${kills}: ${acked()} acknowledged`);
      gateway = await startFlow(flow, home);
      await waitForPort(port);
    }
    await all;
    const seconds = (performance.now() - startedAt) / 1000;
    const figure = async (/** @type {string} */ name) => {
      const text = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/seganet/metrics`)).text();
      return Number(new RegExp(`^${name}[ {].*?([0-9.e+]+)$`, 'm').exec(text)?.[1] ?? NaN);
    };
    const rows = async () => Number((await gateway.stats('engine')).storedRecords.reduce((a, b) => a + b, 0));
    await eventually(async () => (await rows()) === 0 && (await figure('seganet_parquet_open_rows')) === 0, {
      timeoutMs: 600000,
      everyMs: 500,
      what: 'the last files'
    });
    const drainedS = (performance.now() - startedAt) / 1000;
    await gateway.end('SIGTERM');
    const before = await judge(listedFiles(folder), devices);
    const bytes = (/** @type {string[]} */ files) =>
      files.reduce((sum, file) => sum + fs.statSync(file).size, 0);
    log(`before the merge: ${JSON.stringify(before)}`);
    const small = {
      files: listedFiles(folder).length,
      level: highestLevel(folder),
      bytes: bytes(listedFiles(folder))
    };
    const { stdout } = await run(process.execPath, [MERGE, folder], { maxBuffer: 1 << 20 });
    const merged = JSON.parse(stdout);
    const after = await judge(listedFiles(folder), devices);
    return { killed, acked: acked(), seconds, drainedS, before, small, merged, after, folder };
  } finally {
    for (const device of devices) device.end();
    await gateway.end('SIGTERM');
    fs.rmSync(home, { recursive: true, force: true });
    if (!keep) fs.rmSync(folder, { recursive: true, force: true });
  }
}

module.exports = { killAndCount };
