'use strict';
// The thread of StoreThread: runs the operations on the SQLite file.

const { parentPort, workerData } = require('node:worker_threads');
const { SqliteStore } = require('./sqlite-store');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);

/** @type {SqliteStore | null} */
let store = null;
try {
  store = new SqliteStore(workerData.file);
  port.postMessage({ kind: 'ready' });
} catch (error) {
  port.postMessage({ kind: 'failed', reason: /** @type {Error} */ (error).message });
  port.close();
}

/**
 * @param {SqliteStore} open
 * @param {{ kind: string, name: any, input: any }} call
 * @returns {Promise<unknown>}
 */
function run(open, { kind, name, input }) {
  if (kind === 'read') return open.read(name, input);
  if (kind === 'write') return open.write(name, input);
  return open.takeChanges();
}

port.on('message', async (call) => {
  if (!store) return;
  if (call.kind === 'end') {
    await store.close();
    port.close();
    return;
  }
  try {
    port.postMessage({ kind: 'done', id: call.id, result: await run(store, call) });
  } catch (error) {
    const { message, code } = /** @type {Error & { code?: string }} */ (error);
    port.postMessage({ kind: 'error', id: call.id, message, code });
  }
});
