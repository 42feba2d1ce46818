'use strict';
// Shadows on a real disk: limits, versions, one commit for many updates, and files that are full, damaged or foreign.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { Volume } = require('../../../bench/harness/volume');
const { needs } = require('../../../bench/harness/tools');
const { ShadowDesk } = require('../../../nodes/lib/shadow/shadow-desk');
const { ShadowFile } = require('../../../nodes/lib/shadow/shadow-file');

const { test: asRoot } = needs('mount', ...(process.getuid?.() === 0 ? [] : ['root']));
const HOUR_MS = 3_600_000;
const LIMITS = { maxBytes: 8192, maxDepth: 8, maxShadows: 1000 };
/** @type {string} */
let folder;
/** @type {ShadowFile} */
let file;
/** @type {ShadowDesk} */
let desk;
let wall = 1_767_225_600_000;
let clock = 0;

function open() {
  file = new ShadowFile(folder, () => clock);
  desk = new ShadowDesk(file, () => wall);
}
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-'));
  open();
});
afterEach(() => {
  file.close();
  fs.rmSync(folder, { recursive: true });
});

const op = (kind, device, text = '', more = {}) => ({
  id: 1,
  kind,
  device,
  text,
  dialect: 'own',
  deviceDialect: 'own',
  section: null,
  limits: LIMITS,
  wantsChange: false,
  ...more
});
const set = (device, text, more) => desk.change([op('update', device, text, more)])[0];
const get = (device, more) => desk.read([op('get', device, '', more)])[0];
const remove = (device) => desk.change([op('delete', device)])[0];
const bodyOf = ({ body }) => JSON.parse(body);

/** Runs the rest of the test with the files as kill -9 leaves them. */
function kill() {
  const copy = `${folder}-copy`;
  fs.cpSync(folder, copy, { recursive: true });
  file.close();
  fs.rmSync(folder, { recursive: true });
  fs.renameSync(copy, folder);
  open();
}

test('keeps what it has answered over kill -9, with versions and the difference', () => {
  expect(set('a', '{"desired":{"rate":5,"big":12345678901234567890}}')).toMatchObject({
    status: 200,
    version: 1
  });
  expect(set('a', '{"reported":{"rate":4}}')).toMatchObject({ status: 200, version: 2, sectionVersion: 1 });
  kill();
  const { body, version, delta } = get('a');
  expect(version).toBe(2);
  expect(body).toBe(
    '{"desired":{"rate":5,"big":12345678901234567890},"reported":{"rate":4},' +
      '"delta":{"rate":5,"big":12345678901234567890},"version":2,"timestamp":1767225600}'
  );
  expect(JSON.parse(delta).state.rate).toBe(5);
  expect(file.counts).toEqual({ shadows: 1, deleted: 0 });
  expect(set('a', '{"reported":{"rate":5,"big":12345678901234567890}}')).toMatchObject({
    delta: '',
    version: 3
  });
});

test('writes many updates of a device once, and refuses a bad one among them alone', () => {
  const ops = Array.from({ length: 500 }, (_, i) => op('update', 'a', `{"reported":{"n":${i}}}`, { id: i }));
  ops[100] = op('update', 'a', '{"reported":', { id: 100 });
  ops[200] = op('update', 'b', '{"desired":{}}', { id: 200, limits: { ...LIMITS, maxShadows: 1 } });
  const results = desk.change(ops);
  expect(results.map(({ id }) => id)).toEqual(ops.map(({ id }) => id));
  expect(results.filter(({ status }) => status !== 200).map(({ id, status }) => [id, status])).toEqual([
    [100, 400],
    [200, 429]
  ]);
  expect(results[499].version).toBe(498);
  expect(desk.counters).toMatchObject({ updates: 498, refused: 2, commits: 1 });
  expect(bodyOf(get('a')).reported).toEqual({ n: 499 });
});

test('locks by version', () => {
  expect(set('a', '{"desired":{"x":1},"version":3}')).toMatchObject({ status: 409 });
  expect(set('a', '{"desired":{"x":1},"version":0}')).toMatchObject({ status: 200, version: 1 });
  const { status, message, body } = set('a', '{"state":{"desired":{"x":2}},"version":0,"clientToken":"t"}');
  expect([status, message]).toEqual([409, 'Version conflict: the shadow has version 1, not 0.']);
  expect(JSON.parse(body)).toMatchObject({ code: 409, clientToken: 't' });
  expect(set('a', '{"desired":{"x":2},"version":1}')).toMatchObject({ status: 200, version: 2 });
});

