'use strict';
// seganet-log repair on files with many kinds of damage.

const fs = require('node:fs');
const path = require('node:path');
const { seganetLog } = require('../../fixtures/store/log-command');
const { LogDatabase, sample, TS } = require('../../fixtures/store/log-database');
const { seeded } = require('../../fixtures/random');
const { readChunk } = require('../../../nodes/lib/store/log-chunk');

const PAGE = 4096;
/** Of the test with random damage. */
const ROUNDS = Number(process.env.SEGANET_LOG_ROUNDS ?? 12);

/** @type {LogDatabase} */
let log;
beforeEach(() => {
  log = new LogDatabase();
});
afterEach(() => log.remove());

/** @param {string} table @returns {any[]} without bodies */
const rows = (table) => log.rows(table).map(({ body: _body, ...row }) => row);
/** @param {number} from @param {number} to @param {number} [extra] bytes a chunk */
function fill(from, to, extra) {
  for (let id = from; id <= to; id++) log.addChunk(id, sample(`c${id}`, { extra }), `node-${id % 2}`);
}

/** The devices of all records that `dump` prints. @param {...string} args */
const devices = (...args) =>
  seganetLog('dump', ...args, log.directory).lines.map((line) => JSON.parse(line).device);

function expectSound() {
  const { code, out, err } = seganetLog('verify', log.directory);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toContain('all intact');
}

/** Overwrites a page of the closed file. @param {number} page 1 is the first @param {(bytes: Buffer) => void} change */
function damagePage(page, change) {
  const bytes = fs.readFileSync(log.file);
  change(bytes.subarray((page - 1) * PAGE, page * PAGE));
  fs.writeFileSync(log.file, bytes);
}

/** Pages that begin with this type of b-tree page. @param {number} type */
function pagesOfType(type) {
  const bytes = fs.readFileSync(log.file);
  const pages = Array.from({ length: bytes.length / PAGE }, (_, i) => i + 1);
  return pages.filter((page) => page > 1 && bytes[(page - 1) * PAGE] === type);
}
const TABLE_LEAF = 13;
const INDEX_LEAF = 10;

describe('a sound log', () => {
  test('stays unchanged', () => {
    fill(1, 3);
    log.addQuarantine(4, { body: Buffer.from('nothing sound'), class: 3, records: 1 });
    log.close();
    const before = fs.readFileSync(log.file);
    expect(seganetLog('repair', log.directory)).toMatchObject({
      code: 0,
      out: 'nothing to repair\n',
      err: ''
    });
    expect(fs.readFileSync(log.file).equals(before)).toBe(true);
    expect(fs.readdirSync(log.directory).filter((name) => name.includes('damaged'))).toEqual([]);
  });
});

describe('a damaged chunk', () => {
  beforeEach(() => {
    fill(1, 5);
    log.addDead(6, sample('d6'));
    log.close();
    log.flip('c2-one', 0);
    log.flip('c4-r0', 0);
    log.flip('d6-one', 0);
  });

  test('is only reported with --dry-run', () => {
    const before = fs.readFileSync(log.file);
    const { code, lines } = seganetLog('repair', '--dry-run', log.directory);
    expect(code).toBe(1);
    expect(lines.slice(0, 3).map((line) => line.split(':')[0])).toEqual(['chunk 2', 'chunk 4', 'dead 6']);
    expect(lines[3]).toBe('18 records recovered from damaged chunks, 6 lost');
    expect(fs.readFileSync(log.file).equals(before)).toBe(true);
  });

  test('keeps its sound batches in its place, and the rest goes to quarantine', () => {
    const { code, lines } = seganetLog('repair', log.directory);
    expect(code).toBe(0);
    expect(lines.at(-1)).toBe('repaired: 18 records recovered from damaged chunks, 6 lost');
    expectSound();
    expect(rows('chunk').map(({ id, node, records }) => [id, node, records])).toEqual([
      [1, 'node-1', 8],
      [2, 'node-0', 7],
      [3, 'node-1', 8],
      [4, 'node-0', 4],
      [5, 'node-1', 8]
    ]);
    expect(rows('chunk')[1]).toMatchObject({ first_ts: TS + 1, last_ts: TS + 9 });
    expect(rows('dead')).toMatchObject([{ id: 6, code: 149, reason: 'too large', records: 7 }]);
    expect(rows('quarantine')).toMatchObject([
      { id: 2, node: 'node-0', class: 3, reason: 'damaged batch', records: 1 },
      { id: 4, node: 'node-0', class: 3, reason: 'damaged batch', records: 4 },
      { id: 6, node: 'n1', class: 3, reason: 'damaged batch', records: 1 }
    ]);
    expect(devices('--node', 'node-0').filter((device) => device.startsWith('c4'))).toEqual([
      'c4-one',
      ...Array(3).fill('c4-env')
    ]);
    // The damaged bytes are still there.
    expect(Buffer.from(log.rows('quarantine')[0].body).includes('"c2"')).toBe(true);
    expect(seganetLog('repair', log.directory)).toMatchObject({ code: 0, out: 'nothing to repair\n' });
  });
});

