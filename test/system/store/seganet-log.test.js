'use strict';
// seganet-log inspect, verify, dump and dead on real files, as a child process.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { spawnSync } = require('node:child_process');
const { seganetLog, startSeganetLog, script } = require('../../fixtures/store/log-command');
const { LogDatabase, sample, TS } = require('../../fixtures/store/log-database');
const { loadSqlite } = require('../../../nodes/lib/store/cli/sqlite');
const { APPLICATION_ID, USER_VERSION } = require('../../../nodes/lib/store/log-schema');

const commands = [['inspect'], ['verify'], ['dump'], ['repair'], ['dead'], ['dead', '--requeue']];

/** @type {LogDatabase} */
let log;
beforeEach(() => {
  log = new LogDatabase();
});
afterEach(() => log.remove());

/** @param {string} file */
const contents = (file) => fs.readFileSync(file);

describe('the command line', () => {
  test('explains itself', () => {
    const { code, out } = seganetLog('--help');
    expect(code).toBe(0);
    for (const word of ['inspect', 'verify', 'dump', 'repair', 'dead', '--dry-run', 'exit codes']) {
      expect(out).toContain(word);
    }
    expect(seganetLog('dump', '--help')).toMatchObject({ code: 0, out });
    expect(seganetLog('--version').out.trim()).toBe(require('../../../package.json').version);
  });

  test.each([
    [[], 'The command is missing'],
    [['look', '/tmp'], "no command 'look'"],
    [['inspect'], 'The directory is missing'],
    [['inspect', '/tmp', '/usr'], "'/usr' is one argument too many"],
    [['inspect', '--frob', '/tmp'], "Unknown option '--frob'"],
    [['verify', '--json', '/tmp'], "Unknown option '--json'"],
    [['dump', '--class', '9', '/tmp'], "not '9'"],
    [['dump', '--table', 'lost', '/tmp'], "not 'lost'"],
    [['dump', '--limit', '-1', '/tmp'], '--limit'],
    [['dump', '--limit', '1.5', '/tmp'], "not '1.5'"],
    [['dead', '--row', '1,x', '/tmp'], "not 'x'"],
    [['dead', '--requeue', '--delete', '/tmp'], 'mutually exclusive']
  ])('rejects %j as wrong usage', (args, words) => {
    const { code, out, err } = seganetLog(...args);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toContain(words);
  });

  test('gives an old Node a sentence', () => {
    log.close();
    const old = ['--no-experimental-sqlite', script, 'inspect', log.directory];
    const { status, stderr } = spawnSync(process.execPath, old, { encoding: 'utf8' });
    expect(status).toBe(3);
    expect(stderr).toMatch(/^seganet-log: This Node .* has no node:sqlite\. .*Node 22\.16 or newer/);
  });
});

