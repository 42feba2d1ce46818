'use strict';
// One round: starts a command as a user does, ends one of its processes, and looks for those that are left.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { commands } = require('./commands');
const { marked, send } = require('./processes');
const { PATIENCE } = require('../../../bench/harness/patience');

const ROOT = path.join(__dirname, '..', '..', '..');
const READY_MS = 90_000;
/** All processes have ended after this time, on a busy machine, too. */
const LIMIT_MS = 30_000 * PATIENCE;
/** After this time, a command that lost one of its processes, and goes on, is ended by the user. */
const GOES_ON_MS = 3000;
const LOOK_MS = 50;

/**
 * @typedef {object} Round
 * @property {string} command
 * @property {NodeJS.Signals} signal
 * @property {number} atMs after the start; -1 = when all of its processes run
 * @property {'top' | 'group' | number} victim top = the process that the user started; group = all of its process
 *   group, as from a terminal or timeout(1); else one of all by this number, 0 to 1
 *
 * @typedef {object} Result
 * @property {string} victim command line of the one of all
 * @property {number} endedMs until no process was left
 * @property {string[]} left command lines of processes that were left; they are ended now
 * @property {string[]} files that were left in the temporary folder
 * @property {string} output
 */

const wait = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {() => boolean} isTrue @param {number} ms @returns {Promise<boolean>} */
async function within(isTrue, ms) {
  const end = performance.now() + ms;
  while (!isTrue()) {
    if (performance.now() > end) return false;
    await wait(LOOK_MS);
  }
  return true;
}

/** @param {Round} round @returns {Promise<Result>} */
async function runRound({ command, signal, atMs, victim }) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-r-'));
  const [mark, temporary] = ['mark', 'tmp'].map((name) => path.join(folder, name));
  for (const each of [mark, temporary]) fs.mkdirSync(each);
  const { args, env = {}, ready } = await commands[command](folder);
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^(SEGANET_|npm_)/.test(name) || /^SEGANET_(CACHE|NATIVE|OVERLAY)$/.test(name)
  );
  let output = '';
  const child = spawn('npm', args, {
    cwd: ROOT,
    // A signal of this round reaches one process, as that of a service manager or a supervisor.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...Object.fromEntries(clean), ...env, PATH: `${mark}:${process.env.PATH}`, TMPDIR: temporary }
  });
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  const top = Number(child.pid);
  try {
    if (atMs >= 0) await wait(atMs);
    else if (
      !(await within(() => ready.test(output) || child.exitCode !== null, READY_MS)) ||
      child.exitCode !== null
    )
      throw new Error(`npm ${args.join(' ')} was not ready:\n${output}`);
    const all = marked(mark);
    const hit = typeof victim === 'number' ? all[Math.floor(victim * all.length)] : undefined;
    send(hit ? hit.pid : victim === 'group' ? -top : top, signal);
    const began = performance.now();
    const isOver = () => marked(mark).length === 0;
    // A command may go on without one of its parts, for example one that it starts again.
    if (hit && !(await within(isOver, GOES_ON_MS))) send(top, 'SIGTERM');
    await within(isOver, LIMIT_MS);
    const left = marked(mark);
    const endedMs = Math.round(performance.now() - began);
    for (const { pid } of left) send(pid, 'SIGKILL');
    const files = fs.readdirSync(temporary).filter((name) => name.startsWith('seganet-'));
    return {
      victim: hit?.command ?? '',
      endedMs,
      files,
      output,
      left: left.map(({ pid, parent, command: line }) => `${pid} (child of ${parent}) ${line}`)
    };
  } finally {
    for (const { pid } of marked(mark)) send(pid, 'SIGKILL');
    await within(() => marked(mark).length === 0, LIMIT_MS);
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

module.exports = { LIMIT_MS, runRound };
