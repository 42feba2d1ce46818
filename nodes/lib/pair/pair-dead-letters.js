'use strict';
// Lists the dead letters of a log in PostgreSQL, and sends them again: the same questions and answers as
// nodes/lib/store/dead-letter-service.js. A dead letter that is sent again is moved to the chunks in one statement.

const { MAX_PAGE, firstRecord, noOutcome, pageOf } = require('../store/dead-letters');
const { readChunk } = require('../store/log-chunk');
const { costOf } = require('../store/log-limits');

/** @typedef {import('../store/dead-letters').Outcome} Outcome */
/** @typedef {import('./pair-log').PairLog} PairLog */
/** @typedef {import('./ownership').Use} Use */

/** Between two, other transactions of the log run. */
const TURN_ROWS = 16;

const HEADS = `SELECT id, node, class, at, code, reason, records, length(body)::int AS bytes FROM dead
WHERE log = $1 AND id > $2 ORDER BY id LIMIT $3`;
const HEAD = `SELECT node, class, records, body FROM dead WHERE log = $1 AND id = $2`;
const IDS = 'SELECT id FROM dead WHERE log = $1 AND id > $2 AND id <= $3 ORDER BY id LIMIT $4';
const NEWEST = 'SELECT coalesce(max(id), 0) AS id FROM dead WHERE log = $1';
const MOVE = `WITH mine AS (UPDATE lease SET batch = $3 WHERE log = $1 AND epoch = $2 RETURNING log),
gone AS (DELETE FROM dead USING mine WHERE dead.log = mine.log AND dead.id = $4 RETURNING dead.*)
INSERT INTO chunk SELECT log, $5, node, class, records, length(body), $6, $7, body FROM gone`;

class PairDeadLetters {
  #log;

  /** @param {PairLog} log */
  constructor(log) {
    this.#log = log;
  }

  /**
   * @param {{ after: number, limit: number }} page
   * @returns {Promise<{ letters: import('../store/dead-letters').Letter[], next: number | null }>}
   */
  list({ after, limit }) {
    const most = Math.min(MAX_PAGE, Math.max(1, limit));
    return this.#log.between(async ({ database: { reader }, log }) => {
      const heads = await reader.all(HEADS, log, after, most + 1);
      const letters = [];
      for (const { id, class: recordClass, ...head } of pageOf(heads, most)) {
        const [found] = await reader.rows(HEAD, [log, id]);
        const first = firstRecord(found?.body ?? new Uint8Array(0));
        letters.push({ row: id, class: recordClass, ...head, ...first });
      }
      const next = heads.length > letters.length ? Number(letters.at(-1)?.row) : null;
      return { letters: /** @type {any} */ (letters), next };
    });
  }

  /**
   * Sends dead letters again. Those that cannot be sent stay, and are counted.
   * @param {number[] | null} rows null = all that exist at this moment
   * @param {string[]} nodes uplink nodes of the flow
   * @returns {Promise<Outcome & { failure: string }>} failure: a sentence if the log could not be written, else ''
   */
  async sendAgain(rows, nodes) {
    const sum = { ...noOutcome(), failure: '' };
    const known = new Set(nodes);
    try {
      const next = rows ? given(rows) : await this.#all();
      for (let turn = await next(); turn.length > 0; turn = await next()) {
        await this.#log.between(async (use) => {
          for (const row of turn) await this.#one(use, row, known, sum);
        });
      }
    } catch (error) {
      return { ...sum, failure: /** @type {Error} */ (error).message };
    }
    return sum;
  }

  /** @returns {Promise<() => Promise<number[]>>} returns the next rows; none = the end */
  async #all() {
    // Records that are refused meanwhile are not sent a second time.
    const newest = await this.#log.between(
      async ({ database, log }) => (await database.reader.get(NEWEST, log))?.id
    );
    let after = 0;
    return async () => {
      const found = await this.#log.between(({ database, log }) =>
        database.reader.all(IDS, log, after, newest, TURN_ROWS)
      );
      after = found.at(-1)?.id ?? after;
      return found.map((/** @type {any} */ { id }) => id);
    };
  }

  /**
   * @param {Use} use
   * @param {number} from row
   * @param {Set<string>} nodes
   * @param {Outcome} outcome
   */
  async #one({ database, log, epoch }, from, nodes, outcome) {
    const store = this.#log;
    const [found] = await database.reader.rows(HEAD, [log, from]);
    if (!found) return void outcome.gone++;
    const { node, class: recordClass, records, body } = found;
    if (!nodes.has(node)) return void outcome.strangers++;
    const { error, head, entries } = readChunk(body);
    if (error !== '' || head?.class !== recordClass || head?.records !== records)
      return void outcome.damaged++;
    const cost = costOf(body.length);
    if (store.limits.check(store.usage, recordClass, cost) !== 'fits') return void outcome.noRoom++;
    const row = store.nextRow();
    const times = [
      Math.min(...entries.map(({ firstTs }) => firstTs)),
      Math.max(...entries.map(({ lastTs }) => lastTs))
    ];
    const batch = store.nextBatch();
    const moved = await database.writer.run(MOVE, log, epoch, batch, from, row, ...times);
    if (moved === 0) throw new Error('Another gateway has the log.');
    store.moved({ batch, row, node, recordClass, records, cost, bytes: body.length }, entries);
    outcome.sent++;
    outcome.records += records;
  }
}

/** @param {number[]} rows @returns {() => Promise<number[]>} */
function given(rows) {
  const rest = [...new Set(rows)].sort((a, b) => a - b);
  return async () => rest.splice(0, TURN_ROWS);
}

exports.PairDeadLetters = PairDeadLetters;