test('refuses a document beyond the limit, and keeps the one before', () => {
  const limits = { ...LIMITS, maxBytes: 256 };
  const text = (/** @type {number} */ bytes) =>
    `{"desired":{"x":"${'y'.repeat(bytes - '{"x":""}{}'.length)}"}}`;
  expect(set('a', text(256), { limits }).status).toBe(200);
  expect(set('a', text(257), { limits })).toMatchObject({
    status: 413,
    message: 'The document would have 257 bytes; 256 is the limit of the node.'
  });
  expect(set('a', '{"reported":{"y":1}}', { limits }).status).toBe(413);
  expect(get('a').version).toBe(1);
});

test('limits the number of shadows, also with deleted ones', () => {
  const limits = { ...LIMITS, maxShadows: 3 };
  const add = (device) => set(device, '{"desired":{"x":1}}', { limits });
  for (const device of ['a', 'b', 'c']) expect(add(device).status).toBe(200);
  expect(add('d')).toMatchObject({
    status: 429,
    message: expect.stringMatching(/^There are 3 shadows already/)
  });
  for (const device of ['a', 'b', 'c']) remove(device);
  for (const device of ['d', 'e', 'f']) expect(add(device).status).toBe(200);
  expect(file.counts).toEqual({ shadows: 3, deleted: 0 });
  kill();
  get('d');
  expect(file.counts).toEqual({ shadows: 3, deleted: 0 });
});

test('goes on from the version of a deleted shadow for 48 hours', () => {
  set('a', '{"desired":{"x":1}}');
  set('a', '{"desired":{"x":2}}');
  expect(bodyOf(remove('a'))).toMatchObject({ version: 2 });
  expect([get('a').status, remove('a').status]).toEqual([404, 404]);
  kill();
  expect(set('a', '{"desired":{"x":1}}')).toMatchObject({ version: 3 });
  remove('a');
  wall += 49 * HOUR_MS;
  set('b', '{"desired":{}}');
  expect(file.counts).toEqual({ shadows: 1, deleted: 0 });
  expect(set('a', '{"desired":{"x":1}}')).toMatchObject({ version: 1 });
  // In one transaction, too.
  const results = desk.change([
    op('delete', 'a'),
    op('update', 'a', '{"desired":{"x":9}}'),
    op('delete', 'a'),
    op('delete', 'a')
  ]);
  expect(results.map(({ status, version }) => [status, version])).toEqual([
    [200, 1],
    [200, 2],
    [200, 2],
    [404, 0]
  ]);
  expect(file.counts).toEqual({ shadows: 1, deleted: 1 });
});

test('answers in the dialects of AWS and Azure', () => {
  const aws = { dialect: 'aws', deviceDialect: 'aws' };
  const wanted = set('a', '{"state":{"desired":{"color":"red","old":null}},"clientToken":"t"}', aws);
  expect(bodyOf(wanted)).toEqual({
    state: { desired: { color: 'red', old: null } },
    metadata: { desired: { color: { timestamp: wall / 1000 } } },
    version: 1,
    timestamp: wall / 1000,
    clientToken: 't'
  });
  expect(JSON.parse(wanted.delta)).toEqual({
    version: 1,
    timestamp: wall / 1000,
    state: { color: 'red' },
    metadata: { color: { timestamp: wall / 1000 } }
  });
  expect(bodyOf(get('a', aws))).toEqual({
    state: { desired: { color: 'red' }, delta: { color: 'red' } },
    metadata: { desired: { color: { timestamp: wall / 1000 } } },
    version: 1,
    timestamp: wall / 1000
  });
  const azure = { dialect: 'azure', deviceDialect: 'azure' };
  const reported = set('a', '{"battery":55}', { ...azure, section: 'reported' });
  expect([reported.body, reported.sectionVersion, JSON.parse(reported.delta)]).toEqual([
    '',
    1,
    { color: 'red', $version: 1 }
  ]);
  expect(bodyOf(get('a', azure))).toEqual({
    desired: { color: 'red', $version: 1 },
    reported: { battery: 55, $version: 1 }
  });
  expect(bodyOf(get('b', azure))).toEqual({ errorCode: 404, message: 'No shadow exists for b.' });
});