describe('a file that was cut in half', () => {
  /** Half of 40 chunks of several pages each. */
  function cut() {
    fill(1, 40, 20000);
    log.close();
    fs.truncateSync(log.file, Math.floor(fs.statSync(log.file).size / 2 / PAGE) * PAGE);
  }
  const kept = () => rows('chunk').length;

  test('keeps the remaining chunks', () => {
    cut();
    expect(seganetLog('verify', log.directory)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is truncated.*seganet-log repair/)
    });
    expect(seganetLog('repair', '--dry-run', log.directory)).toMatchObject({
      code: 1,
      out: expect.stringContaining('are missing; they would be filled with zeros')
    });
    const { code, out } = seganetLog('repair', log.directory);
    expect(out).toContain('are missing; they were filled with zeros');
    expect(code).toBe(0);
    expectSound();
    log.db = log.open();
    expect(kept()).toBeGreaterThanOrEqual(15);
    expect(kept()).toBeLessThan(25);
  });

  test('is imported, too, when the gateway has set it aside', () => {
    cut();
    fs.renameSync(log.file, `${log.file}.damaged-2026-01-01T00-00-00.000Z`);
    const { code, out } = seganetLog('repair', log.directory);
    expect(out).toMatch(/\d+ records merged into the log/);
    expect(code).toBe(0);
    expectSound();
    log.db = log.open();
    expect(kept()).toBeGreaterThanOrEqual(15);
  });
});

test('gets sound batches back from quarantine, once', () => {
  const damaged = sample('q2');
  damaged.body[damaged.body.indexOf('q2-one')] ^= 4;
  fill(3, 4);
  log.addQuarantine(1, sample('q1'));
  log.addQuarantine(2, damaged);
  log.addQuarantine(3, sample('q3')); // its number is in use again
  log.addQuarantine(9, { body: null, class: 1, records: 5 });
  log.close();
  expect(seganetLog('repair', log.directory)).toMatchObject({ code: 0 });
  expectSound();
  expect(rows('chunk').map(({ id, records }) => [id, records])).toEqual([
    [1, 8],
    [2, 7],
    [3, 8],
    [4, 8],
    [10, 8]
  ]);
  expect(rows('quarantine').map(({ id, records }) => [id, records])).toEqual([
    [2, 1],
    [9, 5]
  ]);
  expect(new Set(devices('--node', 'n1'))).toContain('q3-one');
  expect(seganetLog('repair', log.directory).out).toBe('nothing to repair\n');
});

