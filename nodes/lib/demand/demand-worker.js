'use strict';
// Entry of the thread that writes the questions of one engine.
// In:  {type: 'write', id, changes} · {type: 'stop'}
// Out: {id, failure, isLost}  failure: '' = the changes are on disk; isLost: a new file begins

const { parentPort, workerData } = require('node:worker_threads');
const { DemandFile, LostFile } = require('./demand-file');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const file = new DemandFile(workerData.directory);

port.on('message', ({ type, id, changes }) => {
  if (type === 'stop') {
    file.close();
    return port.close();
  }
  let failure = '';
  let isLost = false;
  try {
    file.write(changes);
  } catch (error) {
    failure = /** @type {Error} */ (error).message || 'unknown error';
    isLost = error instanceof LostFile;
  }
  port.postMessage({ id, failure, isLost });
});
