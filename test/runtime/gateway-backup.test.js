'use strict';
// seganet-gateway backup, restore and install-service where something is in the way.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { Volume } = require('../../bench/harness/volume');
const { needs } = require('../../bench/harness/tools');
const { ROOT, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const COMMAND = path.join(ROOT, 'flows/cli/seganet-gateway.js');
const isRoot = process.getuid?.() === 0;
const { test: asRoot } = needs('mount', ...(isRoot ? [] : ['root']));
const { test: withoutRights } = needs('setpriv', ...(isRoot ? [] : ['root']));
const { test: withSystemd } = needs('systemd-analyze');
const LOG = path.join('seganet-log', 'seganet-engine-1', 'log.db');

jest.setTimeout(60000);
/** @type {Volume[]} */
const volumes = [];
afterEach(async () => {
  for (const each of volumes.splice(0)) each.remove();
  await cleanUp();
});

/** @param {string[]} args @param {import('node:child_process').SpawnSyncOptions} [options] */
function command(args, options = {}) {
  const env = cleanEnvironment();
  const ran = spawnSync(process.execPath, [COMMAND, ...args], { env, encoding: 'utf8', ...options });
  return { code: ran.status, output: String(ran.stdout) + String(ran.stderr) };
}

/** A small file system of its own. @param {number} sizeMiB */
function volume(sizeMiB) {
  const made = new Volume('tmpfs', sizeMiB).mount();
  volumes.push(made);
  // Everybody may write to a new tmpfs. Root works in no such folder.
  fs.chmodSync(made.folder, 0o755);
  return made.folder;
}

/** A gateway's folder that never ran, with files of a user. @param {number} [bytes] of one of them */
function newHome(bytes = 100) {
  const home = path.join(temporaryFolder(), 'gateway');
  expect(command(['init', '--home', home])).toMatchObject({ code: 0 });
  fs.mkdirSync(path.join(home, 'lib', 'flows'), { recursive: true });
  fs.writeFileSync(path.join(home, 'lib', 'flows', 'mine.json'), '[]');
  // Random, so that it is not compressed away.
  fs.writeFileSync(path.join(home, 'photo'), require('node:crypto').randomBytes(bytes));
  fs.mkdirSync(path.join(home, 'node_modules', 'x'), { recursive: true });
  fs.writeFileSync(path.join(home, 'node_modules', 'x', 'index.js'), '');
  fs.writeFileSync(path.join(home, 'passwords'), 'pump-1:$scrypt$');
  return home;
}

/** @param {string} folder @returns {Record<string, string>} its files and their contents */
function contents(folder) {
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  const files = names.filter((name) => fs.statSync(path.join(folder, name)).isFile());
  return Object.fromEntries(files.map((name) => [name, fs.readFileSync(path.join(folder, name), 'latin1')]));
}

test('restores the files of a gateway that is stopped, and leaves out what is made again', () => {
  const home = newHome();
  fs.symlinkSync('/etc/hostname', path.join(home, 'link'));
  const file = path.join(path.dirname(home), 'a.backup');
  const { code, output } = command(['backup', file, '--home', home]);
  expect(code).toBe(0);
  expect(output).toMatch(/Not in the backup: link is not a regular file/);
  const elsewhere = path.join(temporaryFolder(), 'gateway');
  expect(command(['restore', file, '--home', elsewhere])).toMatchObject({ code: 0 });
  fs.rmSync(path.join(home, 'node_modules'), { recursive: true });
  fs.rmSync(path.join(home, 'link'));
  expect(contents(elsewhere)).toEqual(contents(home));
  expect(fs.statSync(elsewhere).mode & 0o777).toBe(0o700);
  expect(command(['check', '--home', elsewhere])).toMatchObject({ code: 0 });
});

test('names the files of the settings that are outside the folder', () => {
  const home = newHome();
  const outside = path.join(temporaryFolder(), 'passwords');
  fs.writeFileSync(outside, 'pump-1:x\n');
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_DEVICE_PASSWORD_FILE='${outside}'\n`);
  const { code, output } = command(['backup', `${home}.backup`, '--home', home]);
  expect(code).toBe(0);
  expect(output).toMatch(`Not in the backup: ${outside} (SEGANET_DEVICE_PASSWORD_FILE) is outside`);
});

test('has the logs of other folders and deleted engines, and what was set aside as damaged', () => {
  const home = newHome();
  const { Database } = require('../../nodes/lib/store/log-database');
  const outside = path.join(temporaryFolder(), 'log');
  const deleted = path.join(home, 'seganet-log', 'engine-2');
  for (const directory of [outside, deleted]) new Database(directory).close();
  fs.writeFileSync(path.join(deleted, 'log.db.damaged-2026'), 'torn');
  fs.writeFileSync(path.join(deleted, 'log.reserve'), 'x'.repeat(1000));
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
  expect(command(['backup', `${home}.backup`, '--home', home])).toMatchObject({
    code: 0,
    output: expect.stringMatching(/2 logs/)
  });
  const elsewhere = path.join(temporaryFolder(), 'gateway');
  const { code, output } = command(['restore', `${home}.backup`, '--home', elsewhere]);
  expect(code).toBe(0);
  expect(output).toMatch(`The log of seganet-engine-1 was in ${outside} and is now in`);
  const logs = path.join(elsewhere, 'seganet-log');
  const names = fs.readdirSync(logs, { recursive: true, encoding: 'utf8' }).sort();
  expect(names.filter((name) => name.includes(path.sep))).toEqual([
    'engine-2/log.db',
    'engine-2/log.db.damaged-2026',
    'seganet-engine-1/log.db'
  ]);
  new Database(path.join(logs, 'seganet-engine-1')).close();
});

test('never overwrites a backup, or a folder, without --force', () => {
  const home = newHome();
  const file = `${home}.backup`;
  fs.writeFileSync(file, 'mine');
  expect(command(['backup', file, '--home', home])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/exists\. Choose another name/)
  });
  expect(fs.readFileSync(file, 'utf8')).toBe('mine');
  expect(command(['backup', file, '--home', home, '--force'])).toMatchObject({ code: 0 });
  const before = contents(home);
  expect(command(['restore', file, '--home', home])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/is not empty/)
  });
  expect(contents(home)).toEqual(before);
  const { code, output } = command(['restore', file, '--home', home, '--force']);
  expect(code).toBe(0);
  const [, aside] = /The folder that was there is (\S+)\.$/m.exec(output) ?? [];
  expect(contents(aside)).toEqual(before);
});

test.each([
  ['a file that is cut', (/** @type {Buffer} */ bytes) => bytes.subarray(0, bytes.length - 20)],
  ['a file that is damaged', (/** @type {Buffer} */ bytes) => bytes.fill(0, 200, 210)],
  ['another file', () => Buffer.from('a letter')],
  ['an empty file', () => Buffer.alloc(0)]
])('refuses %s and changes nothing', (_what, damage) => {
  const home = newHome();
  const file = `${home}.backup`;
  expect(command(['backup', file, '--home', home])).toMatchObject({ code: 0 });
  fs.writeFileSync(file, damage(fs.readFileSync(file)));
  const before = contents(home);
  expect(command(['restore', file, '--home', home, '--force'])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/cannot be restored: .*Nothing was changed\.\n$/)
  });
  expect(contents(home)).toEqual(before);
  expect(fs.readdirSync(path.dirname(home)).sort()).toEqual(['gateway', 'gateway.backup']);
});

test('refuses to replace the log of a gateway that has no socket', () => {
  const home = newHome();
  const file = `${home}.backup`;
  expect(command(['backup', file, '--home', home])).toMatchObject({ code: 0 });
  const { Database } = require('../../nodes/lib/store/log-database');
  const database = new Database(path.dirname(path.join(home, LOG)));
  try {
    for (const args of [
      ['restore', file, '--home', home, '--force'],
      ['backup', `${file}-2`, '--home', home]
    ]) {
      expect(command(args)).toMatchObject({
        code: 3,
        output: expect.stringMatching(/in use by another process/)
      });
    }
  } finally {
    database.close();
  }
  expect(command(['backup', `${file}-2`, '--home', home])).toMatchObject({ code: 0 });
});

asRoot('removes what it began to write on a full disk', () => {
  const home = newHome(3 << 20);
  const file = path.join(volume(1), 'a.backup');
  expect(command(['backup', file, '--home', home])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/There is no space left for \S+\. Nothing was written\.\n$/)
  });
  expect(fs.readdirSync(path.dirname(file))).toEqual([]);
});

asRoot('changes nothing when the restored files do not fit', () => {
  const file = path.join(temporaryFolder(), 'a.backup');
  expect(command(['backup', file, '--home', newHome(3 << 20)])).toMatchObject({ code: 0 });
  const disk = volume(1);
  const home = path.join(disk, 'gateway');
  expect(command(['init', '--home', home])).toMatchObject({ code: 0 });
  const before = contents(home);
  expect(command(['restore', file, '--home', home, '--force'])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/There is no space left beside \S+\. Nothing was changed\.\n$/)
  });
  expect(contents(home)).toEqual(before);
  expect(fs.readdirSync(disk)).toEqual(['gateway']);
});

asRoot('does not replace a mount point, but restores below it', () => {
  const file = path.join(temporaryFolder(), 'a.backup');
  expect(command(['backup', file, '--home', newHome()])).toMatchObject({ code: 0 });
  const disk = volume(8);
  expect(command(['restore', file, '--home', disk])).toMatchObject({
    code: 3,
    output: expect.stringMatching(/is a mount point/)
  });
  expect(command(['restore', file, '--home', path.join(disk, 'gateway')])).toMatchObject({ code: 0 });
});

withoutRights('says which right is missing', () => {
  const home = newHome();
  const place = path.dirname(home);
  for (const folder of [home, place]) fs.chownSync(folder, 65534, 65534);
  // Root without capabilities is a user as any other.
  const none = ['--bounding-set', '-all', '--inh-caps', '-all'];
  for (const args of [
    ['backup', path.join(temporaryFolder(), 'a.backup'), '--home', home],
    ['init', '--home', path.join(place, 'new')],
    ['install-service', '--unit-dir', place],
    ['check', '--home', home]
  ]) {
    const options = /** @type {const} */ ({ env: cleanEnvironment(), encoding: 'utf8' });
    const { status, stdout, stderr } = spawnSync(
      'setpriv',
      [...none, process.execPath, COMMAND, ...args],
      options
    );
    const [code, reason] =
      args[0] === 'check'
        ? [78, /^problem +folder +(This user cannot use|Root cannot look at)/m]
        : [3, /^seganet-gateway: (?!Warning).*\.\n$/m];
    expect({ args, status, output: stdout + stderr }).toEqual({
      args,
      status: code,
      output: expect.stringMatching(reason)
    });
  }
});

describe('install-service', () => {
  /** @param {string} home @param {object[]} [more] nodes of the flow */
  function print(home, more = []) {
    const flow = path.join(home, 'gateway.json');
    fs.writeFileSync(flow, JSON.stringify([...JSON.parse(fs.readFileSync(flow, 'utf8')), ...more]));
    const { code, output } = command(['install-service', '--print', '--home', home]);
    expect(code).toBe(0);
    return output.replace(/^seganet-gateway: Warning.*\n/m, '');
  }

  test('gives the service only the capabilities that its flow needs', () => {
    const home = newHome();
    expect(print(home)).toMatch(/^AmbientCapabilities=\nCapabilityBoundingSet=\n/m);
    const bluetooth = { id: 'b', type: 'seganet-ble-devices', z: 'seganet-tab' };
    expect(print(home, [bluetooth])).toMatch(/^AmbientCapabilities=CAP_NET_RAW$/m);
    fs.appendFileSync(path.join(home, 'gateway.env'), 'SEGANET_MQTT_PORT=883\n');
    expect(print(home)).toMatch(/^AmbientCapabilities=CAP_NET_BIND_SERVICE CAP_NET_RAW$/m);
    expect(print(home)).toMatch(/^RestrictAddressFamilies=.* AF_BLUETOOTH$/m);
  });

  test('lets the service write to folders outside of its own, and says that they must exist', () => {
    const home = newHome();
    expect(print(home)).not.toMatch(/ReadWritePaths=-/);
    fs.appendFileSync(path.join(home, 'gateway.env'), 'SEGANET_LOG_DIR=/mnt/ssd/log/\n');
    const nodes = [
      { id: 's1', type: 'seganet-series', z: 'seganet-tab', folder: '/mnt/ssd/a b%$' },
      { id: 's2', type: 'seganet-series', z: 'seganet-tab', folder: '/mnt/ssd/unused', d: true },
      { id: 's3', type: 'seganet-series', z: 'seganet-tab', folder: path.join(home, 'series') },
      { id: 's4', type: 'seganet-series', z: 'seganet-tab', folder: 'relative' },
      { id: 's5', type: 'seganet-series', z: 'seganet-tab', folder: '/mnt/x\nUser=root' },
      { id: 'f1', type: 'seganet-find', z: 'seganet-tab', folder: '${SEGANET_LOG_DIR}' }
    ];
    const text = print(home, nodes);
    expect(text.match(/^ReadWritePaths=-.*$|^ReadWritePaths="-.*$/gm)).toEqual([
      'ReadWritePaths="-/mnt/ssd/a b%%$"',
      'ReadWritePaths=-/mnt/ssd/log'
    ]);
    expect(text).not.toMatch(/^User=root/m);
    const args = ['install-service', '--unit-dir', temporaryFolder(), '--home', home];
    expect(command(args).output).toMatch(/mkdir -p \/mnt\/ssd\/log && chown seganet: .*before the start/);
  });

  test('lets the service write to the folder of an overlay network and of accounts', () => {
    const home = newHome();
    fs.appendFileSync(path.join(home, 'gateway.env'), 'MINE=/mnt/ssd/accounts/cloud.db\n');
    const nodes = [
      { id: 'o1', type: 'seganet-overlay', program: 'start', folder: '/mnt/ssd/overlay' },
      { id: 'o2', type: 'seganet-overlay', program: 'attach', folder: '/run/theirs' },
      { id: 'o3', type: 'seganet-overlay', program: 'start', folder: '' },
      { id: 'c1', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: '${MINE}' },
      // Node-RED replaces no part of a value.
      { id: 'c7', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: '/mnt/${MINE}' },
      { id: 'c2', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: 'postgres://ocf@/run/db/ocf' },
      { id: 'c3', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: 'cloud.db' },
      { id: 'c4', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: path.join(home, 'cloud.db') },
      { id: 'c5', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: '' },
      { id: 'c6', type: 'seganet-ocf-cloud', z: 'seganet-tab', storeFile: '/cloud.db' },
      { id: 'x', type: 'constructor', z: 'seganet-tab' }
    ];
    expect(print(home, nodes).match(/^ReadWritePaths=-.*$/gm)).toEqual([
      'ReadWritePaths=-/mnt',
      'ReadWritePaths=-/mnt/ssd/accounts',
      'ReadWritePaths=-/mnt/ssd/overlay'
    ]);
  });

  test('prints commands that run nothing else, whatever a flow or --home names', () => {
    const place = temporaryFolder();
    const mark = path.join(place, 'mark');
    const home = path.join(place, "it's $(touch mark) `touch mark`");
    expect(command(['init', '--home', home])).toMatchObject({ code: 0 });
    const folders = [
      '/mnt/$(touch mark)',
      '/mnt/`touch mark`',
      '/mnt/a; touch mark #',
      "/mnt/b'; touch mark; '",
      '/mnt/c "d" \\'
    ];
    const nodes = folders.map((folder, i) => ({ id: `s${i}`, type: 'seganet-series', folder }));
    print(home, nodes);
    const { output } = command(['install-service', '--unit-dir', place, '--home', home]);
    const lines = output.split('\n').filter((line) => line.startsWith('  '));
    expect(lines).toHaveLength(4 + folders.length);
    // Each command prints its words instead.
    const names = ['useradd', 'seganet-gateway', 'mkdir', 'chown', 'editor', 'systemctl'];
    const stubs = path.join(place, 'stubs');
    fs.mkdirSync(stubs);
    for (const name of names) {
      const script = `#!/bin/sh\nprintf '%s\\n' ${name} "$@"\n`;
      fs.writeFileSync(path.join(stubs, name), script, { mode: 0o755 });
    }
    const env = { PATH: `${stubs}:${process.env.PATH}` };
    const ran = spawnSync('sh', ['-c', lines.join('\n')], { cwd: place, env, encoding: 'utf8' });
    expect(ran.stderr).toBe('');
    expect(fs.existsSync(mark)).toBe(false);
    const words = ran.stdout.trim().split('\n');
    expect(words.filter((word) => word.startsWith('/mnt/'))).toEqual(
      [...folders].sort().flatMap((folder) => [folder, folder])
    );
    expect(words.filter((word) => word.startsWith(place))).toEqual([
      ...[home, home, home],
      path.join(home, 'gateway.env')
    ]);
  });

  test('gives no folder that exists to another user', () => {
    const home = newHome();
    const folder = temporaryFolder();
    print(home, [{ id: 's1', type: 'seganet-series', folder }]);
    const { output } = command(['install-service', '--unit-dir', temporaryFolder(), '--home', home]);
    expect(output).toMatch(`  # ${folder} exists: the user seganet must be able to write to it\n`);
    expect(output).not.toMatch(`chown seganet: ${folder}`);
  });

  test('writes the unit once, and again only with --force', () => {
    const units = temporaryFolder();
    const args = ['install-service', '--unit-dir', units];
    expect(command(args)).toMatchObject({ code: 0, output: expect.stringMatching(/systemctl enable --now/) });
    const file = path.join(units, 'seganet-gateway.service');
    const text = fs.readFileSync(file, 'utf8');
    expect(command(['install-service', '--print']).output).toContain(text);
    expect(command(args)).toMatchObject({ code: 3, output: expect.stringMatching(/exists/) });
    expect(command([...args, '--force', '--user', 'other'])).toMatchObject({ code: 0 });
    expect(fs.readFileSync(file, 'utf8')).toBe(text.replace('User=seganet', 'User=other'));
  });

  withSystemd('writes a unit that systemd accepts, also with odd characters in the folder', () => {
    const odd = path.join(temporaryFolder(), `a b%c'd`);
    expect(command(['init', '--home', odd])).toMatchObject({ code: 0 });
    fs.appendFileSync(path.join(odd, 'gateway.env'), `SEGANET_LOG_DIR="/mnt/d e%f'$g"\n`);
    for (const home of [newHome(), '/var/lib/seganet', odd]) {
      const units = temporaryFolder();
      // A user that exists everywhere.
      const args = ['install-service', '--unit-dir', units, '--home', home, '--user', 'root'];
      expect(command(args)).toMatchObject({ code: 0 });
      const file = path.join(units, 'seganet-gateway.service');
      const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' });
      const ours = verified.stderr.split('\n').filter((line) => line.includes('seganet-gateway.service'));
      expect(ours).toEqual([]);
      expect(verified.status).toBe(0);
    }
  });
});
