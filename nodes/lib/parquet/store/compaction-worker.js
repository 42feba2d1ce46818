'use strict';

// Entry of the thread that merges files. It changes no manifest.
// In:  a task · null: end
// Out: {run, repeated} · {failure, code}

const { parentPort, workerData } = require('node:worker_threads');
const { loadLibrary } = require('../files/writer-package');
const { mergeRuns } = require('./compaction');
const { storeOf } = require('./store-of');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const store = storeOf(workerData.options);

port.on('message', async (task) => {
  if (task === null) return port.close();
  try {
    port.postMessage(await mergeRuns(store, loadLibrary(), task));
  } catch (error) {
    const { message: failure, code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
    port.postMessage({ failure, code });
  }
});
