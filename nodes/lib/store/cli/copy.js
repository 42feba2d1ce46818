'use strict';
// Copies the readable rows of a database into an intact one.

const { checkRows } = require('./check');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {ReturnType<typeof import('./rows').writer>} Writer */
/**
 * Numbers of records. Records that were in quarantine and stay there do not count.
 * @typedef {{ saved: number, lost: number }} Tally
 */

const UNREADABLE = 'cannot be read';

/** @param {Writer} to @param {import('./check').Checked} checked */
function copyQuarantined(to, { row, body, mended }) {
  const { kept = null, rest = null } = mended ?? {};
  if (kept) to.addChunk(row.id, row.node, kept);
  if (kept && !rest) return;
  to.addQuarantine(row, { reason: row.reason, at: row.at, records: row.records, body, ...rest });
}

/**
 * @param {Writer} to
 * @param {import('./check').Checked} checked
 * @param {import('./walk').Table} table
 */
function copyRow(to, checked, table) {
  const { row, mended, fault } = checked;
  if (table === 'quarantine') {
    copyQuarantined(to, checked);
    return;
  }
  const { kept = null, rest = null } = mended ?? {};
  if (kept && table === 'chunk') to.addChunk(row.id, row.node, kept);
  else if (kept) to.addDead({ ...row, class: kept.class, records: kept.records }, kept.body);
  if (rest) to.addQuarantine(row, { reason: fault, records: rest.records, body: rest.body });
  else if (!mended) to.addQuarantine(row, { reason: UNREADABLE, records: row.records, body: null });
}

/**
 * Copies all tables. REQUIRES: within a transaction of `to`.
 * @param {DatabaseSync} from
 * @param {Writer} to
 * @param {import('../../base/cli/cli-output').Output} output
 * @returns {Tally}
 */
function copyAll(from, to, output) {
  const tally = { saved: 0, lost: 0 };
  for (const table of /** @type {const} */ (['chunk', 'dead', 'quarantine'])) {
    for (const checked of checkRows(from, table, output)) {
      const { gap } = checked;
      if (!gap) {
        const { row, mended } = checked;
        copyRow(to, checked, table);
        tally.saved += mended?.kept?.records ?? 0;
        if (table !== 'quarantine') tally.lost += mended ? (mended.rest?.records ?? 0) : row.records;
        continue;
      }
      for (const row of gap.known) {
        to.addQuarantine(row, { reason: UNREADABLE, records: row.records, body: null });
        tally.lost += row.records;
      }
    }
  }
  return tally;
}

module.exports = { copyAll };
