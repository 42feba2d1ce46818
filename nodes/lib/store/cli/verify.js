'use strict';

const path = require('node:path');
const { filesAside } = require('./aside');
const { checkRows, databaseFaults } = require('./check');
const { openToRead } = require('./open');
const { plural } = require('../../base/cli/cli-output');
const { EXIT } = require('./log-error');

/** @param {import('./walk').Gap} gap @param {string} table */
function gapLine({ after, before, known }, table) {
  const where = before === Infinity ? `after row ${after}` : `between rows ${after} and ${before}`;
  const records = known.reduce((sum, row) => sum + row.records, 0);
  const contents = known.length > 0 ? ` (${plural(known.length, 'row')}, ${plural(records, 'record')})` : '';
  return `${table}: rows ${where} cannot be read${contents}`;
}

/** @param {import('./check').Checked} checked @param {string} table */
function faultLine({ row, mended, fault }, table) {
  const sound = mended?.kept?.records ?? 0;
  return (
    `${table} ${row.id}: ${fault} (node ${row.node}, class ${row.class}); ` +
    `${sound} of ${plural(row.records, 'record')} ${sound === 1 ? 'is' : 'are'} intact`
  );
}

/**
 * @param {import('./open').Place} place @param {{}} _options @param {import('../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function verify(place, _options, output) {
  const db = openToRead(place.file);
  const count = { chunk: 0, dead: 0, records: 0, faults: 0 };
  try {
    output.progress(() => `database: checking ${place.file}`);
    for (const fault of databaseFaults(db)) {
      count.faults += 1;
      await output.line(`database: ${fault}`);
    }
    for (const table of /** @type {const} */ (['chunk', 'dead'])) {
      for (const checked of checkRows(db, table, output)) {
        if (checked.gap) {
          count.faults += 1;
          await output.line(gapLine(checked.gap, table));
          continue;
        }
        count[table] += 1;
        count.records += checked.row.records;
        if (checked.fault === '') continue;
        count.faults += 1;
        await output.line(faultLine(checked, table));
      }
    }
    for (const aside of filesAside(place.directory)) {
      if (aside === place.file) continue;
      count.faults += 1;
      await output.line(
        `${path.basename(aside)}: a damaged log that was set aside; its records are not in this log`
      );
    }
    const quarantine = Number(db.prepare('SELECT count(*) AS n FROM quarantine').get()?.n);
    await output.line(
      `${plural(count.chunk, 'chunk')} and ${plural(count.dead, 'dead letter')} with ${plural(count.records, 'record')}: ` +
        (count.faults === 0 ? 'all intact' : `${plural(count.faults, 'fault')}`)
    );
    if (quarantine > 0) await output.line(`${plural(quarantine, 'row')} in quarantine`);
  } finally {
    db.close();
  }
  if (count.faults === 0) return EXIT.OK;
  await output.note(`The log is damaged. Stop the gateway and run: seganet-log repair ${place.directory}`);
  return EXIT.DAMAGE;
}

module.exports = { verify, gapLine, faultLine };
