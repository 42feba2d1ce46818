'use strict';

// A worker_threads Worker that serves an uplink, as the uplink's thread does: takes batches and acknowledges them.

const { parentPort, workerData } = require('node:worker_threads');
const { UplinkSource } = require('../../../native');

const into = Buffer.alloc(1 << 16);
const meta = new Float64Array(16);
let records = 0;

const source = new UplinkSource(workerData.token, workerData.uplink, () => {
  while (source.take(into, meta) > 0) {
    records += meta[2];
    if (!workerData.keep) source.release(meta[0]);
  }
  parentPort?.postMessage(records);
});
setInterval(() => {}, 1000); // until it is terminated
