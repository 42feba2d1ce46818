'use strict';
// seganet-gateway query: answers, and what a question cannot do.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { answer: answerNow } = require('../../flows/cli/query');
const { inNode } = require('../fixtures/parquet/in-node');
const { cleanUp, temporaryFolder } = require('./process');

const COMMAND = path.join(__dirname, '../../flows/cli/seganet-gateway.js');

/** @type {string} */
let folder;
beforeAll(() => {
  folder = path.join(temporaryFolder(), 'files');
  fs.mkdirSync(folder);
  inNode(async ({ open, row }, where) => {
    const { store, archive } = await open(where);
    await archive.add('2026-11-30', [
      row({ device: 'a', value: 1 }),
      row({ device: 'b"\u001b[31m', value: 2, sequence: 2 })
    ]);
    await archive.add('2026-11-29', [row({ device: 'c', value: 4, ts: 1795900000000 })]);
    store.close();
  }, folder);
  // A file that no manifest names does not count.
  const [day] = fs.readdirSync(folder).filter((name) => name.startsWith('date='));
  const [file] = fs.readdirSync(path.join(folder, day)).filter((name) => name.endsWith('.parquet'));
  fs.copyFileSync(path.join(folder, day, file), path.join(folder, day, 'part-1-00000000.parquet'));
});
afterAll(cleanUp);

/** @param {string[]} args */
const query = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMMAND, 'query', ...args], {
    encoding: 'utf8'
  });
  return { status, stdout, stderr };
};

test.each([
  [[], 'date        sum\n2026-11-29  4\n2026-11-30  3\n'],
  [['--format', 'csv'], 'date,sum\n2026-11-29,4\n2026-11-30,3\n'],
  [['--format', 'json'], '{"date":"2026-11-29","sum":4}\n{"date":"2026-11-30","sum":3}\n']
])('answers from the files that the manifests name: %j', (args, stdout) => {
  const sql = 'SELECT date, sum(value) AS sum FROM records GROUP BY date ORDER BY date';
  expect(query(sql, '--folder', folder, ...args)).toEqual({ status: 0, stdout, stderr: '' });
});

test.each([
  ['2026-11-29', 'date,sum\n2026-11-29,4\n'],
  ['2026-11-30..', 'date,sum\n2026-11-30,3\n'],
  ['..2026-11-30', 'date,sum\n2026-11-29,4\n2026-11-30,3\n']
])('has the files of these days only: %s', (days, stdout) => {
  const sql = 'SELECT date, sum(value) AS sum FROM records GROUP BY date ORDER BY date';
  expect(query(sql, '--folder', folder, '--format', 'csv', '--days', days)).toMatchObject({ stdout });
});

test('answers from the new files when a merge has removed those that it knew', async () => {
  const files = inNode(async ({ listedFiles }, where) => listedFiles(where), folder);
  const lists = [[path.join(folder, 'date=2026-11-30/part-1-ffffffff.parquet')], files];
  /** @type {string[]} */
  const lines = [];
  const output = /** @type {any} */ ({
    waiting: '',
    line: async (/** @type {string} */ line) => lines.push(line)
  });
  const question = {
    sql: 'SELECT sum(value) AS sum FROM records',
    format: 'csv',
    days: { from: '', to: '' }
  };
  await answerNow(question, async () => /** @type {string[]} */ (lists.shift()), output);
  expect([lines, lists]).toEqual([['sum', '7'], []]);
});

test('names a file that a manifest has and the folder has not, and answers about other days', () => {
  const copy = path.join(temporaryFolder(), 'files [1] *?');
  fs.cpSync(folder, copy, { recursive: true });
  const day = path.join(copy, 'date=2026-11-29');
  const { runs } = JSON.parse(fs.readFileSync(path.join(day, '_manifest.json'), 'utf8'));
  fs.rmSync(path.join(day, runs[0].files[0].name));
  const sql = 'SELECT sum(value) AS sum FROM records';
  expect(query(sql, '--folder', copy)).toMatchObject({
    status: 3,
    stderr: expect.stringMatching(/manifest names are missing: 1, such as .*date=2026-11-29\/part-.*--days/)
  });
  expect(query(sql, '--folder', copy, '--format', 'csv', '--days', '2026-11-30')).toMatchObject({
    stdout: 'sum\n3\n',
    status: 0
  });
});

test('writes names of devices so that a terminal and a spreadsheet read them as text', () => {
  const sql = 'SELECT device FROM records WHERE value = 2';
  expect(query(sql, '--folder', folder).stdout).toBe('device\nb"\ufffd[31m\n');
  expect(query(sql, '--folder', folder, '--format', 'csv').stdout).toBe('device\n"b""\u001b[31m"\n');
});

test('writes and reads nothing else, whatever the question', () => {
  const files = () =>
    fs.readdirSync(folder, { recursive: true, withFileTypes: true }).map((each) => {
      const { size, mtimeMs } = fs.statSync(path.join(each.parentPath, each.name));
      return [each.parentPath, each.name, each.isFile() && size, each.isFile() && mtimeMs];
    });
  const before = files();
  const [listed] = inNode(async ({ listedFiles }, where) => listedFiles(where), folder);
  const out = path.join(folder, 'out.csv');
  const hostile = [
    `COPY (SELECT 1) TO '${out}'`,
    `COPY (SELECT 1) TO '${listed}'`,
    `EXPLAIN ANALYZE COPY (SELECT 1) TO '${listed}'`,
    `EXPORT DATABASE '${out}'`,
    `ATTACH '${out}'`,
    'INSTALL httpfs',
    'SET enable_external_access = true',
    'SELECT 1; SELECT 2',
    'DROP VIEW records',
    "SELECT * FROM read_text('/etc/passwd')",
    ''
  ];
  for (const sql of hostile) {
    const { status, stdout } = query(sql, '--folder', folder);
    expect([sql, [2, 3].includes(Number(status)), stdout]).toEqual([sql, true, '']);
  }
  expect(files()).toEqual(before);
});

test.each([
  [['SELEC 1'], 3, /The question failed: .*syntax error/],
  [['SELECT 1', '--format', 'xml'], 2, /--format takes one of table, csv, json/],
  [['SELECT 1', '--folder', '/no/such/folder'], 3, /There is no folder \/no\/such\/folder/],
  [
    ['SELECT 1', '--home', '/no/such/home'],
    3,
    /There are no Parquet files in .*Name the folder with --folder, or the bucket with --bucket/
  ],
  [['SELECT 1', '--bucket', 'plant/records'], 2, /--bucket takes a URL such as s3:\/\/plant\/records/],
  [['SELECT 1', '--bucket', 's3://plant', '--folder', '/tmp'], 2, /about a --folder or a --bucket/],
  [['SELECT 1', '--cache', '/tmp/x', '--folder', '/tmp'], 2, /--cache is for a bucket/],
  [['SELECT 1', '--region', 'eu-central-1'], 2, /--region needs a --bucket/],
  [['SELECT 1', '--days', '2026-11-31'], 2, /--days takes days such as 2026-11-30/],
  [['SELECT 1', '--cache-limit', '0'], 2, /--cache-limit takes a whole number from 1 to/],
  [
    ['SELECT 1', '--bucket', 's3://plant', '--home', '/no/such/home'],
    3,
    /no folder .* for the cache.*--cache/
  ],
  [[], 2, /SQL/]
])('says what is wrong with %j', (args, status, sentence) => {
  const answer = query(...args, ...(args[0] === 'SELEC 1' ? ['--folder', folder] : []));
  expect(answer).toMatchObject({ status, stdout: '' });
  expect(answer.stderr).toMatch(sentence);
});
