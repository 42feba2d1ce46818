'use strict';
// Repairs a log. Damaged chunks go to quarantine, and their intact batches stay. A malformed database is rebuilt from
// its readable rows, and the old one is kept beside it.

const fs = require('node:fs');
const path = require('node:path');
const { filesAside, takeIn } = require('./aside');
const { checkRows, databaseFaults } = require('./check');
const { createLog } = require('./create');
const { openToRead, openToWrite } = require('./open');
const { missingBytes, pad } = require('./pad');
const { renumbered } = require('./row-numbers');
const { plural, size } = require('../../base/cli/cli-output');
const { salvage } = require('./salvage');
const { writer } = require('./rows');
const { transact } = require('../transact');
const { EXIT, CliError } = require('./log-error');
const { faultLine, gapLine } = require('./verify');

/** @typedef {import('./check').Checked} Checked */
/** @typedef {import('../../base/cli/cli-output').Output} Output */

/** saved, lost: records of damaged chunks. @typedef {{ saved: number, lost: number, faults: number }} Tally */

/**
 * Counts what repair would fix. Rows in quarantine are known to be damaged, so only their intact batches count.
 * @param {import('./walk').Table} table
 * @param {Checked} checked
 * @param {Tally} tally
 * @returns {string} a line, '' = none
 */
function count(table, { row, mended, fault }, tally) {
  const saved = mended?.kept?.records ?? 0;
  if (table === 'quarantine' ? saved === 0 : fault === '') return '';
  tally.faults += 1;
  tally.saved += saved;
  if (table !== 'quarantine') tally.lost += mended ? (mended.rest?.records ?? 0) : row.records;
  return faultLine({ row, mended, body: null, fault: fault || 'in quarantine' }, table);
}

/**
 * Finds all faults, and whether the database itself is malformed.
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {Output} output
 */
async function survey(db, output) {
  /** @type {Tally} */
  const tally = { saved: 0, lost: 0, faults: 0 };
  output.progress(() => 'database: checking');
  const faults = databaseFaults(db);
  for (const fault of faults) await output.line(`database: ${fault}`);
  let isMalformed = faults.length > 0;
  for (const table of /** @type {const} */ (['chunk', 'dead', 'quarantine'])) {
    for (const checked of checkRows(db, table, output)) {
      if (checked.gap) {
        isMalformed = true;
        tally.lost += checked.gap.known.reduce((sum, row) => sum + row.records, 0);
        await output.line(gapLine(checked.gap, table));
      } else {
        if (!checked.mended && checked.fault !== '') isMalformed = true;
        const line = count(table, checked, tally);
        if (line !== '') await output.line(line);
      }
    }
  }
  return { isMalformed, tally };
}

/**
 * Repairs a faulty row.
 * @param {ReturnType<typeof writer>} to
 * @param {Checked} checked a faulty row of table chunk or dead
 * @param {'chunk' | 'dead'} table
 */
function setRight(to, { row, mended, fault }, table) {
  const { kept = null, rest = null } = mended ?? {};
  if (table === 'chunk' && kept) to.replaceChunk(row.id, kept);
  else if (table === 'dead' && kept) {
    to.remove('dead', row.id);
    to.addDead({ ...row, class: kept.class, records: kept.records }, kept.body);
  } else to.remove(table, row.id);
  if (rest) to.addQuarantine(row, { reason: fault, records: rest.records, body: rest.body });
}

/**
 * Moves the intact batches of a row back to the log.
 * @param {ReturnType<typeof writer>} to
 * @param {Checked} checked a row in quarantine that has intact batches
 */
function takeBack(to, { row, mended }) {
  const { kept = null, rest = null } = mended ?? {};
  if (!kept) return;
  to.addChunk(row.id, row.node, kept);
  if (rest) to.replaceQuarantine(row.id, rest);
  else to.remove('quarantine', row.id);
}

