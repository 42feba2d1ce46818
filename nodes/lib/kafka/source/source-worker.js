'use strict';

// Entry of the thread of a kafka source: one consumer of a group.
// In:  {type: 'done', ids} records that are safe · {type: 'again'} a record was not taken: read again from the last
//      commit · {type: 'hold', isHeld} · {type: 'stop', timeoutMs}
// Out: {type: 'records', records} · {type: 'state', state, code, reason, waits, consumer} · {type: 'stopped'}

const { parentPort, workerData } = require('node:worker_threads');
const { Consuming } = require('./consuming');
const { loadClient } = require('../uplink/client');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const STATE_MS = 1000;
const POLL_MS = 20;

const consuming = new Consuming(workerData.options, {
  load: loadClient,
  records: (records) => port.postMessage({ type: 'records', records }),
  onState: report
});
const timer = setInterval(report, STATE_MS);

function report() {
  const { state, why, waits } = consuming;
  const [code, reason] = [why?.code ?? '', why?.reason ?? ''];
  port.postMessage({ type: 'state', state, code, reason, waits, consumer: consuming.figures() });
}

/** Waits for the records that were handed over, and commits them. @param {number} timeoutMs */
async function stop(timeoutMs) {
  consuming.hold(true);
  const until = performance.now() + timeoutMs;
  while (consuming.state === 'connected' && consuming.offsets.size > 0 && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  clearInterval(timer);
  await consuming.stop(Math.max(POLL_MS, until - performance.now()));
  port.postMessage({ type: 'stopped' });
  port.close();
}

port.on('message', (message) => {
  if (message.type === 'done') consuming.done(message.ids);
  else if (message.type === 'again') consuming.again();
  else if (message.type === 'hold') consuming.hold(message.isHeld);
  else if (message.type === 'stop') void stop(message.timeoutMs);
});

consuming.start();
