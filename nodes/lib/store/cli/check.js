'use strict';
// Finds the faults that verify and repair handle: faults of the database, unreadable rows, damaged chunks.

const { mend } = require('./mend');
const { plural, size } = require('../../base/cli/cli-output');
const { isDamage } = require('./sqlite');
const { wildRows } = require('./row-numbers');
const { Walk } = require('./walk');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {import('./walk').Row} Row */
/** @typedef {import('./walk').Table} Table */
/** @typedef {import('./mend').Mended} Mended */

const MOST_FAULTS = 100;

/**
 * Runs SQLite's own check, including the index: a chunk that the index does not contain would never be sent.
 * @param {DatabaseSync} db
 * @returns {string[]} faults
 */
function databaseFaults(db) {
  try {
    const faults = db
      .prepare(`PRAGMA integrity_check(${MOST_FAULTS})`)
      .all()
      .map((row) => String(row.integrity_check))
      .filter((fault) => fault !== 'ok')
      .flatMap((fault) => fault.split('\n'))
      .filter((line) => line !== '' && !line.startsWith('***'));
    return [...faults, ...wildRows(db)];
  } catch (error) {
    if (!isDamage(error)) throw error;
    return [/** @type {Error} */ (error).message];
  }
}

/**
 * A row whose chunk was checked; `mended` is null when its bytes are unreadable. A gap has no row.
 * @typedef {{ row: Row, body: Buffer | null, mended: Mended | null, fault: string, gap?: undefined }} Checked
 */

/**
 * @param {Table} table
 * @param {Row} row
 * @param {Mended} mended
 */
function faultOf(table, row, mended) {
  if (mended.error !== '') return mended.error;
  const { kept } = mended;
  if (table === 'quarantine' || !kept) return '';
  if (kept.class !== row.class) return `contains class ${kept.class}, but its row says ${row.class}`;
  if (kept.records !== row.records)
    return `contains ${plural(kept.records, 'record')}, but its row says ${row.records}`;
  if (table === 'chunk' && ![row.bytes, row.firstTs, row.lastTs].every(Number.isSafeInteger))
    return 'has a size or a time in its row that no log contains';
  return '';
}

/**
 * @param {DatabaseSync} db
 * @param {Table} table
 * @param {import('../../base/cli/cli-output').Output} output shows progress
 * @param {(row: Row) => boolean} [wanted] selects the rows to check
 * @returns {Generator<Checked | { gap: import('./walk').Gap }>}
 */
function* checkRows(db, table, output, wanted = () => true) {
  const walk = new Walk(db, table);
  let rows = 0;
  let bytes = 0;
  for (const { row, gap } of walk) {
    if (gap) {
      yield { gap };
      continue;
    }
    if (!wanted(row)) continue;
    const body = walk.bodyOf(row.id);
    rows += 1;
    bytes += body?.length ?? 0;
    output.progress(() => `${table}: ${plural(rows, 'row')}, ${size(bytes)} checked`);
    if (body) {
      const mended = mend(body, row);
      yield { row, body, mended, fault: faultOf(table, row, mended) };
    } else {
      // Rows that were unreadable when they were moved to quarantine have no body.
      const unread = body === null && table === 'quarantine';
      yield { row, body: null, mended: null, fault: unread ? '' : 'cannot be read' };
    }
  }
}

module.exports = { databaseFaults, checkRows };