describe('an unusable log', () => {
  test.each(commands)('%s refuses a log that a gateway has open', (...args) => {
    log.addChunk(1, sample('a'));
    const { code, out, err } = seganetLog(...args, log.directory);
    expect({ code, out }).toEqual({ code: 3, out: '' });
    expect(err).toMatch(/in use by another process.* Stop the gateway/);
  });

  test.each(commands)('%s leaves a file alone that is not a log', (...args) => {
    log.close();
    /** @type {[string, (db: any) => void, RegExp][]} */
    const others = [
      ['another program', (db) => db.exec('PRAGMA application_id = 7'), /another program/],
      [
        'a newer gateway',
        (db) =>
          db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${USER_VERSION + 1}`),
        new RegExp(`newer gateway \\(format ${USER_VERSION + 1};`)
      ]
    ];
    for (const [, change, words] of others) {
      const db = log.open();
      change(db);
      db.close();
      const before = contents(log.file);
      const { code, err } = seganetLog(...args, log.directory);
      expect(code).toBe(3);
      expect(err).toMatch(words);
      expect(contents(log.file).equals(before)).toBe(true);
    }
    for (const text of ['', 'short', 'This is a text, not a database. '.repeat(1000)]) {
      fs.writeFileSync(log.file, text);
      const { code, err } = seganetLog(...args, log.directory);
      expect(code).toBe(3);
      expect(err).toMatch(text === '' ? /is empty/ : /is not a log of the gateway/);
      expect(contents(log.file).toString()).toBe(text);
    }
  });

  test.each(commands)('%s reports a missing file', (...args) => {
    const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-log-none-'));
    try {
      expect(seganetLog(...args, path.join(empty, 'no'))).toMatchObject({ code: 3, out: '' });
      const { code, err } = seganetLog(...args, empty);
      expect(code).toBe(3);
      expect(err).toContain('There is no log in');
      expect(fs.readdirSync(empty)).toEqual([]);
      fs.mkdirSync(path.join(empty, 'log.db'));
      expect(seganetLog(...args, empty).code).toBe(3);
    } finally {
      fs.rmSync(empty, { recursive: true });
    }
  });
});

describe('inspect', () => {
  beforeEach(() => {
    log.addChunk(1, sample('a', { class: 1 }), 'n1');
    log.addChunk(2, sample('b', { class: 3, ts: TS + 1000 }), 'n1');
    log.addChunk(3, sample('c', { class: 3, ts: TS + 2000 }), 'n2');
    log.addChunk(6, sample('d', { class: 8, ts: TS + 500 }), 'n2');
    log.addDead(4, sample('d'));
    log.addQuarantine(5, { body: null, class: 2, records: 12 });
    log.close();
  });

  test('counts by class and by node', () => {
    const { code, out } = seganetLog('inspect', '--json', log.directory);
    expect(code).toBe(0);
    const found = JSON.parse(out);
    const bytes = sample('a').body.length;
    expect(found).toMatchObject({ chunks: 4, records: 32, oldest: TS, newest: TS + 2009 });
    expect(found.classes[2]).toEqual({
      class: 3,
      name: 'normal',
      chunks: 2,
      records: 16,
      bytes: 2 * bytes,
      oldest: TS + 1000,
      newest: TS + 2009
    });
    expect(found.classes[3]).toMatchObject({ name: 'bulk', chunks: 0 });
    expect(found.nodes.map((/** @type {any} */ { node, records }) => [node, records])).toEqual([
      ['n1', 16],
      ['n2', 16]
    ]);
    expect(found.dead).toMatchObject({ count: 1, records: 8 });
    expect(found.quarantine).toEqual({ count: 1, records: 12, bytes: 0 });
    expect(found.files).toEqual([{ name: 'log.db', bytes: fs.statSync(log.file).size }]);
  });

  test('prints a table, with unnamed classes only where they have records', () => {
    const { out } = seganetLog('inspect', log.directory);
    expect(out).toMatch(/^4 bulk +0 +0 /m);
    expect(out).toMatch(/^8 +1 +8 /m);
    expect(out).not.toMatch(/^[567] /m);
    expect(out).toMatch(/^3 normal +2 +16 +1020 B +2025-11-21T08:00:01\.000Z +2025-11-21T08:00:02\.009Z$/m);
    expect(out).toMatch(/^n2 +2 +16 /m);
    expect(out).toMatch(/^quarantine: 1 row, 12 records, 0 B$/m);
  });
});

describe('verify', () => {
  test('finds nothing wrong with a sound log, whatever its gateway left in the WAL', () => {
    log.addChunk(1, sample('a'));
    log.addDead(2, sample('b'));
    // A copy while it is open equals the files of a killed gateway: a file and its WAL.
    const copy = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-log-killed-'));
    try {
      for (const name of ['log.db', 'log.db-wal']) {
        fs.copyFileSync(path.join(log.directory, name), path.join(copy, name));
      }
      const before = ['log.db', 'log.db-wal'].map((name) => contents(path.join(copy, name)));
      expect(seganetLog('verify', copy)).toMatchObject({
        code: 0,
        out: '1 chunk and 1 dead letter with 16 records: all intact\n',
        err: ''
      });
      const after = ['log.db', 'log.db-wal'].map((name) => contents(path.join(copy, name)));
      expect(after).toEqual(before);
    } finally {
      fs.rmSync(copy, { recursive: true });
    }
  });

  test('lists chunks with a flipped bit, and changes nothing', () => {
    for (let id = 1; id <= 9; id++) log.addChunk(id, sample(`c${id}`, { class: 1 + (id % 4) }), `n${id % 2}`);
    log.addDead(10, sample('d10'));
    log.close();
    log.flip('c4-one', 1);
    log.flip('c7-r0', 1);
    log.flip('d10-one', 2);
    const before = contents(log.file);
    const { code, lines, err } = seganetLog('verify', log.directory);
    expect(code).toBe(1);
    expect(lines).toEqual([
      'chunk 4: damaged batch (node n0, class 1); 7 of 8 records are intact',
      'chunk 7: damaged batch (node n1, class 4); 4 of 8 records are intact',
      'dead 10: damaged batch (node n1, class 3); 7 of 8 records are intact',
      '9 chunks and 1 dead letter with 80 records: 3 faults'
    ]);
    expect(err).toContain(`seganet-log repair ${log.directory}`);
    expect(contents(log.file).equals(before)).toBe(true);
  });

  test('finds rows that contradict their chunk', () => {
    log.addChunk(1, { ...sample('a'), records: 9 });
    log.addChunk(2, { ...sample('b'), class: 2 });
    log.close();
    const { code, lines } = seganetLog('verify', log.directory);
    expect(code).toBe(1);
    expect(lines[0]).toContain('contains 8 records, but its row says 9');
    expect(lines[1]).toContain('contains class 3, but its row says 2');
  });
});

describe('dump', () => {
  /** @param {...string} args */
  const dump = (...args) => {
    const { code, lines, err } = seganetLog('dump', ...args, log.directory);
    return { code, err, records: lines.map((line) => JSON.parse(line)) };
  };

  test('prints every record of every kind of batch', () => {
    log.addChunk(7, sample('a', { class: 2, sequence: 40 }), 'up');
    log.close();
    const { code, records } = dump();
    expect(code).toBe(0);
    const common = { class: 2, node: 'up', row: 7 };
    const epoch = (1806041088126729).toString(36);
    expect(records).toHaveLength(8);
    expect(records[0]).toEqual({
      device: 'a-one',
      topic: 'one',
      ts: TS,
      ...common,
      key: `${epoch}/2/40`,
      index: 0,
      payload: 'a'
    });
    expect(records[3]).toEqual({
      device: 'a-env',
      topic: 'e/3',
      ts: TS + 3,
      seq: 3,
      ...common,
      key: `${epoch}/2/41`,
      index: 2,
      payload: { v: 3, of: 'a' }
    });
    expect(
      records.slice(4).map(({ device, payload, base64, index }) => [device, payload, base64, index])
    ).toEqual([
      ['a-r0', 1, undefined, 0],
      ['a-r1', undefined, 'AP8=', 1],
      ['a-r2', { a: [1, 2] }, undefined, 2],
      ['a-r3', undefined, Buffer.from('text').toString('base64'), 3]
    ]);
    expect(records[4]).toMatchObject({ ts: TS + 4, lastTs: TS + 9, key: `${epoch}/2/42` });
  });

  test('keeps every digit of a number', () => {
    const chunk = sample('a');
    const { writeChunk } = require('../../../nodes/lib/store/log-chunk');
    const line = '{"d":"a\\",\\"p\\":","t":"t","ts":1,"s":2,"c":3,"p":{"n":12345678901234567890.10}}\n';
    chunk.body = writeChunk(3, 1n, [
      { sequence: 1n, kind: 1, records: 1, bytes: Buffer.from(line) },
      { sequence: 2n, kind: 1, records: 1, bytes: Buffer.from('what a flow made\n') }
    ]);
    chunk.records = 2;
    log.addChunk(1, chunk);
    log.close();
    const { code, lines } = seganetLog('dump', log.directory);
    expect(code).toBe(0);
    expect(lines[0]).toMatch(/"payload":\{"n":12345678901234567890\.10\}\}$/);
    expect(JSON.parse(lines[0]).device).toBe('a","p":');
    expect(JSON.parse(lines[1]).base64).toBe(Buffer.from('what a flow made').toString('base64'));
  });

  test('filters by class, node, table and number', () => {
    for (let id = 1; id <= 6; id++) log.addChunk(id, sample(`c${id}`, { class: 1 + (id % 2) }), `n${id % 3}`);
    log.addDead(7, sample('dead'), 'refused');
    log.addQuarantine(8, sample('quarantined'));
    log.close();
    const rows = (/** @type {string[]} */ ...args) => [
      ...new Set(dump(...args).records.map(({ row }) => row))
    ];
    expect(rows()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(rows('--class', '1')).toEqual([2, 4, 6]);
    expect(rows('--class', 'HIGH', '--node', 'n0')).toEqual([3]);
    expect(rows('--node', 'n9')).toEqual([]);
    expect(dump('--limit', '11').records).toHaveLength(11);
    expect(dump('--limit', '0').records).toEqual([]);
    expect(dump('--table', 'dead').records[0]).toMatchObject({
      row: 7,
      at: TS,
      code: 149,
      reason: 'refused'
    });
    expect(dump('--table', 'quarantine').records[0]).toMatchObject({ row: 8, reason: 'corrupt' });
  });

  test('prints the sound part of a damaged chunk, with a message', () => {
    log.addChunk(1, sample('a'));
    log.addChunk(2, sample('b'));
    log.close();
    log.flip('a-one', 0);
    const { code, records, err } = dump();
    expect(code).toBe(1);
    expect(records).toHaveLength(15);
    expect(err).toContain('chunk 1: damaged batch');
  });

  test('keeps gateways out, and ends cleanly when its reader stops', async () => {
    for (let id = 1; id <= 400; id++) log.addChunk(id, sample(`c${id}`, { extra: 2000 }));
    log.close();
    const child = startSeganetLog('dump', log.directory);
    await once(child.stdout, 'readable');
    const { DatabaseSync } = loadSqlite();
    const gateway = new DatabaseSync(log.file);
    expect(() => gateway.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')).toThrow(/locked/);
    gateway.close();
    let err = '';
    child.stderr.on('data', (text) => (err += text));
    child.stdout.destroy();
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(err).toBe('');
  });
});

describe('dead', () => {
  beforeEach(() => {
    log.addChunk(1, sample('a'));
    log.addDead(2, sample('b', { class: 1 }), 'too large');
    log.addDead(3, sample('c', { class: 3 }), 'refused');
    log.addDead(9, sample('d', { class: 3 }), 'refused');
    log.close();
  });
  /** @param {string} table */
  const ids = (table) => log.rows(table).map(({ id }) => id);

  test('lists the letters', () => {
    const { code, lines } = seganetLog('dead', log.directory);
    expect(code).toBe(0);
    expect(lines).toHaveLength(4);
    expect(lines[1]).toMatch(/^2 +2025-11-21T08:00:00\.000Z +n1 +1 +8 +149 +too large$/);
    expect(seganetLog('dead', '--class', '2', log.directory).out).toBe('no dead letters\n');
  });

  test('returns them for sending, behind pending records', () => {
    const { code, out } = seganetLog('dead', '--requeue', log.directory);
    expect({ code, out }).toEqual({ code: 0, out: '3 dead letters with 24 records queued for sending\n' });
    expect(ids('dead')).toEqual([]);
    const chunks = log.rows('chunk');
    expect(chunks.map((chunk) => [chunk.class, chunk.records])).toEqual([
      [3, 8],
      [1, 8],
      [3, 8],
      [3, 8]
    ]);
    const { body, firstTs, lastTs } = sample('b', { class: 1 });
    expect(Buffer.from(chunks[1].body)).toEqual(body);
    expect(chunks[1]).toMatchObject({ bytes: body.length, first_ts: firstTs, last_ts: lastTs, node: 'n1' });
    expect(seganetLog('verify', log.directory).code).toBe(0);
  });

  test('takes the chosen ones', () => {
    expect(seganetLog('dead', '--requeue', '--row', '3', log.directory).code).toBe(0);
    expect(ids('dead')).toEqual([2, 9]);
    expect(seganetLog('dead', '--delete', '--class', 'critical', log.directory).out).toMatch(
      /^1 dead letter .* deleted/
    );
    expect(ids('dead')).toEqual([9]);
    expect(ids('chunk')).toHaveLength(2);
  });

  test('does not return damaged ones', () => {
    log.flip('c-one', 0);
    const { code, err } = seganetLog('dead', '--requeue', log.directory);
    expect(code).toBe(1);
    expect(err).toMatch(/dead 3: damaged batch[^]*Run repair first/);
    expect(ids('dead')).toEqual([3]);
  });
});
