'use strict';
// seganet-gateway backup and restore beside files that the user may not read, and databases that are locked.

const fs = require('node:fs');
const path = require('node:path');
const { execFileSync, spawnSync } = require('node:child_process');
const { needs } = require('../../bench/harness/tools');
const { Database } = require('../../nodes/lib/store/log-database');
const { DatabaseSync } = require('../../nodes/lib/store/sqlite');
const { command, filesIn, newHome, throughBackup } = require('./backup-command');
const { ROOT, temporaryFolder, cleanEnvironment, cleanUp } = require('./process');

const ENGINE = 'seganet-engine-1';
const isRoot = process.getuid?.() === 0;
const { test: withoutRights } = needs('setpriv', ...(isRoot ? [] : ['root']));
const { test: withPipes } = needs('mkfifo');

jest.setTimeout(60000);
/** @type {(() => unknown)[]} */
const open = [];
afterEach(async () => {
  for (const close of open.splice(0)) close();
  await cleanUp();
});

/** A gateway's folder whose log is elsewhere. */
function homeWithLog() {
  const home = newHome();
  const outside = path.join(temporaryFolder(), 'log');
  new Database(outside).close();
  fs.appendFileSync(path.join(home, 'gateway.env'), `SEGANET_LOG_DIR='${outside}'\n`);
  return { home, outside };
}

/** Makes a database and keeps it locked, as a log is. @param {string} file */
function lock(file) {
  const db = new DatabaseSync(file);
  open.push(() => db.close());
  db.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; CREATE TABLE t (n); BEGIN IMMEDIATE');
}

/** Makes a file that only another user can read. @param {string} file */
function hide(file) {
  fs.writeFileSync(file, 'SQLite format 3\0', { mode: 0o600 });
  fs.chownSync(file, 65534, 65534);
}

/** Runs the command as a user without rights: root without capabilities is one. @param {string[]} args */
function unprivileged(...args) {
  const none = ['--bounding-set', '-all', '--inh-caps', '-all'];
  const script = path.join(ROOT, 'flows/cli/seganet-gateway.js');
  const options = /** @type {const} */ ({ env: cleanEnvironment(), encoding: 'utf8', timeout: 20000 });
  const ran = spawnSync('setpriv', [...none, process.execPath, script, ...args], options);
  return { code: ran.status, output: ran.stdout + ran.stderr };
}

withoutRights('leaves out a file of another user beside the log, and says so', () => {
  const { home, outside } = homeWithLog();
  const file = path.join(outside, 'theirs');
  hide(file);
  const { code, output } = unprivileged('backup', `${home}.backup`, '--home', home);
  expect({ code, output }).toMatchObject({ code: 0 });
  expect(output).toMatch(`Not in the backup: ${file} cannot be read (EACCES).`);
  // The restore looks at the logs of the folder that it replaces.
  const restored = unprivileged('restore', `${home}.backup`, '--home', home, '--force');
  expect(restored).toMatchObject({ code: 0 });
  expect(filesIn(path.join(home, 'seganet-log'))).toEqual([`${ENGINE}/log.db`]);
});

withoutRights('ends at accounts and files of the gateway that the user may not read', () => {
  const { home, outside } = homeWithLog();
  for (const file of [path.join(outside, 'ocf.db'), path.join(home, 'photo')]) {
    hide(file);
    expect(unprivileged('backup', `${home}.backup`, '--home', home)).toEqual({
      code: 3,
      output: `seganet-gateway: ${file} cannot be read (EACCES). Run the command as the gateway's user.\n`
    });
    fs.rmSync(file);
  }
  expect(fs.readdirSync(path.dirname(home))).toEqual(['gateway']);
});

test('skips a locked database of another program beside the log, with a message', () => {
  const { home, outside } = homeWithLog();
  lock(path.join(outside, 'theirs.db'));
  const { restored, output } = throughBackup(home);
  expect(output).toMatch(`Not in the backup: ${outside}/theirs.db is locked by another program.`);
  expect(output).not.toMatch(/gateway\. Stop/);
  expect(filesIn(path.join(restored, 'seganet-log'))).toEqual([`${ENGINE}/log.db`]);
});

test('ends at a locked database of the gateway, and does not advise to stop the gateway', () => {
  const { home, outside } = homeWithLog();
  const elsewhere = path.join(outside, 'cloud.sqlite');
  const flow = path.join(home, 'gateway.json');
  const node = { id: 'cloud', type: 'seganet-ocf-cloud', storeFile: elsewhere };
  fs.writeFileSync(flow, JSON.stringify([...JSON.parse(fs.readFileSync(flow, 'utf8')), node]));
  for (const file of [path.join(home, 'mine.db'), path.join(outside, 'ocf.db'), elsewhere]) {
    lock(file);
    expect(command('backup', `${home}.backup`, '--home', home)).toEqual({
      code: 3,
      output: `seganet-gateway: ${file} is locked by another program. End that program, or wait for it, and run the command again.\n`
    });
    open.pop()?.();
    fs.rmSync(file);
  }
});

withPipes('reads neither through a link nor from a pipe that replaced a file', () => {
  const folder = temporaryFolder();
  const [pipe, link] = [path.join(folder, 'pipe'), path.join(folder, 'link')];
  execFileSync('mkfifo', [pipe]);
  fs.symlinkSync('/etc/hostname', link);
  const script = `
    const { kindOf } = require('./flows/cli/file-kinds');
    for (const file of process.argv.slice(1)) {
      try { console.log(kindOf(file)); } catch (error) { console.log(error.code); }
    }`;
  // In a process of its own: opening a pipe could block it.
  const ran = spawnSync(process.execPath, ['-e', script, pipe, link, folder], {
    cwd: ROOT,
    encoding: 'utf8',
    timeout: 10000
  });
  expect(ran.stdout.split('\n')).toEqual(['EINVAL', 'ELOOP', 'EINVAL', '']);
});