describe('a malformed database', () => {
  /** @returns {string} the one file that was kept */
  function keptFile() {
    const names = fs.readdirSync(log.directory).filter((name) => name.includes('damaged'));
    expect(names).toHaveLength(1);
    expect(names[0]).toMatch(/^log\.db\.damaged-\d{4}-.*Z-salvaged$/);
    return path.join(log.directory, names[0]);
  }

  /** Repairs, and checks the invariants for any damage. @returns {number[]} ids of the remaining chunks */
  function repaired() {
    const before = fs.readFileSync(log.file);
    const dry = seganetLog('repair', '--dry-run', log.directory);
    expect(dry.code).toBe(1);
    expect(dry.out).toContain('the database would be rebuilt');
    expect(fs.readFileSync(log.file).equals(before)).toBe(true);
    const { code, out } = seganetLog('repair', log.directory);
    expect(code).toBe(0);
    expect(out).toContain('the old database was kept as');
    expect(fs.readFileSync(keptFile()).equals(before)).toBe(true);
    expect(fs.statSync(log.file).mode & 0o777).toBe(fs.statSync(keptFile()).mode & 0o777);
    expectSound();
    expect(seganetLog('repair', log.directory).out).toBe('nothing to repair\n');
    return rows('chunk').map(({ id }) => id);
  }

  test('with a destroyed page in the middle keeps the rows of all others', () => {
    fill(1, 100);
    log.addDead(101, sample('d'));
    log.close();
    const leaves = pagesOfType(TABLE_LEAF).filter((page) => {
      const bytes = fs.readFileSync(log.file).subarray((page - 1) * PAGE, page * PAGE);
      return bytes.includes('c50-one');
    });
    expect(leaves).toHaveLength(1);
    damagePage(leaves[0], (bytes) => bytes.fill(0xaa));
    const { code, out } = seganetLog('verify', log.directory);
    expect(code).toBe(1);
    expect(out).toMatch(/chunk: rows between rows \d+ and \d+ cannot be read \(\d rows, \d+ records\)/);
    const ids = repaired();
    expect(ids.length).toBeGreaterThan(90);
    expect(ids.length).toBeLessThan(100);
    // Lost rows are known, from the index.
    const lost = rows('quarantine');
    expect([...ids, ...lost.map(({ id }) => id)].sort((a, b) => a - b)).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1)
    );
    for (const row of lost) expect(row).toMatchObject({ reason: 'cannot be read', records: 8, class: 3 });
    expect(rows('dead')).toHaveLength(1);
  });

  test('with its first or last rows destroyed keeps the others', () => {
    fill(1, 60);
    log.close();
    const bytes = fs.readFileSync(log.file);
    const leaves = pagesOfType(TABLE_LEAF).filter((page) =>
      ['c1-one', 'c60-one'].some((name) => bytes.subarray((page - 1) * PAGE, page * PAGE).includes(name))
    );
    for (const page of leaves) damagePage(page, (found) => found.fill(0));
    const ids = repaired();
    expect(ids.length + rows('quarantine').length).toBe(60);
    expect(ids).toContain(30);
    expect(ids).not.toContain(1);
    expect(ids).not.toContain(60);
  });

  test('keeps every row when its index points nowhere', () => {
    fill(1, 300);
    log.close();
    const [page] = pagesOfType(INDEX_LEAF);
    damagePage(page, (bytes) => bytes.fill(0xff, 0, 100));
    expect(repaired()).toHaveLength(300);
    expect(rows('quarantine')).toEqual([]);
  });

  test('keeps every row when its index has another number for a chunk', () => {
    fill(1, 20);
    log.close();
    const [page] = pagesOfType(INDEX_LEAF);
    damagePage(page, (bytes) => {
      const at = bytes.indexOf('node-1');
      bytes[at + 5] = '7'.charCodeAt(0);
    });
    expect(seganetLog('verify', log.directory).out).toContain('missing from index chunk_lane');
    expect(repaired()).toHaveLength(20);
  });

  test('keeps the others when bodies cannot be reached', () => {
    fill(1, 10, 9000); // each has pages of its own
    log.close();
    const bytes = fs.readFileSync(log.file);
    const at = bytes.indexOf('c5-r0');
    damagePage(Math.floor(at / PAGE), (page) => page.fill(0xff, 0, 4)); // a page of the chain to it: the pointer to the next one
    expect(seganetLog('verify', log.directory).lines).toContainEqual(
      expect.stringMatching(/^chunk 5: cannot be read \(node node-1, class 3\); 0 of 8 records/)
    );
    expect(repaired()).toEqual([1, 2, 3, 4, 6, 7, 8, 9, 10]);
    expect(rows('quarantine')).toMatchObject([{ id: 5, reason: 'cannot be read', records: 8 }]);
    expect(log.rows('quarantine')[0].body).toBeNull();
  });

  test('is not touched during another repair', () => {
    fill(1, 20);
    log.close();
    damagePage(pagesOfType(INDEX_LEAF)[0], (bytes) => bytes.fill(0xff, 0, 100));
    fs.writeFileSync(`${log.file}.repair`, '');
    const { code, err } = seganetLog('repair', log.directory);
    expect(code).toBe(3);
    expect(err).toMatch(/Another repair .* remove the file/);
    fs.rmSync(`${log.file}.repair`);
    expect(repaired()).toHaveLength(20);
  });
});

