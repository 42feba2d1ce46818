'use strict';
// A gateway whose devices end in Parquet files, which other programs read.

const { execFile, execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const mqtt = require('mqtt');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { seeded } = require('../../fixtures/random');
const { FaultyBucket } = require('../../fixtures/parquet/bucket');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');
const { needs, python } = require('../../../bench/harness/tools');
const { listedFiles } = require('../../../nodes/lib/parquet/store/listed-files');
const { killAndCount } = require('./scenario');

const run = promisify(execFile);

jest.setTimeout(240000);

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-parquet-'));
  ends.push(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @param {Record<string, unknown>[]} uplinks settings of parquet uplink nodes */
async function startGateway(uplinks) {
  const port = await freePort();
  const at = { z: 'tab', x: 100, y: 100 };
  const files = uplinks.map((settings, i) => ({
    ...at,
    id: `files${i}`,
    type: 'seganet-parquet-uplink',
    engine: 'engine',
    maxWaitS: '1',
    ...settings,
    wires: []
  }));
  const gateway = await startFlow([
    { id: 'tab', type: 'tab', label: 'parquet' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe', maxPacketKiB: '2048' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      wires: [files.map(({ id }) => id)]
    },
    ...files
  ]);
  ends.push(() => gateway.stop());
  await waitForPort(port);
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'dev-1' });
  ends.push(() => client.endAsync(true));
  const metrics = async () => (await fetch(`http://127.0.0.1:${gateway.adminPort}/seganet/metrics`)).text();
  /** @param {string} state @param {string} [id] */
  const isState = (state, id = 'files0') =>
    eventually(
      async () =>
        (await metrics()).includes(`seganet_uplink_state{engine="engine",uplink="${id}",state="${state}"} 1`),
      {
        timeoutMs: 60000,
        everyMs: 200,
        what: `${id} ${state}`
      }
    );
  return { gateway, client, metrics, isState };
}

const rowsIn = (/** @type {string} */ folder) =>
  fs.existsSync(folder)
    ? fs
        .readdirSync(folder)
        .filter((day) => fs.existsSync(path.join(folder, day, '_manifest.json')))
        .flatMap((day) => JSON.parse(fs.readFileSync(path.join(folder, day, '_manifest.json'), 'utf8')).runs)
        .flatMap(({ files }) => files)
        .reduce((sum, { rows }) => sum + rows, 0)
    : 0;

/** @param {string} folder @param {number} count */
const hasRows = (folder, count) =>
  eventually(() => rowsIn(folder) >= count, { timeoutMs: 60000, everyMs: 200, what: `${count} rows` });

test('has each acknowledged number, and once when files are merged, although it is killed', async () => {
  const settings = { maxRows: '5000' };
  const found = await killAndCount({
    points: 150000,
    devices: 10,
    kills: 2,
    meanS: 1,
    settings,
    random: seeded(7)
  });
  expect(found).toMatchObject({ acked: 150000, before: { lost: 0 }, after: { lost: 0, double: 0 } });
  expect(found.small.level).toBeGreaterThan(0);
});

describe('for other programs', () => {
  const { test } = needs('python:pyarrow', 'python:pandas', 'python:duckdb');

  test('is read by pyarrow, pandas and DuckDB', async () => {
    const folder = temporaryFolder();
    const { client } = await startGateway([{ folder, valuePath: '$.v', unitPath: '$.u' }]);
    const payloads = ['{"v":1.5,"u":"°C"}', '{"v":2}', 'no json', ''];
    for (const [i, payload] of payloads.entries()) await client.publishAsync(`t/${i}`, payload, { qos: 1 });
    await hasRows(folder, 4);
    const read = JSON.parse(
      execFileSync(python(), [path.join(__dirname, '../../fixtures/parquet/readers.py'), folder], {
        encoding: 'utf8'
      })
    );
    expect(read).toMatchObject({
      pyarrow: {
        rows: 4,
        schema: {
          device: 'string',
          topic: 'string',
          ts: 'timestamp[ms, tz=UTC]',
          value: 'double',
          unit: 'string',
          payload: 'binary',
          class: 'int32',
          seq: 'uint32',
          gateway: 'string',
          boot: 'string',
          sequence: 'int64',
          part: 'int32'
        }
      },
      pandas: { rows: 4, sum: 3.5 },
      duckdb: {
        rows: 4,
        sum: 3.5,
        devices: 1,
        ordered: true,
        types: { ts: 'TIMESTAMP WITH TIME ZONE', date: 'DATE' }
      }
    });
  });
});

