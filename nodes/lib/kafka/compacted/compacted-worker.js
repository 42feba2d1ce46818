'use strict';

// Entry of the thread that reads and writes compacted topics.
// In:  {type: 'publish', records} · {type: 'stop', timeoutMs}
// Out: {type: 'records', records, isCaughtUp} · {type: 'written', records} · {type: 'tooLarge', record}
//      · {type: 'state', state, code, reason, isCaughtUp, waiting, attempts} · {type: 'warning', sentence}
//      · {type: 'stopped'}

const { parentPort, workerData } = require('node:worker_threads');
const { loadClient } = require('../uplink/client');
const { CompactedLog } = require('./compacted-log');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const STATE_MS = 1000;

const log = new CompactedLog(workerData.options, {
  load: loadClient,
  records: (records, isCaughtUp) => port.postMessage({ type: 'records', records, isCaughtUp }),
  written: (records) =>
    port.postMessage({ type: 'written', records: records.map(({ topic, key }) => ({ topic, key })) }),
  tooLarge: ({ topic, key }) => port.postMessage({ type: 'tooLarge', record: { topic, key } }),
  onState: report,
  warn: (sentence) => port.postMessage({ type: 'warning', sentence })
});
const timer = setInterval(report, STATE_MS);

function report() {
  const { state, why, isCaughtUp, waiting, attempts } = log;
  const [code, reason] = [why?.code ?? '', why?.reason ?? ''];
  port.postMessage({ type: 'state', state, code, reason, isCaughtUp, waiting, attempts });
}

/** @param {number} timeoutMs */
async function stop(timeoutMs) {
  clearInterval(timer);
  await log.stop(timeoutMs);
  port.postMessage({ type: 'stopped' });
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'publish') log.publish(message.records);
  else if (message.type === 'stop') void stop(message.timeoutMs);
});

log.start();