test('lists shadows by page', () => {
  for (const device of ['a', 'b', 'c']) set(device, '{"desired":{"x":1}}');
  set('b', '{"reported":{"x":1}}');
  expect(JSON.parse(desk.list('', 2))).toEqual({
    total: 3,
    shadows: [
      { device: 'a', version: 1, timestamp: Math.floor(wall / 1000), state: 'differs' },
      { device: 'b', version: 2, timestamp: Math.floor(wall / 1000), state: 'same' }
    ],
    next: 'b'
  });
  expect(JSON.parse(desk.list('b', 2))).toMatchObject({ shadows: [{ device: 'c' }], next: null });
});

asRoot('refuses while the disk is full, acknowledges nothing, and goes on afterwards', () => {
  const volume = new Volume('tmpfs', 1).mount();
  try {
    file.close();
    file = new ShadowFile(volume.folder, () => clock);
    desk = new ShadowDesk(file, () => wall);
    const state = (/** @type {number} */ i) => `{"desired":{"n":${i},"x":"${'y'.repeat(7000)}"}}`;
    const ballast = path.join(volume.folder, 'ballast');
    fs.writeFileSync(ballast, Buffer.alloc(300_000));
    let stored = 0;
    let refused;
    for (let i = 0; i < 500 && !refused; i++) {
      const result = set(`d${i}`, state(i));
      if (result.status === 200) stored++;
      else refused = result;
    }
    expect([refused.status, refused.message]).toEqual([
      503,
      expect.stringMatching(/is full\. Free space on it/)
    ]);
    expect(desk.counters).toMatchObject({ updates: stored, refused: 1 });
    // A file whose state is unknown is not opened at once.
    expect(get('d0').status).toBe(503);
    clock += 1001;
    for (let i = 0; i < stored; i++) expect(get(`d${i}`).version).toBe(1);
    expect(get(`d${stored}`).status).toBe(404);
    clock += 1001;
    fs.rmSync(ballast);
    expect(set('d0', '{"desired":{"n":1}}')).toMatchObject({ status: 200, version: 2 });
  } finally {
    file.close();
    volume.remove();
  }
});

test('says of one damaged shadow that it is damaged, and lets it be deleted', () => {
  set('a', '{"desired":{"x":1}}');
  set('b', '{"desired":{"x":1}}');
  file.close();
  const db = new DatabaseSync(path.join(folder, 'shadow.db'));
  db.exec(`UPDATE shadow SET document = x'7b7d' WHERE device = 'a'`);
  db.close();
  open();
  expect(get('a')).toMatchObject({
    status: 503,
    message: expect.stringMatching(/^The shadow of a is damaged/)
  });
  expect(set('a', '{"desired":{"x":2}}').status).toBe(503);
  expect(JSON.parse(desk.list('', 9)).shadows[0].state).toBe('damaged');
  expect(get('b').status).toBe(200);
  expect(remove('a').status).toBe(200);
  expect(set('a', '{"desired":{"x":2}}')).toMatchObject({ status: 200, version: 2 });
});

test('lets a backup read while it is in use, and no second gateway', () => {
  set('a', '{"desired":{"x":1}}');
  const reader = new DatabaseSync(path.join(folder, 'shadow.db'), { readOnly: true });
  expect(reader.prepare('SELECT device, version FROM shadow').all()).toEqual([{ device: 'a', version: 1 }]);
  reader.exec('BEGIN; SELECT * FROM shadow');
  expect(set('a', '{"desired":{"x":2}}').status).toBe(200);
  reader.close();
  const other = new ShadowFile(folder, () => clock);
  expect(() => other.use(() => {})).toThrow(/another process or engine has the folder/);
  other.close();
  expect(set('a', '{"desired":{"x":3}}').status).toBe(200);
  file.close();
  clock += 1001;
  other.use(() => {});
  other.close();
});

test.each([
  ['zeros', (/** @type {string} */ name) => fs.writeFileSync(name, Buffer.alloc(8192, 7)), /is damaged/],
  [
    'another program',
    (/** @type {string} */ name) => {
      const db = new DatabaseSync(name);
      db.exec('PRAGMA application_id = 7; CREATE TABLE t (x)');
      db.close();
    },
    /is the database of another program/
  ]
])('refuses a file of %s, and leaves it as it is', (_what, make, sentence) => {
  const name = path.join(folder, 'shadow.db');
  make(name);
  const before = fs.readFileSync(name);
  for (let i = 0; i < 3; i++, clock += 2000) {
    expect(get('a')).toMatchObject({ status: 503, message: expect.stringMatching(sentence) });
    expect(set('a', '{"desired":{}}').status).toBe(503);
  }
  expect(file.reason).toMatch(sentence);
  expect(fs.readFileSync(name).equals(before)).toBe(true);
});
