'use strict';
// The connection that only reads: what it sees, and that it ends with the one that writes.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Gate } = require('../../../nodes/lib/shadow/gate');
const { ReadFile, Unreadable } = require('../../../nodes/lib/shadow/read-file');
const { ShadowDesk } = require('../../../nodes/lib/shadow/shadow-desk');
const { ShadowFile } = require('../../../nodes/lib/shadow/shadow-file');

/** @type {string} */
let folder;
/** @type {any} */
let parts;

const op = (kind, device, text = '') => ({
  id: 1,
  kind,
  device,
  text,
  dialect: /** @type {const} */ ('own'),
  deviceDialect: /** @type {const} */ ('own'),
  section: null,
  limits: { maxBytes: 8192, maxDepth: 8, maxShadows: 100 },
  wantsChange: false
});

beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-read-'));
  const gate = new Gate(Gate.places());
  // A closed file is opened again after a second.
  let now = 0;
  const file = new ShadowFile(
    folder,
    () => (now += 1000),
    (isOpen) => (isOpen ? gate.open() : gate.close())
  );
  const reads = new ReadFile(folder, gate);
  parts = { gate, file, reads, desk: new ShadowDesk(file), reader: new ShadowDesk(reads) };
});
afterEach(() => {
  parts.reads.close();
  parts.file.close();
  fs.rmSync(folder, { recursive: true });
});

const set = (n) => parts.desk.change([op('update', 'a', `{"desired":{"n":${n}}}`)])[0];
const get = () => parts.reader.read([op('get', 'a')])[0];

test('sees each change that is stored, and none that is rolled back', () => {
  set(1);
  expect(get().body).toContain('"n":1');
  set(2);
  expect(get().body).toContain('"n":2');
  expect(() =>
    parts.file.change((statements) => {
      statements.put.run('a', 9, 1, 1, 1, 0, Buffer.from('{}'), 0);
      // Within the transaction of the other connection.
      expect(get().version).toBe(2);
      throw new Error('undone');
    })
  ).toThrow('undone');
  expect(get().version).toBe(2);
});

test('cannot change the file', () => {
  set(1);
  get();
  expect(() => parts.reads.use(({ get: statement }) => statement.run('a', 'b'))).toThrow(Unreadable);
  expect(parts.reader.change([op('update', 'a', '{"desired":{"n":9}}')])[0].status).toBe(503);
  expect(get().body).toContain('"n":1');
});

test('answers that there is no shadow, but leaves to the other connection what it cannot read', () => {
  expect(() => get()).toThrow(Unreadable);
  set(1);
  expect(parts.reader.read([op('get', 'b')])[0]).toMatchObject({ status: 404 });
  parts.file.close();
  expect(() => get()).toThrow(Unreadable);
  expect(parts.desk.read([op('get', 'a')])[0].status).toBe(200);
  expect(get().body).toContain('"n":1');
});

test('opens the file again after the other connection did', () => {
  set(1);
  get();
  parts.file.close();
  for (const end of ['', '-wal', '-shm']) fs.rmSync(path.join(folder, `shadow.db${end}`), { force: true });
  set(2);
  expect(get()).toMatchObject({ version: 1, body: expect.stringContaining('"n":2') });
});
