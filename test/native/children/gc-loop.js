'use strict';

// Creates and drops engines and sources without close(); run with --expose-gc. Ends with 1 when they leave something.

const assert = require('node:assert/strict');
const { setImmediate: turn } = require('node:timers/promises');
const { Engine, UplinkSource } = require('../../../native');
const { usualPlan, threadCount } = require('../support/addon');

const MiB = 1 << 20;

/** Nothing here may refer to the engine: a doorbell that does would keep it alive. */
const ignore = () => {};

/** @param {number} count */
async function createAndDrop(count) {
  for (let i = 0; i < count; i += 1) {
    const engine = new Engine({ workers: 2, messageRingMiB: 4 }, ignore);
    engine.applyPlan(usualPlan());
    engine.listen(1, { host: '127.0.0.1', port: 0 });
    engine.push(2, 'd', 't', Buffer.from('1'), 0, 0, 0, -1, 0);
    const source = new UplinkSource(engine.token, 0, ignore);
    if (i % 3 === 0) source.close();
    if (i % 5 === 0) engine.close();
    if (i % 5 === 4) {
      globalThis.gc?.();
      await turn();
    }
  }
  for (let i = 0; i < 5; i += 1) {
    globalThis.gc?.();
    await turn();
  }
}

async function main() {
  await createAndDrop(20);
  const threads = threadCount();
  const rss = process.memoryUsage().rss;
  await createAndDrop(100);
  assert.ok(threadCount() <= threads + 3, `threads: ${threads} → ${threadCount()}`);
  const grown = (process.memoryUsage().rss - rss) / MiB;
  assert.ok(grown < 40, `memory grew by ${grown.toFixed(0)} MiB in 100 engines`);
}

main();
