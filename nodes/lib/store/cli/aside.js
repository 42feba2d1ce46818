'use strict';
// Handles damaged databases that a gateway set aside to continue with a new one: log.db.damaged-<time>. Repair merges
// their readable records into the log, and marks them as done.

const fs = require('node:fs');
const path = require('node:path');
const { FILE } = require('../log-schema');
const { copyAll } = require('./copy');
const { syncDirectory } = require('../log-folder');
const { openToRead, openToWrite } = require('./open');
const { plural } = require('../../base/cli/cli-output');
const { renumbered } = require('./row-numbers');
const { writer } = require('./rows');
const { transact } = require('../transact');
const { SALVAGED } = require('./salvage');
const { CliError } = require('./log-error');

const COMPANIONS = ['-wal', '-shm', '-journal'];

/**
 * Returns the files whose records are not in the log yet, the oldest first.
 * @param {string} directory
 * @returns {string[]}
 */
function filesAside(directory) {
  return fs
    .readdirSync(directory)
    .filter((name) => name.startsWith(`${FILE}.damaged-`) && !name.includes(SALVAGED))
    .filter((name) => !COMPANIONS.some((suffix) => name.endsWith(suffix)))
    .sort()
    .map((name) => path.join(directory, name));
}

/** @param {string} file */
function markDone(file) {
  // The file is renamed last: until then it is read again, with all its companions.
  for (const suffix of [...COMPANIONS, '']) {
    if (suffix === '-shm') fs.rmSync(file + suffix, { force: true });
    else if (fs.existsSync(file + suffix)) fs.renameSync(file + suffix, file + SALVAGED + suffix);
  }
  syncDirectory(path.dirname(file));
}

/**
 * @param {string} aside
 * @param {string} file the log
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {Promise<boolean>} false: the file cannot be read
 */
async function takeIn(aside, file, output) {
  let from;
  try {
    ({ db: from } = await renumbered(openToRead(aside), aside, output));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    await output.note(`seganet-log: ${error.message}`);
    return false;
  }
  let tally;
  try {
    const db = openToWrite(file);
    try {
      tally = transact(db, () => copyAll(/** @type {any} */ (from), writer(db), output));
    } finally {
      db.close();
    }
  } finally {
    from.close();
  }
  markDone(aside);
  await output.line(
    `${path.basename(aside)}: ${plural(tally.saved, 'record')} merged into the log, ${tally.lost} lost`
  );
  return true;
}

module.exports = { filesAside, takeIn };
