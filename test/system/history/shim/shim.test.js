'use strict';
// The shims are checked before they are trusted.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { needs } = require('../../../../bench/harness/tools');
const { ClockShim, IoShim, FOREVER } = require('.');

const { describe } = needs('c++');

const EIO = 5;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shim-test-'));
afterAll(() => fs.rmSync(folder, { recursive: true }));

/** Runs a script under the shim. @param {ClockShim | IoShim} shim @param {string} script @param {string[]} args */
function run(shim, script, ...args) {
  const env = { ...process.env, ...shim.env, LD_PRELOAD: shim.library };
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, ...args], { env, encoding: 'utf8' });
  if (!stdout) throw new Error(stderr);
  return JSON.parse(stdout);
}

test('lets the wall clock jump while a process runs, but not the monotonic clock', () => {
  const clock = new ClockShim(folder);
  const script = `
    const fs = require('fs'), fd = fs.openSync(process.argv[1], 'r+'), bytes = Buffer.alloc(8);
    const before = Date.now(), start = performance.now();
    bytes.writeBigInt64LE(BigInt(400 * 86400)); fs.writeSync(fd, bytes, 0, 8, 0);
    const file = new Date(fs.statSync(process.argv[1]).mtimeMs).getFullYear();
    console.log(JSON.stringify({ days: (Date.now() - before) / 864e5, ms: performance.now() - start, file }));`;
  const { days, ms, file } = run(clock, script, clock.env.SEGANET_SHIM_CLOCK);
  expect(days).toBeCloseTo(400, 2);
  expect(ms).toBeLessThan(86400000);
  expect(file).toBe(new Date().getFullYear());
  clock.set(60 - Date.now() / 1000);
  expect(run(clock, 'console.log(new Date().getFullYear())')).toBe(1970);
  clock.close();
});

describe('writes and syncs', () => {
  /**
   * Commits rows into an SQLite log like the gateway; returns the commits reported as done, and the rows that a reader
   * finds.
   */
  const commits = `
    const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(process.argv[1]);
    db.exec('PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, b BLOB)');
    const fs = require('fs'), fd = fs.openSync(process.argv[2], 'r+');
    const set = (field, value) => { const b = Buffer.alloc(4); b.writeUInt32LE(value); fs.writeSync(fd, b, 0, 4, field * 4); };
    const done = [], errors = [];
    for (let n = 0; n < 20; n++) {
      if (n === 5) set(Number(process.argv[3]), Number(process.argv[4]));
      try { db.prepare('INSERT INTO t VALUES (?, ?)').run(n, Buffer.alloc(20000, n)); done.push(n); }
      catch (error) { errors.push(error.message); }
    }
    console.log(JSON.stringify({ done, errors }));
    process.kill(process.pid, 'SIGKILL');`;

  /** @param {string} name @param {number} field @param {number} count @param {Record<string, number>} [more] */
  function commitAll(name, field, count, more = {}) {
    const io = new IoShim(folder, `${name}.db`);
    io.set({ error: EIO, ...more });
    const file = path.join(folder, `${name}.db`);
    const result = run(io, commits, file, io.env.SEGANET_SHIM_IO, String(field), String(count));
    const { injected, syncs } = io.get();
    io.close();
    const { DatabaseSync } = require('node:sqlite');
    const found = new DatabaseSync(file)
      .prepare('SELECT n FROM t ORDER BY n')
      .all()
      .map(({ n }) => n);
    return { ...result, injected, syncs, found };
  }

  test('do not fail without a command', () => {
    const { done, found, injected, syncs } = commitAll('calm', 0, 0);
    expect({ done: done.length, found: found.length, injected }).toEqual({
      done: 20,
      found: 20,
      injected: 0
    });
    expect(syncs).toBeGreaterThanOrEqual(20);
  });

  test('fail as often as requested, and committed rows are there', () => {
    const { done, errors, found, injected } = commitAll('writes', 0, 3);
    expect(injected).toBe(3);
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]).toContain('disk I/O error');
    expect(found).toEqual(expect.arrayContaining(done));
  });

  test('fail permanently for syncs: nothing more is committed', () => {
    const { done, found } = commitAll('syncs', 1, FOREVER);
    expect(done).toEqual([0, 1, 2, 3, 4]);
    expect(found.slice(0, 5)).toEqual(done);
  });

  test('can revert data with a failed sync: a program that reported it as done has lost it', () => {
    const { done, errors, found, injected } = commitAll('drop', 1, 2, { drop: 1 });
    expect(injected).toBe(2);
    expect(errors).toHaveLength(2);
    expect(found).toEqual(done);
  });

  test('really revert a bare append without a commit', () => {
    const io = new IoShim(folder, 'bare');
    io.set({ error: EIO, drop: 1, failSyncs: 1 });
    const script = `
      const fs = require('fs'), fd = fs.openSync(process.argv[1], 'a');
      fs.writeSync(fd, 'one'); let code = '';
      try { fs.fsyncSync(fd); } catch (error) { code = error.code; }
      fs.writeSync(fd, 'two'); fs.fsyncSync(fd);
      console.log(JSON.stringify({ code, text: fs.readFileSync(process.argv[1], 'utf8') }));`;
    expect(run(io, script, path.join(folder, 'bare'))).toEqual({ code: 'EIO', text: 'two' });
    io.close();
  });
});
