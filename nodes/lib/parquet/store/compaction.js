'use strict';
// Which files to merge, and the merge. A merged run has each record once, sorted by device and time.

const { DAY_MS, NO_DATE } = require('../files/row');
const { FileWriter, readGroups } = require('../files/parquet-file');
const { merge } = require('../files/merge');
const { folderOf } = require('./manifest');
const { putFile } = require('./archive');

/** @typedef {import('./manifest').Run} Run @typedef {import('./archive').Store} Store */
/** @typedef {{ date: string, runs: Run[] }} Task */

/** Runs that are merged at once: each has a row group in memory. */
const FAN_IN = 8;
/** A run is cut into files of about this size. */
const FILE_BYTES = 32 * 1024 * 1024;
/** A day that is over is merged when no record has been added for this time. */
const QUIET_MS = 60000;

/**
 * @typedef {object} Times monotonic, but for `wall`
 * @property {Map<string, number>} changedAt by day: when it got a record last
 * @property {Map<string, number>} pausedUntil by day: it is left out until then
 * @property {number} now
 * @property {number} wall ms since 1970
 */

/**
 * @param {Map<string, Run[]>} days
 * @param {Times} times
 * @param {number} [quietMs]
 * @returns {Task | null} what to merge next, null = nothing
 */
function nextTask(days, { changedAt, pausedUntil, now, wall }, quietMs = QUIET_MS) {
  for (const [date, runs] of days) {
    if (now < (pausedUntil.get(date) ?? -Infinity)) continue;
    const isQuiet = now - (changedAt.get(date) ?? -Infinity) >= quietMs;
    if (runs.length > 1 && isQuiet && isOver(date, wall)) return { date, runs: smallest(runs) };
    const level = fullLevel(runs);
    if (level) return { date, runs: level };
  }
  return null;
}

/** @param {string} date @param {number} wall */
function isOver(date, wall) {
  return date === NO_DATE || Date.parse(date) + DAY_MS <= wall;
}

/** The runs with the fewest rows first, so that few rows are written often. @param {Run[]} runs */
function smallest(runs) {
  return [...runs].sort((a, b) => rowsOf(a) - rowsOf(b)).slice(0, FAN_IN);
}

/** Returns runs of one level, if there are enough to merge them while their day goes on. @param {Run[]} runs */
function fullLevel(runs) {
  /** @type {Map<number, Run[]>} */
  const levels = new Map();
  for (const run of runs) {
    const level = [...(levels.get(run.level) ?? []), run];
    if (level.length === FAN_IN) return level;
    levels.set(run.level, level);
  }
  return null;
}

/** @param {Run} run */
const rowsOf = ({ files }) => files.reduce((sum, { rows }) => sum + rows, 0);

/**
 * Merges runs into new files, which no manifest names yet.
 * @param {Store} store
 * @param {import('../files/writer-package').ParquetPackages} library
 * @param {Task} task
 * @param {{ fileBytes?: number }} [options]
 * @returns {Promise<{ run: Run, repeated: number }>} repeated: copies of records that were left out
 */
async function mergeRuns(store, library, { date, runs }, { fileBytes = FILE_BYTES } = {}) {
  let repeated = 0;
  /** @type {import('./manifest').ListedFile[]} */
  const files = [];
  let writer = new FileWriter(library);
  const end = async () => {
    files.push(await putFile(store, date, writer));
    repeated += writer.repeated;
  };
  try {
    await merge(
      runs.map((run) => readRun(store, library, date, run)),
      (row) => {
        // A copy goes to the file of its record, where it is left out.
        if (writer.bytes < fileBytes || writer.isCopy(row)) return writer.add(row);
        return end().then(() => {
          writer = new FileWriter(library);
          writer.add(row);
        });
      }
    );
    await end();
  } catch (error) {
    // A merge that fails is tried again and again, and must not fill the disk.
    for (const { name } of files) await store.remove(`${folderOf(date)}/${name}`).catch(() => {});
    throw error;
  }
  return { run: { level: 1 + Math.max(...runs.map(({ level }) => level)), files }, repeated };
}

/** @param {Store} store @param {import('../files/writer-package').ParquetPackages} library @param {string} date @param {Run} run */
async function* readRun(store, library, date, { files }) {
  for (const { name } of files) yield* readGroups(library, await store.read(`${folderOf(date)}/${name}`));
}

module.exports = { FAN_IN, mergeRuns, nextTask };
