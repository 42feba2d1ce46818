'use strict';
// What a test of root's commands needs: the folder of a user without rights, files that only root may read, and
// processes of that user, who tries to get at them.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn, spawnSync } = require('node:child_process');
const { bin } = require('../../package.json');
const { ROOT, cleanEnvironment } = require('./process');

/** The user "nobody". */
const UID = 65534;
const AS_USER = path.join(__dirname, 'as-user.js');
const ATTACKS = path.join(__dirname, 'attacks.js');
const SECRET = 'root:$6$of-root-only';

/** @typedef {{ code: number | null, output: string }} Ran */

/** @param {import('node:child_process').SpawnSyncReturns<string>} ran @returns {Ran} */
function outcome({ status, stdout, stderr, error }) {
  if (error) return { code: null, output: String(error) };
  const output = stdout + stderr;
  if (/^\s+at .*:\d+/m.test(output)) throw new Error(`a stack trace, not a sentence:\n${output}`);
  return { code: status, output };
}

const options = () => ({ encoding: /** @type {const} */ ('utf8'), timeout: 30_000, env: cleanEnvironment() });

/** Runs a command of the package as root. @param {keyof typeof bin} name @param {string[]} args */
const asRoot = (name, ...args) =>
  outcome(spawnSync(process.execPath, [path.join(ROOT, bin[name]), ...args], options()));

/** Runs a command of the package as the user. @param {keyof typeof bin} name @param {string[]} args */
const asUser = (name, ...args) =>
  outcome(
    spawnSync(process.execPath, [AS_USER, String(UID), path.join(ROOT, bin[name]), ...args], options())
  );

/** @param {string} file @param {number} [uid] */
function give(file, uid = UID) {
  fs.lchownSync(file, uid, uid);
}

/**
 * Makes a folder with two others: `user`, which belongs to the user, and `root`, which only root may enter, with a file
 * `shadow`.
 */
function newStage() {
  const stage = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-root-'));
  fs.chmodSync(stage, 0o755);
  const [user, root] = [path.join(stage, 'user'), path.join(stage, 'root')];
  fs.mkdirSync(user, { mode: 0o700 });
  give(user);
  fs.mkdirSync(root, { mode: 0o700 });
  const shadow = path.join(root, 'shadow');
  fs.writeFileSync(shadow, SECRET, { mode: 0o600 });
  return { stage, user, root, shadow, remove: () => fs.rmSync(stage, { recursive: true, force: true }) };
}

/** What the user must not be able to change. @param {{ root: string, shadow: string }} stage */
function belongings({ root, shadow }) {
  const of = (/** @type {string} */ name) => {
    const { uid, mode } = fs.lstatSync(name);
    return { uid, mode: (mode & 0o777).toString(8) };
  };
  const content = fs.existsSync(shadow) ? { ...of(shadow), text: fs.readFileSync(shadow, 'latin1') } : null;
  return { folder: of(root), names: fs.readdirSync(root), shadow: content };
}

/**
 * Starts an attack of attacks.js as the user, and calls `work` when it is ready.
 * @param {string[]} args name of the attack, and its arguments
 * @param {() => Promise<Ran>} work runs the command of root
 * @returns {Promise<Ran & { attacker: string }>} attacker: what it printed
 */
async function during(args, work) {
  const child = spawn(process.execPath, [AS_USER, String(UID), ATTACKS, ...args], {
    stdio: ['ignore', 'pipe', 'inherit']
  });
  let attacker = '';
  const ready = new Promise((resolve) =>
    child.stdout.setEncoding('utf8').on('data', (text) => {
      attacker += text;
      if (/^ready$/m.test(attacker)) resolve(undefined);
    })
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  await ready;
  try {
    return { ...(await work()), attacker };
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/**
 * As asRoot(), while other processes go on.
 * @param {keyof typeof bin} name
 * @param {string[]} args
 * @returns {Promise<Ran>}
 */
function startAsRoot(name, ...args) {
  const child = spawn(process.execPath, [path.join(ROOT, bin[name]), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: cleanEnvironment()
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, output })));
}

/** Owners of a folder and of all in it. @param {string} folder @returns {number[]} each once */
function ownersIn(folder) {
  const names = ['', ...fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })];
  return [...new Set(names.map((name) => fs.lstatSync(path.join(folder, name)).uid))];
}

/** True if the user can read this checkout and Node. */
function isReadable() {
  const script = `require(${JSON.stringify(path.join(ROOT, 'package.json'))})`;
  const ran = spawnSync(process.execPath, [AS_USER, String(UID), '-e', script], { encoding: 'utf8' });
  return ran.status === 0;
}

module.exports = {
  AS_USER,
  SECRET,
  UID,
  asRoot,
  asUser,
  belongings,
  during,
  give,
  isReadable,
  newStage,
  ownersIn,
  startAsRoot
};
