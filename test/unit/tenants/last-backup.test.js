'use strict';
// What is remembered of the last backup of a tenant.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const {
  LastBackups,
  noteBackup,
  noteCheck,
  readLast
} = require('../../../docker/tenants/lib/life/last-backup');

/** @type {string} */
let state;
beforeEach(() => {
  state = fs.mkdtempSync(path.join(os.tmpdir(), 'state-'));
});
afterEach(() => fs.rmSync(state, { recursive: true, force: true }));

const FILE = '/backups/acme-2026-11-23.tar.zst';

test('is the last one, and its check only if it is that one', () => {
  expect(readLast(state, 'acme')).toBe(null);
  noteBackup(state, 'acme', { at: 5, ok: true, reason: '', file: FILE });
  const made = { at: 5, ok: true, reason: '', file: path.basename(FILE), checked: null };
  expect(readLast(state, 'acme')).toEqual(made);
  noteCheck(state, 'acme', { at: 6, ok: true, reason: '', file: '/backups/acme-older.tar.zst' });
  expect(readLast(state, 'acme')).toEqual(made);
  noteCheck(state, 'acme', { at: 7, ok: false, reason: 'x'.repeat(5000), file: `/other${FILE}` });
  expect(readLast(state, 'acme')).toEqual({
    ...made,
    checked: { at: 7, ok: false, reason: 'x'.repeat(1000) }
  });
  noteBackup(state, 'acme', { at: 8, ok: false, reason: 'no room' });
  expect(readLast(state, 'acme')).toEqual({ at: 8, ok: false, reason: 'no room', file: '', checked: null });
  noteCheck(state, 'blue', { at: 9, ok: true, reason: '', file: FILE });
  expect(readLast(state, 'blue')).toBe(null);
});

test('is read again when its file changes, and a damaged file is none', () => {
  const backups = new LastBackups(state);
  expect(backups.get('acme')).toBe(null);
  noteBackup(state, 'acme', { at: 5, ok: true, reason: '', file: FILE });
  expect(backups.get('acme')?.at).toBe(5);
  const file = path.join(state, 'acme', 'backup.json');
  for (const [index, text] of ['', '{', 'null', '{"at":"x"}', '[]', ' '.repeat(20000)].entries()) {
    fs.writeFileSync(file, text);
    fs.utimesSync(file, 1, index + 10);
    expect([text.slice(0, 9), backups.get('acme')]).toEqual([text.slice(0, 9), null]);
  }
});
