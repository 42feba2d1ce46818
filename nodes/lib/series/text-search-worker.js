'use strict';

// Entry of the thread that searches the records of one series node, so that records are stored meanwhile. It opens the
// database for each search: it may have been replaced.
// In:  {type: 'ask', id, input: {question, partMs}}
// Out: {type: 'begin', id} · {type: 'answer', id, value | failure: {message, isWrong}}

const path = require('node:path');
const { parentPort, workerData } = require('node:worker_threads');
const { DatabaseSync } = require('../store/sqlite');
const { FILE } = require('./series-database');
const { searchText } = require('./text-search');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const file = path.join(workerData.directory, FILE);

/** @param {{ question: import('./text-search').Question, partMs: number }} input */
function search({ question, partMs }) {
  const db = new DatabaseSync(file, { readOnly: true, timeout: 500 });
  try {
    db.exec('PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;');
    return searchText(db, question, partMs);
  } finally {
    db.close();
  }
}

port.on('message', ({ id, input }) => {
  port.postMessage({ type: 'begin', id });
  try {
    port.postMessage({ type: 'answer', id, value: search(input) });
  } catch (error) {
    const message = String(/** @type {any} */ (error)?.message ?? error);
    // Those of Node.js have a code.
    const isWrong = error instanceof RangeError && !('code' in error);
    port.postMessage({ type: 'answer', id, failure: { message, isWrong } });
  }
});