describe('a damaged log that a gateway set aside', () => {
  test('is imported into the log, once', () => {
    const aside = `${log.file}.damaged-2026-01-02T03-04-05.678Z`;
    fill(1, 60);
    log.addDead(61, sample('d61'));
    log.close();
    damagePage(pagesOfType(INDEX_LEAF)[0], (bytes) => bytes.fill(0xff, 0, 100));
    fs.renameSync(log.file, aside);

    // With no log yet, and then with one whose numbers continue.
    const dry = seganetLog('repair', '--dry-run', log.directory);
    expect(dry).toMatchObject({ code: 1 });
    expect(fs.readdirSync(log.directory)).not.toContain('log.db');
    expect(seganetLog('dump', '--limit', '1', aside).lines).toHaveLength(1);
    const { code, out } = seganetLog('repair', log.directory);
    expect({ code, out }).toEqual({
      code: 0,
      out: `${path.basename(aside)}: 488 records merged into the log, 0 lost\n`
    });
    expectSound();
    expect(rows('chunk')).toHaveLength(60);
    expect(rows('dead')).toHaveLength(1);
    expect(fs.existsSync(`${aside}-salvaged`)).toBe(true);
    expect(seganetLog('repair', log.directory).out).toBe('nothing to repair\n');
  });

  test('shows in verify, and its rows get free numbers', () => {
    const aside = `${log.file}.damaged-2026-01-02T03-04-05.678Z`;
    fill(1, 3);
    log.close();
    fs.copyFileSync(log.file, aside);
    const { code, out } = seganetLog('verify', log.directory);
    expect(code).toBe(1);
    expect(out).toContain(`${path.basename(aside)}: a damaged log that was set aside`);
    expect(seganetLog('repair', log.directory).code).toBe(0);
    expectSound();
    expect(rows('chunk').map(({ id }) => id)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test('stays when nothing of it can be read', () => {
    const aside = `${log.file}.damaged-2026-01-02T03-04-05.678Z`;
    fill(1, 1);
    log.close();
    fs.writeFileSync(aside, Buffer.alloc(8192, 7));
    const { code, err } = seganetLog('repair', log.directory);
    expect(code).toBe(1);
    expect(err).toContain('.recover');
    expect(fs.existsSync(aside)).toBe(true);
  });
});

test(
  'ends repair with a sound log or a sentence for any damage, and invents nothing',
  () => {
    const seed = Number(process.env.SEGANET_SEED ?? Date.now() & 0x7fffffff);
    const { integer } = seeded(seed);
    fill(1, 40, 300);
    log.addDead(41, sample('d'));
    log.close();
    const whole = fs.readFileSync(log.file);
    const batches = new Set();
    for (const table of ['chunk', 'dead']) {
      for (const { body } of log.rows(table)) {
        for (const { bytes } of readChunk(body).entries) batches.add(bytes.toString('hex'));
      }
    }
    for (let round = 0; round < ROUNDS; round++) {
      const context = `SEGANET_SEED=${seed}, round ${round}`;
      for (const name of fs.readdirSync(log.directory)) fs.rmSync(path.join(log.directory, name));
      const bytes = Buffer.from(whole);
      for (let flips = 1 + integer(20); flips > 0; flips--)
        bytes[100 + integer(bytes.length - 100)] ^= 1 << integer(8);
      if (round % 4 === 0) bytes.fill(integer(256), integer(bytes.length), integer(bytes.length));
      fs.writeFileSync(log.file, bytes);
      const { code, err } = seganetLog('repair', log.directory);
      if (code !== 0) {
        expect({ context, code, err }).toMatchObject({ err: expect.stringMatching(/^seganet-log: .*\.\n$/) });
        continue;
      }
      const verified = seganetLog('verify', log.directory);
      expect({ context, ...verified }).toMatchObject({ code: 0 });
      for (const { body } of log.rows('chunk')) {
        for (const entry of readChunk(body).entries) {
          if (!batches.has(entry.bytes.toString('hex'))) throw new Error(`${context}: a batch of no device`);
        }
      }
    }
  },
  60_000 + ROUNDS * 1000
);
