'use strict';
// Restoring: every damage is found and named, hostile archives write nothing outside, and the old volume stays until
// the tenant runs from the new one.

const crypto = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { DatabaseSync } = require('node:sqlite');
const { needs } = require('../../../bench/harness/tools');
const { makeBackup } = require('../../../docker/tenants/lib/backup/backups');
const { newDraft, removeDrafts } = require('../../../docker/tenants/lib/backup/drafts');
const { hold, isHeld } = require('../../../docker/tenants/lib/life/hold');
const { namespaceOptions, startOffline } = require('../../../docker/tenants/lib/backup/offline');
const { processStarter } = require('../../../docker/tenants/lib/backup/offline-process');
const { checkBackup, recoverVolumes, restoreBackup } = require('../../../docker/tenants/lib/backup/restore');
const { checkTenant } = require('../../../nodes/lib/tenants/file/schema');

const PASSPHRASE = 'correct horse battery';
const isRoot = process.getuid?.() === 0;
const { test: withNamespace } = needs('unshare', 'nsenter', 'ip', ...(isRoot ? [] : ['root']));

/** @type {string} */
let root;
/** @type {string} */
let volume;
/** @type {string} */
let folder;
const tenant = { name: 'acme' };
beforeEach(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-restore-'));
  [volume, folder] = [path.join(root, 'volumes', 'acme'), path.join(root, 'backups')];
  fs.mkdirSync(volume, { recursive: true });
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

/** A volume with a few files and a database. */
function fill() {
  fs.writeFileSync(path.join(volume, 'alpha.txt'), 'alpha '.repeat(5000));
  fs.mkdirSync(path.join(volume, 'sub'));
  fs.writeFileSync(path.join(volume, 'sub', 'beta.bin'), crypto.randomBytes(150_000));
  fs.symlinkSync('sub/beta.bin', path.join(volume, 'link'));
  const db = new DatabaseSync(path.join(volume, 'data.db'));
  db.exec('CREATE TABLE t (x); CREATE INDEX i ON t (x); BEGIN');
  for (let i = 0; i < 200; i++) db.prepare('INSERT INTO t VALUES (?)').run(`${i}`.repeat(20));
  db.exec('COMMIT');
  db.close();
}

/** @param {string} [passphrase] */
const backup = (passphrase = '') => makeBackup({ tenant: 'acme', volume, folder, passphrase });

/** @param {Partial<Parameters<typeof checkBackup>[0]> & { file: string }} what */
const check = (what) => checkBackup({ tenant, volume, startOffline: null, ...what });

/** @param {string} file @param {{ [name: string]: string }} expected */
const hasFiles = (file, expected) =>
  Object.entries(expected).forEach(([name, text]) =>
    expect(fs.readFileSync(path.join(file, name), 'utf8')).toBe(text)
  );

test.each(['', PASSPHRASE])(
  'finds one changed byte anywhere (passphrase %j)',
  async (passphrase) => {
    fill();
    const { file } = await backup(passphrase);
    const whole = fs.readFileSync(file);
    const steps = passphrase ? 4 : 50;
    // Many at both ends, and some between.
    const places = Array.from({ length: steps }, (_, i) => Math.floor((i * whole.length) / steps));
    if (!passphrase) for (let i = 0; i < 42; i += 3) places.push(i, whole.length - 1 - i);
    for (const at of places) {
      const bytes = Buffer.from(whole);
      bytes[at] ^= 1 << (at % 8);
      fs.writeFileSync(file, bytes);
      await expect(check({ file, passphrase })).rejects.toThrow(/Nothing was changed/);
    }
    fs.writeFileSync(file, whole);
    expect(await check({ file, passphrase })).toMatchObject({
      files: 3,
      databases: 1,
      warnings: [],
      start: 'not started'
    });
    expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
  },
  60000
);

test('names the damaged file', async () => {
  fill();
  const { file } = await backup();
  const whole = fs.readFileSync(file);
  // Random bytes are stored as they are, so this place is in the body of beta.bin.
  const beta = fs.readFileSync(path.join(volume, 'sub/beta.bin'));
  const at = whole.indexOf(beta.subarray(70_000, 70_050));
  expect(at).toBeGreaterThan(0);
  whole[at] ^= 1;
  fs.writeFileSync(file, whole);
  await expect(check({ file })).rejects.toThrow(/the file sub\/beta\.bin is damaged/);
});

test('names the place of damage in an encrypted backup', async () => {
  fill();
  const { file } = await backup(PASSPHRASE);
  const whole = fs.readFileSync(file);
  whole[whole.length - 20_000] ^= 1;
  fs.writeFileSync(file, whole);
  await expect(check({ file, passphrase: PASSPHRASE })).rejects.toThrow(
    /it is damaged.* \(at volume\/.*, or behind it\)/
  );
});

test('says that the passphrase is wrong, or missing', async () => {
  fill();
  const { file } = await backup(PASSPHRASE);
  await expect(check({ file, passphrase: 'not the right one' })).rejects.toThrow(
    'the passphrase is wrong, or its header is damaged. Nothing was changed.'
  );
  await expect(check({ file })).rejects.toThrow(/it is encrypted\. Name the file of its passphrase/);
});

test('refuses a backup that is cut anywhere, and files that are none', async () => {
  fill();
  const { file } = await backup();
  const whole = fs.readFileSync(file);
  for (const bytes of [
    0,
    1,
    8,
    100,
    whole.length >> 1,
    whole.length - 41,
    whole.length - 40,
    whole.length - 1
  ]) {
    fs.writeFileSync(file, whole.subarray(0, bytes));
    await expect(check({ file })).rejects.toThrow(/cannot be used/);
  }
  for (const bytes of [Buffer.from('hello'), crypto.randomBytes(100_000), Buffer.concat([whole, whole])]) {
    fs.writeFileSync(file, bytes);
    await expect(check({ file })).rejects.toThrow(/cannot be used/);
  }
  await expect(check({ file: root })).rejects.toThrow(/is not a file/);
});

test('refuses the backup of another tenant, unless it is wanted', async () => {
  fill();
  const { file } = await backup();
  const other = { tenant: { name: 'umbrella' }, volume: path.join(root, 'volumes', 'umbrella') };
  await expect(check({ file, ...other })).rejects.toThrow(/is a backup of acme, not of umbrella/);
  expect(await check({ file, ...other, anyTenant: true })).toMatchObject({ files: 3 });
});

/**
 * @param {{ ok?: boolean, starts?: boolean[] }} [options] ok: of the start without a network; starts: of those after
 *   the swap
 */
function fake({ ok = true, starts = [true, true] } = {}) {
  /** @type {string[]} */
  const calls = [];
  return {
    calls,
    startOffline: async (/** @type {any} */ _tenant, /** @type {string} */ copy) => {
      calls.push('offline');
      hasFiles(copy, { 'alpha.txt': 'alpha '.repeat(5000) });
      fs.writeFileSync(path.join(copy, 'written by the trial'), '');
      return {
        health: async () => ({ ok, reason: 'its log is damaged.' }),
        stop: async () => void calls.push('offline ended')
      };
    },
    stop: async () => void calls.push('stop'),
    start: async () => {
      calls.push(`start ${fs.existsSync(path.join(volume, 'new')) ? 'old' : 'restored'}`);
      return { ok: starts.shift() ?? true, reason: 'no CONNACK' };
    }
  };
}

test('restores a volume, and removes the old one when the tenant has started', async () => {
  fill();
  const { file } = await backup();
  fs.rmSync(path.join(volume, 'alpha.txt'));
  fs.writeFileSync(path.join(volume, 'new'), 'x');
  const parts = fake();
  const result = await restoreBackup({ tenant, volume, file, ...parts });
  expect(parts.calls).toEqual(['offline', 'offline ended', 'stop', 'start restored']);
  expect(result).toMatchObject({ files: 3, databases: 1, start: 'healthy', old: '' });
  expect(fs.readdirSync(volume).sort()).toEqual(['alpha.txt', 'data.db', 'link', 'sub']);
  expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
});

test('keeps the old volume if that is wanted', async () => {
  fill();
  const { file } = await backup();
  fs.writeFileSync(path.join(volume, 'new'), 'x');
  const { old } = await restoreBackup({ tenant, volume, file, ...fake(), keepOld: true });
  expect(fs.existsSync(path.join(old, 'new'))).toBe(true);
  expect(fs.existsSync(path.join(volume, 'new'))).toBe(false);
});

test('puts the old volume back if the tenant does not run from the new one', async () => {
  fill();
  const { file } = await backup();
  fs.writeFileSync(path.join(volume, 'new'), 'x');
  const parts = fake({ starts: [false, true] });
  await expect(restoreBackup({ tenant, volume, file, ...parts })).rejects.toThrow(
    'acme does not run from the backup: no CONNACK. The old volume is in its place again.'
  );
  expect(parts.calls).toEqual(['offline', 'offline ended', 'stop', 'start restored', 'stop', 'start old']);
  hasFiles(volume, { new: 'x' });
  expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
});

test('changes nothing if the tenant is not healthy without a network', async () => {
  fill();
  const { file } = await backup();
  fs.writeFileSync(path.join(volume, 'new'), 'x');
  const parts = fake({ ok: false });
  await expect(restoreBackup({ tenant, volume, file, ...parts })).rejects.toThrow(
    'acme does not start from the backup: its log is damaged. Nothing was changed.'
  );
  expect(parts.calls).toEqual(['offline', 'offline ended']);
  hasFiles(volume, { new: 'x' });
  expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
});

test('restores on a machine that never had the tenant', async () => {
  fill();
  const { file } = await backup(PASSPHRASE);
  const elsewhere = path.join(root, 'elsewhere', 'volumes', 'acme');
  const parts = fake();
  await restoreBackup({ tenant, volume: elsewhere, file, passphrase: PASSPHRASE, ...parts });
  const sha = (/** @type {string} */ each) =>
    crypto.createHash('sha256').update(fs.readFileSync(each)).digest('hex');
  for (const name of ['alpha.txt', 'sub/beta.bin'])
    expect(sha(path.join(elsewhere, name))).toBe(sha(path.join(volume, name)));
  expect(fs.readdirSync(path.dirname(elsewhere))).toEqual(['acme']);
});

test.each(['check', 'restore'])(
  'a signal during a %s ends the tenant and removes every copy',
  async (which) => {
    fill();
    const { file } = await backup();
    const controller = new AbortController();
    /** @type {unknown[]} */
    const calls = [];
    const starter = async () => ({
      health: () => {
        setTimeout(() => controller.abort(new Error('SIGINT')), 10);
        return new Promise(() => {});
      },
      stop: async (/** @type {number | undefined} */ mostMs) => void calls.push(mostMs)
    });
    const never = async () => {
      throw new Error('must not be called');
    };
    const what = { tenant, volume, file, startOffline: starter, signal: controller.signal };
    const run = which === 'check' ? checkBackup(what) : restoreBackup({ ...what, stop: never, start: never });
    await expect(run).rejects.toThrow('SIGINT');
    expect(calls).toEqual([1000]);
    expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
    // One that came before stops the unpacking.
    await expect(checkBackup(what)).rejects.toThrow('SIGINT');
    expect(calls).toHaveLength(1);
    expect(fs.readdirSync(path.dirname(volume))).toEqual(['acme']);
  }
);

test('removes what a killed restore or check has left, and nothing else', () => {
  const volumes = path.dirname(volume);
  const mine = newDraft(volume, 'check');
  const dead = JSON.stringify({ pid: process.pid, start: '1', boot: 'x' });
  const left = ['acme.check-0123456789ab', 'acme.restore-0123456789ab', 'acme.restore-0123456789ab-start'];
  const others = ['acme.before-20261123T020000000Z', 'acme.check-1', 'other', 'check-0123456789ab'];
  for (const name of [...left, ...others]) fs.mkdirSync(path.join(volumes, name, 'sub'), { recursive: true });
  fs.writeFileSync(path.join(volumes, `${left[1]}.lock`), dead);
  fs.writeFileSync(path.join(volumes, 'acme.check-ffffffffffff.lock'), dead);
  expect(removeDrafts(volumes).sort()).toEqual(left.map((name) => path.join(volumes, name)));
  const own = path.basename(mine.folder);
  expect(fs.readdirSync(volumes).sort()).toEqual(['acme', ...others, own, `${own}.lock`].sort());
  mine.remove();
  expect(removeDrafts(volumes)).toEqual([]);
  expect(removeDrafts(path.join(root, 'none'))).toEqual([]);
});

test('puts a volume back whose restore was cut off between its two renames', () => {
  const volumes = path.dirname(volume);
  fs.renameSync(volume, `${volume}.before-20261123T020000000Z`);
  fs.mkdirSync(path.join(volumes, 'other'));
  fs.mkdirSync(path.join(volumes, 'other.before-20261123T020000000Z'));
  expect(recoverVolumes(volumes, [])).toEqual([]);
  expect(recoverVolumes(volumes, ['acme', 'other', 'third'])).toEqual([volume]);
  expect(fs.readdirSync(volumes).sort()).toEqual(['acme', 'other', 'other.before-20261123T020000000Z']);
  expect(recoverVolumes(path.join(root, 'none'), ['acme'])).toEqual([]);
});

test('holds a tenant back while this process replaces its volume', () => {
  const state = path.join(root, 'state');
  expect(isHeld(state, 'acme')).toBe(false);
  const release = hold(state, 'acme');
  expect([isHeld(state, 'acme'), isHeld(state, 'other')]).toEqual([true, false]);
  expect(() => hold(state, 'acme')).toThrow(/is restoring, updating or removing acme/);
  release();
  expect(isHeld(state, 'acme')).toBe(false);
  fs.writeFileSync(
    path.join(state, 'acme.hold'),
    JSON.stringify({ pid: process.pid, start: '1', boot: 'x' })
  );
  expect(isHeld(state, 'acme')).toBe(false);
});

withNamespace('starts a tenant that has only a TCP service, and connects to it', async () => {
  const starter = processStarter({ state: path.join(root, 'state') });
  const serve = `require('node:net').createServer().listen(Number(process.env.SEGANET_TENANT_TCP), '127.0.0.1')`;
  const spec = checkTenant({
    name: 'acme',
    driver: 'process',
    port: 0,
    tcp: 4840,
    command: [process.execPath, '-e', serve]
  });
  const offline = await starter?.(spec, volume);
  expect(await offline?.health()).toEqual({ ok: true, reason: '' });
  await offline?.stop();
});

withNamespace('starts a program without a network and sees whether it is healthy', async () => {
  expect(namespaceOptions()).not.toBeNull();
  const env = { PATH: process.env.PATH };
  const serve = `require('node:net').createServer().listen(1883, '127.0.0.1');
    const names = Object.values(require('node:os').networkInterfaces()).flat().map(({ address }) => address);
    require('node:fs').writeFileSync('seen', names.join());`;
  const command = (/** @type {string} */ script) => [process.execPath, '-e', script];
  const good = await startOffline({ command: command(serve), env, port: 1883 }, volume);
  expect(await good.health()).toEqual({ ok: true, reason: '' });
  await good.stop();
  // Nothing but the loopback interface.
  expect(fs.readFileSync(path.join(volume, 'seen'), 'utf8').replace(',::1', '')).toBe('127.0.0.1');

  const dead = await startOffline(
    { command: command('console.error("no flow"); process.exit(3)'), env, port: 1883 },
    volume
  );
  expect(await dead.health()).toEqual({
    ok: false,
    reason: 'it ended with code 3; its last output: no flow'
  });
  await dead.stop();

  const deaf = await startOffline(
    { command: command('process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'), env, port: 1883 },
    volume,
    {
      readyMs: 1000,
      stopMs: 200
    }
  );
  expect((await deaf.health()).reason).toMatch(
    /it was not healthy after 1 s: nothing accepts connections on port 1883/
  );
  await deaf.stop();
});