/** @param {string} file @param {Output} output */
function repairRows(file, output) {
  const db = openToWrite(file);
  try {
    const to = writer(db);
    // Quarantine first: rows that the other tables add to it need no second check.
    for (const table of /** @type {const} */ (['quarantine', 'chunk', 'dead'])) {
      for (const checked of checkRows(db, table, output)) {
        if (checked.gap) throw new Error(`${file} changed during the repair`);
        if (table === 'quarantine') {
          if (checked.mended?.kept) transact(db, () => takeBack(to, checked));
        } else if (checked.fault !== '') transact(db, () => setRight(to, checked, table));
      }
    }
  } finally {
    db.close();
  }
}

/** @param {Tally} tally */
const counts = ({ saved, lost }) => `${plural(saved, 'record')} recovered from damaged chunks, ${lost} lost`;

/**
 * Extends a truncated file to the size in its header. REQUIRES: no gateway uses it.
 * @param {string} file
 * @param {boolean} isDry
 * @param {Output} output
 * @returns {Promise<boolean>} false: it was not truncated
 */
async function lengthen(file, isDry, output) {
  const missing = isDry ? missingBytes(file) : pad(file);
  if (missing === 0) return false;
  const how = isDry ? 'they would be filled with zeros' : 'they were filled with zeros';
  await output.line(`${path.basename(file)}: the last ${size(missing)} are missing; ${how}`);
  return true;
}

/**
 * @param {string} file
 * @param {boolean} isDry
 * @param {Output} output
 * @returns {Promise<import('node:sqlite').DatabaseSync | null>} null: it is truncated, and stays so
 */
async function openWhole(file, isDry, output) {
  try {
    return openToRead(file);
  } catch (error) {
    // Distinguishes a log in use from a damaged one before anything is written.
    const isDamaged = error instanceof CliError && error.exitCode === EXIT.DAMAGE;
    if (!isDamaged || !(await lengthen(file, isDry, output))) throw error;
    return isDry ? null : openToRead(file);
  }
}

/**
 * Repairs the log itself.
 * @param {string} file
 * @param {boolean} isDry
 * @param {Output} output
 * @returns {Promise<boolean>} true if there was something to repair
 */
async function repairLog(file, isDry, output) {
  const whole = await openWhole(file, isDry, output);
  if (!whole) return true;
  // The survey finds rows by their numbers.
  const { db, isRenumbered } = isDry
    ? { db: whole, isRenumbered: false }
    : await renumbered(whole, file, output);
  let isOpen = true;
  try {
    const { isMalformed, tally } = await survey(db, output);
    if (!isMalformed && tally.faults === 0) return isRenumbered;
    if (isDry) {
      const how = isMalformed ? 'the database would be rebuilt; ' : '';
      await output.line(`${how}${counts(tally)}`);
    } else if (isMalformed) {
      const old = salvage(db, file, output);
      await output.line(`repaired: ${counts(tally)}; the old database was kept as ${old}`);
    } else {
      db.close();
      isOpen = false;
      repairRows(file, output);
      await output.line(`repaired: ${counts(tally)}`);
    }
    return true;
  } finally {
    if (isOpen) db.close();
  }
}

/**
 * @param {import('./open').Place} place
 * @param {{ 'dry-run'?: boolean }} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function repair({ directory, file }, options, output) {
  const isDry = options['dry-run'] === true;
  const isThere = fs.existsSync(file);
  if (!isThere && !isDry) createLog(file, () => {});
  let found = isThere && (await repairLog(file, isDry, output));
  let unread = 0;
  for (const aside of filesAside(directory)) {
    found = true;
    if (isDry) await output.line(`${path.basename(aside)}: readable records would be merged into the log`);
    await lengthen(aside, isDry, output);
    if (!isDry && !(await takeIn(aside, file, output))) unread += 1;
  }
  if (!found) await output.line('nothing to repair');
  if (found && isDry) await output.line('Nothing was changed (--dry-run).');
  return (found && isDry) || unread > 0 ? EXIT.DAMAGE : EXIT.OK;
}

module.exports = { repair };
