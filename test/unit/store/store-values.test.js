'use strict';

// Rows whose columns have values that no gateway writes. SQLite does not check the type and the size of a value that it
// reads from a damaged row.

const fs = require('node:fs');
const path = require('node:path');
const { Rig, temporaryFolder, until } = require('../../fixtures/store/store-files');
const { body } = require('../../fixtures/store/memory-store-source');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

/** @type {Rig} */
let made;
/** @type {string} */
let directory;
beforeEach(() => (directory = temporaryFolder()));
afterEach(async () => {
  await made.stop(0);
  fs.rmSync(directory, { recursive: true, force: true });
});

/** A log with this many chunks of 20 kB, changed by SQL. @param {number} count @param {string[]} changes */
async function makeLog(count, changes) {
  made = new Rig({ directory });
  await made.save(...Array.from({ length: count }, () => ({ body: body(20000) })));
  await made.stop();
  const db = new DatabaseSync(path.join(directory, 'log.db'));
  for (const change of changes) db.exec(change);
  db.close();
}

/** The next run requests all chunks of these classes. @param {number[]} classes @returns {Promise<string[]>} sorted */
async function verdictsOf(...classes) {
  made = new Rig({ directory });
  for (const recordClass of classes) made.source.want('uplink', recordClass);
  await until(() => made.events('missing').length === classes.length);
  return made
    .events('loaded')
    .map(({ row, verdict }) => `${row} ${verdict}`)
    .toSorted();
}

const VALUES = ["'text'", "x'0102'", '1.5', '-1', '-9007199254740993', '9007199254740993', '1 << 62'];
const LAST = VALUES.length + 2;

test.each([
  ['class', 'ok'],
  ['records', 'ok'],
  ['bytes', 'ok'],
  ['first_ts', 'ok'],
  ['last_ts', 'ok'],
  ['body', 'corrupt']
])(
  '%s of another type or size: the log opens, the chunk is %s, and all others are read',
  async (column, verdict) => {
    await makeLog(
      LAST,
      VALUES.map((value, i) => `UPDATE chunk SET ${column} = ${value} WHERE id = ${i + 2}`)
    );
    // Class 8 has the chunks with a class that does not exist.
    const wrong = VALUES.map((_, i) => `${i + 2} ${verdict}`);
    expect(await verdictsOf(3, 8)).toEqual(['1 ok', ...wrong, `${LAST} ok`]);
    expect(fs.readdirSync(directory).filter((name) => name.includes('damaged'))).toEqual([]);
    expect(await made.save({})).toEqual([LAST + 1]);
    const codes = verdict === 'corrupt' ? VALUES.map(() => 'CHUNK_CORRUPT') : [];
    expect(made.problems.map(({ code }) => code)).toEqual(codes);
  }
);

test('a body that became text of the same bytes is read', async () => {
  await makeLog(3, ['UPDATE chunk SET body = CAST(body AS TEXT) WHERE id = 2']);
  expect(await verdictsOf(3)).toEqual(['1 ok', '2 ok', '3 ok']);
});
