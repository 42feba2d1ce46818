'use strict';
// seganet-gateway query on a store with Amazon's interface S3 (moto), behind a proxy with faults.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { FaultyBucket } = require('../../fixtures/parquet/bucket');
const { inNode } = require('../../fixtures/parquet/in-node');
const { ObjectStore } = require('../../../nodes/lib/parquet/store/object-store');
const { needs } = require('../../../bench/harness/tools');

const COMMAND = path.join(__dirname, '../../../flows/cli/seganet-gateway.js');
const SUM = 'SELECT date, sum(value) AS sum FROM records GROUP BY date ORDER BY date';
const NAMES = /date=[^/]*\/(part|_manifest)[^/]*$/;

jest.setTimeout(240000);

/** @type {(() => unknown)[]} */
const ends = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-query-'));
  ends.push(() => fs.rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @param {string} folder @returns {string[]} keys of its files */
const keysIn = (folder) =>
  fs
    .readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => NAMES.test(name))
    .sort();

/** @param {string} folder @param {FaultyBucket} bucket puts its files into the bucket, and removes all others */
async function upload(folder, { place, port }) {
  const store = new ObjectStore({
    .../** @type {NonNullable<FaultyBucket['place']>} */ (place),
    endpoint: `http://127.0.0.1:${port}`
  });
  const keys = keysIn(folder);
  for (const key of keys) await store.put(key, fs.readFileSync(path.join(folder, key)));
  for (const { key } of await store.list()) if (!keys.includes(key)) await store.remove(key);
}

/** @param {{ checksKeys?: boolean }} [options] a bucket of two days: one run of one file, and two runs */
async function startBucket(options) {
  const folder = temporaryFolder();
  inNode(async ({ open, row }, where) => {
    const { store, archive } = await open(where);
    await archive.add('2026-11-29', [row({ value: 4, ts: 1795900000000 })]);
    await archive.add('2026-11-30', [row({ value: 1 })]);
    await archive.add('2026-11-30', [row({ value: 2, sequence: 2 })]);
    store.close();
  }, folder);
  const bucket = await new FaultyBucket().start(options);
  ends.push(() => bucket.stop());
  if (!options) await upload(folder, bucket);
  /** Keys of the objects that were read. @type {string[]} */
  const read = [];
  bucket.before = ({ url = '' }) => {
    const [key] = NAMES.exec(decodeURIComponent(url)) ?? [];
    if (key) read.push(key);
  };
  const cache = temporaryFolder();
  /** @param {...string} args @returns {Promise<{ status: number, stdout: string, stderr: string }>} */
  const query = (...args) =>
    new Promise((resolve) => {
      const common = ['--bucket', 's3://plant/records', '--endpoint', String(bucket.endpoint)];
      const where = args.includes('--cache') ? [] : ['--cache', cache];
      const env = { ...process.env, AWS_ACCESS_KEY_ID: 'test-key', AWS_SECRET_ACCESS_KEY: 'test-secret' };
      execFile(
        process.execPath,
        [COMMAND, 'query', SUM, '--format', 'csv', '--home', '/no/such/home', ...common, ...where, ...args],
        { env },
        (error, stdout, stderr) => resolve({ status: Number(error?.code ?? 0), stdout, stderr })
      );
    });
  return { bucket, folder, cache, query, read };
}

const BOTH = { status: 0, stdout: 'date,sum\n2026-11-29,4\n2026-11-30,3\n', stderr: '' };

