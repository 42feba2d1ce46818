'use strict';
// The manifest of a day: the files whose rows are acknowledged. A file that it does not name does not count.
//
// Runs are sorted each, and do not overlap within: a run of several files is one sorted file that was cut. A day of one
// run has each record once.

const MANIFEST = '_manifest.json';
const VERSION = 1;
const FILE = /^part-[0-9a-z]+-[0-9a-f]{8}\.parquet$/;
/** What replaceFile() leaves if the process ends meanwhile. */
const LEFT = /^(?:part-[0-9a-z]+-[0-9a-f]{8}\.parquet|_manifest\.json)\.[0-9a-f]{12}\.new$/;
const FOLDER = /^date=(\d{4}-\d\d-\d\d|__HIVE_DEFAULT_PARTITION__)$/;

/**
 * from, to: time of the first and the last row, ms since 1970
 * @typedef {{ name: string, rows: number, bytes: number, from: number, to: number }} ListedFile
 * @typedef {{ level: number, files: ListedFile[] }} Run level: number of merges
 */

/**
 * @param {string} text
 * @returns {Run[]}
 * @throws {TypeError} with the end of a sentence
 */
function parseManifest(text) {
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    throw new TypeError('is not JSON');
  }
  const { version, runs } = read ?? {};
  if (version !== VERSION)
    throw new TypeError(`has version ${version}, and this gateway reads version ${VERSION}`);
  if (!Array.isArray(runs) || !runs.every(isRun)) throw new TypeError('does not list files');
  return runs;
}

/** @param {any} run */
function isRun(run) {
  return (
    Number.isInteger(run?.level) &&
    Array.isArray(run.files) &&
    run.files.length > 0 &&
    run.files.every((/** @type {any} */ file) => FILE.test(file?.name) && Number.isInteger(file.rows))
  );
}

/** @param {Run[]} runs */
function formatManifest(runs) {
  return `${JSON.stringify({ version: VERSION, runs })}\n`;
}

/** @param {string} date */
const folderOf = (date) => `date=${date}`;

/**
 * Splits the path of a file below the folder of the store.
 * @param {string} key
 * @returns {{ date: string, name: string } | null} null = it is not in the folder of a day
 */
function splitKey(key) {
  const at = key.indexOf('/');
  const [, date = ''] = (at > 0 && FOLDER.exec(key.slice(0, at))) || [];
  return date === '' ? null : { date, name: key.slice(at + 1) };
}

/** True for a file of ours that counts only if the manifest names it. @param {string} name */
const isOurs = (name) => FILE.test(name) || LEFT.test(name);

module.exports = { FILE, MANIFEST, folderOf, formatManifest, isOurs, parseManifest, splitKey };
