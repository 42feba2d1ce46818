'use strict';

// Damage that changes a number of a row: no crash, no chunk that waits for ever.

const fs = require('node:fs');
const path = require('node:path');
const { Rig, temporaryFolder, until } = require('../../fixtures/store/store-files');
const { body } = require('../../fixtures/store/memory-store-source');
const { CLASSES } = require('../../../nodes/lib/base/classes');
const { Database } = require('../../../nodes/lib/store/log-database');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

/** @type {string} */
let directory;
/** @type {Rig[]} */
const rigs = [];
beforeEach(() => (directory = temporaryFolder()));
afterEach(async () => {
  jest.restoreAllMocks();
  for (const made of rigs.splice(0)) await made.stop(0);
  fs.rmSync(directory, { recursive: true, force: true });
});

function rig() {
  const made = new Rig({ directory });
  rigs.push(made);
  return made;
}

/** A log with three chunks of class 3. @param {string} column @param {string} value of the second one */
async function makeLog(column, value) {
  const made = rig();
  await made.save({ body: body(2000) }, { body: body(2000) }, { body: body(2000) });
  await made.stop();
  const db = new DatabaseSync(path.join(directory, 'log.db'), { defensive: false });
  db.exec(`UPDATE chunk SET ${column} = ${value} WHERE id = 2`);
  db.close();
}

// node:sqlite refuses to read numbers beyond 2^53, and SQLite to add up numbers beyond 2^63.
const COLUMNS = ['id', 'class', 'records', 'bytes', 'first_ts', 'last_ts'];
const VALUES = ['-2', '1152921504606846977', '-7407747620151079732', '9223372036854775807'];

test.each(COLUMNS.flatMap((column) => VALUES.map((value) => [column, value])))(
  'a chunk with the %s %s is found, or its log is set aside',
  async (column, value) => {
    await makeLog(column, value);
    const made = rig();
    for (const each of [3, CLASSES]) made.source.want('uplink', each);
    await until(() => made.events('missing').length > 1 || made.events('lost').length > 0);
    // Saving goes on, in this log or in a new one.
    await made.save({}, {});
    const isAside = fs.readdirSync(directory).some((name) => name.includes('.damaged-'));
    if (isAside) expect(made.problems).toMatchObject([{ code: 'LOG_DAMAGED' }]);
    else expect(made.events('loaded')).toHaveLength(3);
  }
);

test.each([
  ['the disk is full', 13],
  ['another page is damaged', 11]
])('a chunk of an impossible class does not keep the log closed while %s', async (_why, errcode) => {
  await makeLog('class', '1152921504606846977');
  jest.spyOn(Database.prototype, 'mendClasses').mockImplementation(() => {
    throw Object.assign(new Error('failed'), { code: 'ERR_SQLITE_ERROR', errcode });
  });
  const made = rig();
  made.source.want('uplink', 3);
  await until(() => made.events('missing').length > 0);
  expect(made.events('loaded').map(({ row }) => row)).toEqual([1, 3]);
  expect(fs.readdirSync(directory).filter((name) => name.includes('.damaged-'))).toEqual([]);
  expect(made.store.usage.records[CLASSES]).toBe(1);
});