describe('with a store', () => {
  const { test } = needs('python:moto', 'python:flask');

  test('answers, and does not download an object twice', async () => {
    const { query, read, cache, bucket, folder } = await startBucket();
    expect(await query()).toEqual(BOTH);
    expect(read.sort()).toEqual(keysIn(folder));
    read.length = 0;
    expect(await query()).toEqual(BOTH);
    expect(read).toEqual([]);
    // A new file: its manifest is another object now.
    inNode(async ({ open, row }, where) => {
      const { store, archive } = await open(where);
      await archive.add('2026-11-30', [row({ value: 8, sequence: 3 })]);
      store.close();
    }, folder);
    await upload(folder, bucket);
    read.length = 0;
    expect((await query()).stdout).toBe('date,sum\n2026-11-29,4\n2026-11-30,11\n');
    expect(read).toHaveLength(2);
    expect(await query('--remove-cache')).toMatchObject({ status: 0 });
    expect(keysIn(cache)).toEqual([]);
  });

  test('downloads only the manifests and files of the chosen days', async () => {
    const { query, read } = await startBucket();
    expect(await query('--days', '2026-11-29')).toMatchObject({ stdout: 'date,sum\n2026-11-29,4\n' });
    expect(read).toHaveLength(2);
    expect(read.filter((key) => !key.startsWith('date=2026-11-29/'))).toEqual([]);
    expect(await query('--days', '2027-01-01..')).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/There are no Parquet files of these days/)
    });
  });

  test('reads the new manifest if files are merged after it has read the old one', async () => {
    const { query, bucket, folder, read } = await startBucket();
    const { before } = bucket;
    /** @type {Promise<void> | null} */
    let merging = null;
    // Before the question: the proxy of the store is in this process, which must answer in time.
    const merged = temporaryFolder();
    fs.cpSync(folder, merged, { recursive: true });
    inNode(async ({ open, mergeRuns, loadLibrary }, where) => {
      const { store, archive } = await open(where);
      const runs = archive.days.get('2026-11-30');
      const { run } = await mergeRuns(store, loadLibrary(), { date: '2026-11-30', runs });
      await archive.replace('2026-11-30', runs, run);
      store.close();
    }, merged);
    // No file passes before the merge has removed it.
    bucket.before = (request) => {
      before(request);
      if (/part-/.test(request.url ?? '')) merging ??= upload(merged, bucket);
      return merging ?? undefined;
    };
    expect(await query()).toEqual(BOTH);
    expect(merging).not.toBeNull();
    expect(read.filter((key) => /_manifest/.test(key)).length).toBe(3);
  });

  test('names a file that is missing in the bucket', async () => {
    const { query, bucket, folder } = await startBucket();
    const [key] = keysIn(folder).filter((name) => /part-/.test(name));
    fs.rmSync(path.join(folder, key));
    await upload(folder, bucket);
    expect(await query()).toMatchObject({
      status: 3,
      stdout: '',
      stderr: expect.stringContaining(
        `The bucket has no ${key}, which its manifest names. Restore it from a backup.`
      )
    });
  });

  test('retries lost connections and temporary refusals', async () => {
    const { query, bucket } = await startBucket();
    bucket.faults = ['drop', 'cut', 'pass', 'cut', 'refuse', 'cut'];
    expect(await query()).toEqual(BOTH);
    expect(bucket.failed).toBe(5);
  });

  test.each([
    ['skew', 'RequestTimeTooSkewed). Set the clock of this machine.'],
    ['page', 'answers with no list of objects. Correct the endpoint.']
  ])('says what to do about the fault %s', async (fault, sentence) => {
    const { query, bucket } = await startBucket();
    bucket.faults = [/** @type {any} */ (fault)];
    expect(await query()).toMatchObject({ status: 3, stdout: '', stderr: expect.stringContaining(sentence) });
  });

  test('names the access key that the store does not accept', async () => {
    const { query } = await startBucket({ checksKeys: true });
    expect(await query()).toMatchObject({
      status: 3,
      stderr: expect.stringContaining(
        '(InvalidAccessKeyId). Correct the access key: it is from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.'
      )
    });
  });

  test('refuses files larger than the limit of the cache, and a cache in use', async () => {
    const { query, cache, bucket, folder } = await startBucket();
    inNode(async ({ open, row }, where) => {
      const { store, archive } = await open(where);
      const payload = require('node:crypto').randomBytes(2 ** 21);
      await archive.add('2026-11-28', [row({ payload, ts: 1795800000000 })]);
      store.close();
    }, folder);
    await upload(folder, bucket);
    expect(await query('--cache-limit', '1')).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/have 3 MiB, and the cache may have 1 MiB\. Ask fewer days/)
    });
    expect(await query('--cache-limit', '1', '--days', '2026-11-29..')).toEqual(BOTH);
    fs.writeFileSync(path.join(cache, 'lock'), String(process.pid));
    expect(await query()).toMatchObject({
      status: 3,
      stderr: expect.stringContaining(`Another question (process ${process.pid}) uses ${cache}.`)
    });
  });

  test('uses settings and keys of the node in the flow, and a cache in the folder of the gateway', async () => {
    const { bucket } = await startBucket();
    const home = temporaryFolder();
    const { endpoint, accessKey } = /** @type {NonNullable<FaultyBucket['place']>} */ (bucket.place);
    const node = {
      id: 'files',
      type: 'seganet-parquet-uplink',
      place: 's3',
      endpoint,
      bucket: 'plant',
      prefix: '/records/',
      accessKey,
      secretKey: '${STORE_SECRET}'
    };
    fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify([node]));
    const ask = () =>
      new Promise((resolve) => {
        const args = [COMMAND, 'query', SUM, '--format', 'csv', '--home', home];
        execFile(process.execPath, args, (error, stdout, stderr) =>
          resolve({ status: Number(error?.code ?? 0), stdout, stderr })
        );
      });
    expect(await ask()).toMatchObject({
      status: 3,
      stderr: expect.stringContaining('There are no keys to s3://plant/records in the node files.')
    });
    fs.writeFileSync(path.join(home, 'gateway.env'), 'STORE_SECRET=test-secret\n');
    expect(await ask()).toEqual(BOTH);
    expect(keysIn(path.join(home, 'query-cache'))).toHaveLength(5);
  });
});
