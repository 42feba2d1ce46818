'use strict';
// Databases and files that are in the way of a backup in the moment of their copy.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ArchiveWriter } = require('../../../flows/cli/archive');
const { addOtherDatabase } = require('../../../flows/cli/backup-databases');
const { addFile } = require('../../../flows/cli/backup-files');
const { DatabaseSync } = require('../../../nodes/lib/store/sqlite');

/** @type {string} */
let folder;
/** @type {ArchiveWriter} */
let archive;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-copies-'));
  archive = new ArchiveWriter(path.join(folder, 'a.backup'));
});
afterEach(async () => {
  await archive.abort();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {string} name */
const add = (name) => addOtherDatabase(archive, `home/${name}`, path.join(folder, name), folder);

/** Files beside the archive, which appears a moment after its writer. */
const besides = () =>
  fs
    .readdirSync(folder)
    .filter((name) => name !== 'a.backup')
    .sort();

test('does not create a database again that was removed since the folder was listed', async () => {
  expect(await add('mine.db')).toBe('gone');
  expect(besides()).toEqual([]);
});

test('reports a file that was removed since the folder was listed', async () => {
  const file = path.join(folder, 'notes');
  expect(await addFile(archive, 'home/notes', file)).toBe(false);
  fs.writeFileSync(file, '');
  expect(await addFile(archive, 'home/notes', file)).toBe(true);
});

test.each(['a b.db', 'a?mode=memory.db', 'a%41#b.db'])(
  'repairs %s, whose program ended in the middle of a commit',
  async (name) => {
    const [file, half] = [path.join(folder, 'half'), path.join(folder, name)];
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE t (n, body); INSERT INTO t VALUES (1, NULL); PRAGMA cache_size = 1; BEGIN');
    const insert = db.prepare('INSERT INTO t VALUES (?, randomblob(10000))');
    for (let n = 2; n < 50; n++) insert.run(n);
    for (const side of ['', '-journal']) fs.copyFileSync(file + side, half + side);
    db.close();
    expect(await add(name)).toBe('whole');
    const repaired = new DatabaseSync(half, { readOnly: true });
    expect(repaired.prepare('SELECT n FROM t').all()).toEqual([{ n: 1 }]);
    repaired.close();
    expect(besides()).toEqual(['half', name].sort());
  }
);