test('keeps payloads of a megabyte, and ends a file that is full', async () => {
  const folder = temporaryFolder();
  const { client } = await startGateway([{ folder, maxMiB: '2', maxWaitS: '600' }]);
  const { bytes } = seeded(3);
  const payload = bytes(1 << 20);
  for (let i = 0; i < 4; i++) await client.publishAsync('big', payload, { qos: 1 });
  await hasRows(folder, 4);
  expect(listedFiles(folder).length).toBeGreaterThan(1);
});

test('refuses a folder that another node has, and takes it when that node is gone', async () => {
  const folder = temporaryFolder();
  const { isState } = await startGateway([{ folder }, { folder }]);
  await Promise.any([isState('refused', 'files0'), isState('refused', 'files1')]);
  await Promise.any([isState('connected', 'files0'), isState('connected', 'files1')]);
});

test.each([['/proc/seganet'], ['/dev/null/x']])(
  'says that %s cannot be used, and the gateway goes on',
  async (folder) => {
    const { isState, client } = await startGateway([{ folder }]);
    await isState('refused');
    await client.publishAsync('t', '1', { qos: 1 });
  }
);

const { test: withRoot } = needs(...(process.getuid?.() === 0 ? [] : ['root']));

withRoot('acknowledges nothing while the disk is full, and goes on when there is room', async () => {
  const folder = temporaryFolder();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', folder]);
  ends.push(() => execFileSync('umount', [folder]));
  const { client, isState, metrics } = await startGateway([{ folder }]);
  await isState('connected');
  const filler = path.join(folder, 'filler');
  const { bytes } = seeded(5);
  try {
    fs.writeFileSync(filler, bytes(1 << 20));
  } catch {
    // It is as full as it gets.
  }
  for (let i = 0; i < 20; i++) await client.publishAsync('t', bytes(10000), { qos: 1 });
  await isState('disconnected');
  expect(await metrics()).toMatch(/seganet_parquet_failed_writes_total\{.*\} [1-9]/);
  expect(rowsIn(folder)).toBe(0);
  fs.rmSync(filler);
  await hasRows(folder, 20);
  expect(rowsIn(folder)).toBe(20);
});

describe('in a bucket', () => {
  const { test } = needs('python:moto', 'python:flask');

  test('has each record, although the store refuses requests and connections are lost', async () => {
    const bucket = await new FaultyBucket().start();
    ends.push(() => bucket.stop());
    const {
      endpoint,
      bucket: name,
      accessKey,
      secretKey
    } = /** @type {NonNullable<FaultyBucket['place']>} */ (bucket.place);
    const settings = {
      place: 's3',
      endpoint,
      bucket: name,
      prefix: 'records',
      accessKey,
      secretKey,
      maxRows: '50'
    };
    const { client, metrics, isState } = await startGateway([settings]);
    await isState('connected');
    const { integer } = seeded(11);
    bucket.faults = Array.from(
      { length: 12 },
      () => /** @type {const} */ (['refuse', 'drop', 'lose', 'pass'])[integer(4)]
    );
    for (let i = 0; i < 400; i++) await client.publishAsync('t', String(i), { qos: 1 });
    await eventually(async () => /seganet_parquet_rows_total\{.*\} 400$/m.test(await metrics()), {
      timeoutMs: 180000,
      everyMs: 500,
      what: '400 rows'
    });
    expect(bucket.failed).toBeGreaterThan(3);
    const read = path.join(__dirname, '../../fixtures/parquet/read-bucket.js');
    const found = JSON.parse((await run(process.execPath, [read, JSON.stringify(bucket.place)])).stdout);
    expect(found.values).toEqual(Array.from({ length: 400 }, (_, i) => i));
  });
});
