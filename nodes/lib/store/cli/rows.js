'use strict';
// Changes that repair and dead make to the tables.

const { INSERT } = require('../log-schema');

/** @typedef {import('node:sqlite').DatabaseSync} DatabaseSync */
/** @typedef {import('./walk').Row} Row */
/** @typedef {NonNullable<import('./mend').Mended['kept']>} Kept */

/** @param {DatabaseSync} db */
function writer(db) {
  const insertChunk = db.prepare(INSERT.chunk);
  const updateChunk = db.prepare(
    'UPDATE chunk SET class = ?, records = ?, bytes = ?, first_ts = ?, last_ts = ?, body = ? WHERE id = ?'
  );
  const insertDead = db.prepare(INSERT.dead);
  const insertQuarantine = db.prepare(INSERT.quarantine);
  const updateQuarantine = db.prepare('UPDATE quarantine SET records = ?, body = ? WHERE id = ?');
  const last = db.prepare(
    `SELECT max(ifnull((SELECT max(id) FROM chunk), 0), ifnull((SELECT max(id) FROM dead), 0),
      ifnull((SELECT max(id) FROM quarantine), 0)) AS id`
  );
  const taken = {
    chunk: db.prepare('SELECT 1 FROM chunk WHERE id = ?'),
    dead: db.prepare('SELECT 1 FROM dead WHERE id = ?'),
    quarantine: db.prepare('SELECT 1 FROM quarantine WHERE id = ?')
  };
  /**
   * Returns a free row number.
   * @param {import('./walk').Table} table
   * @param {number | null} id preferred number, null = any
   */
  const free = (table, id) => (id === null || taken[table].get(id) ? Number(last.get()?.id) + 1 : id);

  return {
    /**
     * Adds a chunk under its former number, which is its place in the order, unless that number is taken.
     * @param {number | null} id
     * @param {string} node
     * @param {Kept} kept
     */
    addChunk(id, node, { body, class: cls, records, firstTs, lastTs }) {
      insertChunk.run(free('chunk', id), node, cls, records, body.length, firstTs, lastTs, body);
    },
    /**
     * Replaces a chunk. It keeps its number, and therefore its place in the order.
     * @param {number} id
     * @param {Kept} kept
     */
    replaceChunk(id, { body, class: cls, records, firstTs, lastTs }) {
      updateChunk.run(cls, records, body.length, firstTs, lastTs, body, id);
    },
    /** @param {Row} row @param {Buffer} body */
    addDead(row, body) {
      insertDead.run(
        free('dead', row.id),
        row.node,
        row.class,
        row.at,
        row.code,
        row.reason,
        row.records,
        body
      );
    },
    /** @param {Row} row @param {{ reason: string, records: number, body: Buffer | null, at?: number }} lost */
    addQuarantine(row, { reason, records, body, at = Date.now() }) {
      insertQuarantine.run(free('quarantine', row.id), row.node, row.class, at, reason, records, body);
    },
    /** @param {number} id @param {{ records: number, body: Buffer }} rest */
    replaceQuarantine(id, { records, body }) {
      updateQuarantine.run(records, body, id);
    },
    /** @param {import('./walk').Table} table @param {number} id */
    remove(table, id) {
      db.prepare(`DELETE FROM ${table} WHERE id = ?`).run(id);
    }
  };
}

module.exports = { writer };
