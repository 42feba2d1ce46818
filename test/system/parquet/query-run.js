'use strict';
// What a question about a bucket costs: the archive's own writer fills a bucket (moto), and seganet-gateway query asks
// it without copies, with copies of all days, and about one day alone.

const { spawn } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readArguments } = require('../../../bench/harness/arguments');
const { FaultyBucket } = require('../../fixtures/parquet/bucket');
const { loadLibrary } = require('../../../nodes/lib/parquet/files/writer-package');
const { Archive } = require('../../../nodes/lib/parquet/store/archive');
const { ObjectStore } = require('../../../nodes/lib/parquet/store/object-store');

const INTRO = `node native/node/run.js test/system/parquet/query-run.js

Needs Python with moto and flask, and GNU time. Prints a line for each question: seconds, processor time and memory of the command,
requests to the store and bytes of its answers.`;
const COMMAND = path.join(__dirname, '../../../flows/cli/seganet-gateway.js');
const SQL = 'SELECT count(*) AS rows, count(DISTINCT device) AS devices, avg(value) AS mean FROM records';
const DAY_MS = 86400000;
const FIRST = Date.parse('2026-10-01');

/** @param {FaultyBucket} bucket @param {number} days @param {number} rows of each */
async function fill(bucket, days, rows) {
  const place = /** @type {NonNullable<FaultyBucket['place']>} */ (bucket.place);
  const archive = new Archive(new ObjectStore(place), loadLibrary());
  const common = { gateway: 'gw', boot: 'b1', class: 3, part: 0, topic: 't', seq: 0, unit: null };
  let sequence = 0;
  for (let day = 0; day < days; day++) {
    const from = FIRST + day * DAY_MS;
    const list = Array.from({ length: rows }, (_, i) => ({
      ...common,
      sequence: ++sequence,
      device: `dev-${i % 50}`,
      ts: from + Math.floor((i * DAY_MS) / rows),
      value: i % 100,
      payload: crypto.randomBytes(24)
    }));
    await archive.add(new Date(from).toISOString().slice(0, 10), list);
  }
}

/** @param {FaultyBucket} bucket @param {string} cache @param {string[]} more */
async function ask(bucket, cache, more) {
  const started = { at: performance.now(), requests: bucket.requests, bytes: bucket.answered };
  const args = ['query', SQL, '--format', 'json', '--home', '/no/such/home', '--cache', cache];
  const where = ['--bucket', 's3://plant/records', '--endpoint', String(bucket.endpoint)];
  const child = spawn(
    '/usr/bin/time',
    ['-f', '%U %S %M', process.execPath, COMMAND, ...args, ...where, ...more],
    {
      env: { ...process.env, AWS_ACCESS_KEY_ID: 'test-key', AWS_SECRET_ACCESS_KEY: 'test-secret' },
      stdio: ['ignore', 'pipe', 'pipe']
    }
  );
  const [out, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
  const [user, system, kib] = (errors.trim().split('\n').pop() ?? '').split(' ').map(Number);
  if (!out || Number.isNaN(kib)) throw new Error(`no answer: ${errors}`);
  return {
    ...JSON.parse(out),
    seconds: (performance.now() - started.at) / 1000,
    cpuSeconds: user + system,
    peakMiB: Math.round(kib / 1024),
    requests: bucket.requests - started.requests,
    mib: Math.round((bucket.answered - started.bytes) / 2 ** 20)
  };
}

/** @param {import('node:stream').Readable} stream */
async function textOf(stream) {
  let text = '';
  for await (const chunk of stream.setEncoding('utf8')) text += chunk;
  return text;
}

async function main() {
  const args = readArguments(INTRO, {
    numbers: {
      days: ['60', 1, 92, 'days, with a file each'],
      rows: ['100000', 1, 1000000, 'rows of a day']
    },
    texts: {}
  });
  const bucket = await new FaultyBucket().start();
  const cache = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-query-'));
  try {
    await fill(bucket, args.number('days'), args.number('rows'));
    for (const [name, more] of /** @type {[string, string[]][]} */ ([
      ['one day, no copies', ['--days', '2026-10-01']],
      ['all days, copies of one', []],
      ['all days, copies of all', []]
    ]))
      console.log(
        JSON.stringify({ question: name, ...(await ask(bucket, cache, more)), load: os.loadavg()[0] })
      );
  } finally {
    fs.rmSync(cache, { recursive: true, force: true });
    await bucket.stop();
  }
}

void main();
