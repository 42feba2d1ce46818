'use strict';
// The backups and snapshots that the keeper makes by its timetable. Each is a process of its own with the lowest
// priority, so that the check of a large database does not delay the keeper, and its failure does not end it.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawn } = require('node:child_process');
const { readLast } = require('../life/last-backup');
const { listSnapshots } = require('../snapshots/file');
const { listBackups } = require('./backups');
const { MAX_OUTPUT, lastOf } = require('./output');
const { readSettings } = require('./settings');
const { Timetable } = require('./timetable');

const MAIN = path.join(__dirname, '..', '..', 'main.js');
const LOWEST_PRIORITY = 19;
/**
 * A job that takes longer is ended: the others wait for it, and a tenant whose gateway answers byte by byte must not
 * stop those of all tenants.
 */
const JOB_MS = 4 * 3_600_000;
/** Between the request to end and the end, ms. */
const END_MS = 10_000;
const MINUTE_MS = 60_000;

/**
 * @typedef {{ ok: boolean, reason: string }} Outcome reason: a sentence, '' = it was made
 *
 * @typedef {object} Parts
 * @property {Pick<import('../base/home').Home, 'folder' | 'volumes' | 'state' | 'backups'>} home
 * @property {() => string[]} names of the tenants
 * @property {NodeJS.ProcessEnv} env
 * @property {(name: string, outcome: Outcome) => void} backedUp
 * @property {(sentence: string) => void} report
 * @property {string} [main] the program
 * @property {number} [jobMs] most time of a job
 * @property {number} [endMs] most time between the request to end and the end
 */

/**
 * Makes a backup of a tenant in a process of its own.
 * @param {Parts} parts
 * @param {string} name
 * @returns {Promise<Outcome>}
 */
async function backupTenant(parts, name) {
  const outcome = await runCommand(parts, ['backup', name, '--json']);
  parts.backedUp(name, outcome);
  return outcome;
}

/**
 * @param {Pick<Parts, 'env' | 'main' | 'jobMs' | 'endMs'>} parts
 * @param {string[]} args
 * @returns {Promise<Outcome>}
 */
function runCommand({ env, main = MAIN, jobMs = JOB_MS, endMs = END_MS }, args) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [main, ...args], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let output = '';
    let isLate = false;
    let timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGTERM');
      timer = setTimeout(() => child.kill('SIGKILL'), endMs);
    }, jobMs);
    child.stderr.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-MAX_OUTPUT)));
    child.once('error', ({ message }) => {
      clearTimeout(timer);
      resolve({ ok: false, reason: message });
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (isLate)
        return resolve({ ok: false, reason: `It took longer than ${jobMs / 1000} s and was ended.` });
      if (code === 0) return resolve({ ok: true, reason: '' });
      const how = signal ? `It was ended by ${signal}` : `It ended with code ${code}`;
      const said = output.trim().replace(/^seganet-tenants: /gm, '');
      resolve({ ok: false, reason: said ? said.slice(-1000) : `${how}${lastOf(output)}.` });
    });
    try {
      if (child.pid) os.setPriority(child.pid, LOWEST_PRIORITY);
    } catch {
      // It has ended already.
    }
  });
}

/**
 * @param {Parts} parts
 * @returns {Timetable} not started
 */
function nightly(parts) {
  const { home, names, report } = parts;
  const jobs = () => {
    const settings = readSettings(home.folder, home.backups);
    const { at, jitterMinutes, without, to, snapshots } = settings;
    const tenants = names().filter(
      (name) => !without.includes(name) && fs.existsSync(path.join(home.volumes, name))
    );
    const backups = tenants.map((name) => ({
      name: `backup ${name}`,
      at,
      jitterMs: jitterMinutes * MINUTE_MS,
      last: () => listBackups(to, name)[0]?.at ?? 0,
      noted: () => {
        const last = readLast(home.state, name);
        return last?.ok ? last.at : 0;
      },
      run: async () => {
        const { ok, reason } = await backupTenant(parts, name);
        if (!ok) report(`The backup of ${name} failed: ${reason}`);
        return ok;
      },
      skipped: (/** @type {string} */ why) =>
        parts.backedUp(name, { ok: false, reason: `The backups in ${to} cannot be read: ${why}` })
    }));
    const snapshot = {
      name: 'snapshot',
      at: snapshots.at,
      jitterMs: 0,
      last: () => lastSnapshot(snapshots.to),
      run: async () => {
        const { ok, reason } = await runCommand(parts, ['snapshots', 'take']);
        if (!ok) report(`The snapshot failed: ${reason}`);
        return ok;
      }
    };
    return [...backups, snapshot];
  };
  return new Timetable({ jobs, report });
}

/** @param {string} folder @returns {number} ms since 1970, 0 = never */
function lastSnapshot(folder) {
  const [newest] = listSnapshots(folder);
  return newest ? (fs.statSync(newest, { throwIfNoEntry: false })?.mtimeMs ?? 0) : 0;
}

module.exports = { backupTenant, nightly };
