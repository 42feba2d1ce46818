'use strict';

// Entry of the thread of a region's presence topic.
// In:  {type: 'publish', records} · {type: 'stop', timeoutMs}
// Out: {type: 'records', records, isCaughtUp} · {type: 'state', state, code, reason, isCaughtUp, waiting, attempts}
//      · {type: 'warning', sentence} · {type: 'stopped'}

const { parentPort, workerData } = require('node:worker_threads');
const { loadClient } = require('../../kafka/uplink/client');
const { PresenceLog } = require('./presence-log');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const STATE_MS = 1000;

const log = new PresenceLog(workerData.options, {
  load: loadClient,
  records: (records, isCaughtUp) => port.postMessage({ type: 'records', records, isCaughtUp }),
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
