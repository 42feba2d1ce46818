'use strict';

const { readChunk } = require('./log-chunk');

/** Rows checked in one step. */
const ROWS = 64;

/**
 * Compares the rows of earlier runs with the index, a few rows each second. Uplink node and class have no checksum, and
 * a row with a wrong one would wait for a node that does not exist. But they are stored twice, in the row and in the
 * index, and damage hits only one of the two.
 */
class RowCheck {
  /** @param {(code: string, reason: string) => void} problem */
  constructor(problem) {
    this.problem = problem;
    this.after = 0;
    this.upTo = 0;
  }

  /** Starts at the first row. @param {number} upTo the last row */
  start(upTo) {
    this.after = 0;
    this.upTo = upTo;
  }

  /**
   * Checks the next rows. Throws the errors of SQLite.
   * @param {import('./log-database').Database} database
   * @returns {boolean} true if a row was corrected
   */
  step(database) {
    const { laneOfRows, isInLane } = database.statements;
    const rows = this.after < this.upTo ? laneOfRows.all(this.after, this.upTo, ROWS) : [];
    let isMended = false;
    for (const row of rows) {
      this.after = Number(row.id);
      if (isInLane.get(row.node, row.class, row.id)) continue;
      this.#mend(database, row);
      isMended = true;
    }
    if (rows.length < ROWS) this.after = this.upTo;
    return isMended;
  }

  /** @param {import('./log-database').Database} database @param {any} row */
  #mend(database, row) {
    const { laneInIndex, chunksOfNode, body } = database.statements;
    const inIndex = laneInIndex.get(row.id);
    const count = (/** @type {unknown} */ node) => Number(chunksOfNode.get(String(node))?.count ?? 0);
    // The right node has other chunks, too.
    const node = inIndex && count(inIndex.node) > count(row.node) ? inIndex.node : row.node;
    const chunk = /** @type {Uint8Array | undefined} */ (body.get(row.id)?.body);
    const recordClass = (chunk && readChunk(chunk).head?.class) ?? row.class;
    database.setLane(Number(row.id), String(node), Number(recordClass));
    this.problem(
      'ROW_DAMAGED',
      `A row of the log was damaged: the index assigns it to uplink node ${inIndex?.node ?? 'unknown'}, the row itself to ${row.node}. It now belongs to ${node} and is sent after the next start at the latest. Check for disk errors (dmesg).`
    );
  }
}

exports.RowCheck = RowCheck;
