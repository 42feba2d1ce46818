'use strict';

// A worker_threads Worker with its own engine, busy until it is terminated.

const { parentPort } = require('node:worker_threads');
const { Engine } = require('../../../native');
const { stage, usualPlan } = require('../support/addon');

const frames = Buffer.alloc(1 << 16);
const engine = new Engine({ workers: 1, memoryMiB: 4, messageRingMiB: 4 }, () => {
  while (engine.takeMessages(frames) > 0);
});
const plan = usualPlan();
plan.stages[1].messages = true;
engine.applyPlan(plan);
engine.listen(stage.source, { host: '127.0.0.1', port: 0 });
setInterval(() => {
  for (let i = 0; i < 100; i += 1) engine.push(stage.ingest, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, 0);
}, 1);
parentPort?.postMessage('busy');
