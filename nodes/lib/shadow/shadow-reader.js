'use strict';

// Entry of the thread that reads the shadows of one engine, so that no read waits for a commit.
// In:  {type: 'ops', ops} of kinds 'get' and 'delta' · {type: 'stop'}
// Out: {type: 'read', results, unread, counters}; unread: ids of those that the other thread must read

const { parentPort, workerData } = require('node:worker_threads');
const { Gate } = require('./gate');
const { ReadFile, Unreadable } = require('./read-file');
const { ShadowDesk } = require('./shadow-desk');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
/** Reads that are answered together: the first of many need not wait for all. */
const TOGETHER = 64;

const file = new ReadFile(workerData.directory, new Gate(workerData.gate));
const desk = new ShadowDesk(file);

/** @param {import('./shadow-desk').Op[]} ops */
function read(ops) {
  /** @type {import('./shadow-desk').Result[]} */
  const results = [];
  /** @type {number[]} */
  const unread = [];
  for (const op of ops) {
    try {
      results.push(...desk.read([op]));
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      unread.push(op.id);
    }
  }
  port.postMessage({ type: 'read', results, unread, counters: desk.counters });
}

port.on('message', ({ type, ops }) => {
  if (type === 'ops') for (let i = 0; i < ops.length; i += TOGETHER) read(ops.slice(i, i + TOGETHER));
  else {
    file.close();
    port.close();
  }
});
