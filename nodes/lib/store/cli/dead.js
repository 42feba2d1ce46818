'use strict';
// Lists or changes the dead letters: records that the cloud will never accept.

const { checkRows } = require('./check');
const { openToRead, openToWrite } = require('./open');
const { plural, table, time } = require('../../base/cli/cli-output');
const { writer } = require('./rows');
const { transact } = require('../transact');
const { EXIT } = require('./log-error');
const { faultLine } = require('./verify');

/** @typedef {import('../../base/cli/cli-output').Output} Output */
/** @typedef {import('./walk').Row} Row */
/**
 * @typedef {object} Options
 * @property {number} class 0 = all
 * @property {string} [node]
 * @property {number[]} rows none = all
 * @property {boolean} [requeue]
 * @property {boolean} [delete]
 */

/** Rows changed in one transaction. */
const TURN = 64;

/** @param {Options} options @returns {(row: Row) => boolean} */
const chosen = (options) => (row) =>
  (options.class === 0 || row.class === options.class) &&
  (options.node === undefined || row.node === options.node) &&
  (options.rows.length === 0 || options.rows.includes(row.id));

/**
 * @param {import('node:sqlite').DatabaseSync} db
 * @param {Options} options
 * @param {Output} output
 */
function* letters(db, options, output) {
  for (const checked of checkRows(db, 'dead', output, chosen(options))) if (!checked.gap) yield checked;
}

/**
 * @param {string} file
 * @param {Options} options
 * @param {Output} output
 */
async function list(file, options, output) {
  const db = openToRead(file);
  try {
    const rows = [];
    for (const { row } of letters(db, options, output)) {
      rows.push([row.id, time(row.at), row.node, row.class, row.records, row.code, row.reason].map(String));
    }
    if (rows.length === 0) {
      await output.line('no dead letters');
      return;
    }
    const head = ['row', 'since', 'uplink node', 'class', 'records', 'code', 'reason'];
    for (const line of table(head, rows)) await output.line(line);
  } finally {
    db.close();
  }
}

/**
 * @param {string} file
 * @param {Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function change(file, options, output) {
  openToRead(file).close(); // refuses files that are not logs, without changing them
  const db = openToWrite(file);
  const count = { rows: 0, records: 0, damaged: 0 };
  try {
    const to = writer(db);
    /** @type {import('./check').Checked[]} */
    let turn = [];
    const apply = () => {
      transact(db, () => {
        for (const { row, mended } of turn) {
          to.remove('dead', row.id);
          if (options.requeue && mended?.kept) to.addChunk(null, row.node, mended.kept);
        }
      });
      turn = [];
    };
    for (const checked of letters(db, options, output)) {
      if (options.requeue && checked.fault !== '') {
        count.damaged += 1;
        await output.note(faultLine(checked, 'dead'));
        continue;
      }
      count.rows += 1;
      count.records += checked.row.records;
      turn.push(checked);
      if (turn.length >= TURN) apply();
    }
    apply();
  } finally {
    db.close();
  }
  const done = options.requeue ? 'queued for sending' : 'deleted';
  await output.line(`${plural(count.rows, 'dead letter')} with ${plural(count.records, 'record')} ${done}`);
  if (count.damaged === 0) return EXIT.OK;
  await output.note(`${plural(count.damaged, 'damaged dead letter')} left. Run repair first.`);
  return EXIT.DAMAGE;
}

/**
 * @param {import('./open').Place} place
 * @param {Options} options
 * @param {Output} output
 * @returns {Promise<number>} the exit code
 */
async function dead(place, options, output) {
  if (options.requeue || options.delete) return change(place.file, options, output);
  await list(place.file, options, output);
  return EXIT.OK;
}

module.exports = { dead };
