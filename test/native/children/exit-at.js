'use strict';

// Ends its process at the stage of an engine's life that argv[2] names. The parent checks how it ended.

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { Engine, UplinkSource } = require('../../../native');
const { stage, usualPlan, until, connectDevice } = require('../support/addon');

const payload = Buffer.from('{"v":1}');

/** An engine that nothing refers to may close before the process ends. @type {Engine[]} */
const engines = [];

/** @param {() => void} [onDoorbell] */
function start(onDoorbell = () => {}) {
  const engine = new Engine({ workers: 2, memoryMiB: 8 }, onDoorbell);
  engines.push(engine);
  engine.applyPlan(usualPlan());
  return engine;
}

/** @param {Engine} engine @param {number} count */
function push(engine, count) {
  for (let i = 0; i < count; i += 1) engine.push(stage.ingest, `d${i % 9}`, 't', payload, 0, 0, 0, -1, 0);
}

/** @type {Record<string, () => unknown>} runs before the end; it must not keep the process alive */
const stages = {
  'after construct': () => new Engine({ workers: 2 }, () => {}),
  'after applyPlan': () => start(),
  'after listen': () => start().listen(stage.source, { host: '127.0.0.1', port: 0 }),
  'with connected devices': async () => {
    const port = start().listen(stage.source, { host: '127.0.0.1', port: 0 });
    const sockets = await Promise.all([...Array(20).keys()].map((i) => connectDevice(port, `d${i}`)));
    for (const socket of sockets) socket.unref();
  },
  'with held batches': async () => {
    const engine = start();
    push(engine, 5000);
    await until(() => engine.stats().counters.recordsQueued > 0, 'a batch');
  },
  'with records in flight': () => push(start(), 5000),
  'with batches in flight': async () => {
    const engine = start();
    push(engine, 5000);
    const source = new UplinkSource(engine.token, 0, () => {});
    await until(() => source.take(Buffer.alloc(4096), new Float64Array(16)) > 0, 'a batch');
  },
  'with a source in a worker': async () => {
    const engine = start();
    const worker = new Worker(require.resolve('./source-worker'), {
      workerData: { token: engine.token, uplink: 0 }
    });
    await once(worker, 'message');
    push(engine, 5000);
    worker.unref();
  },
  'after close': () => {
    const engine = start();
    push(engine, 100);
    engine.close();
  },
  'in a doorbell': () =>
    new Promise(() => {
      const engine = start(() => process.exit(0));
      const source = usualPlan();
      source.stages[1].messages = true;
      engine.applyPlan(source);
      push(engine, 100);
      setInterval(() => {}, 1000); // the engine alone does not keep Node running
    }),
  'in a doorbell of a source': () =>
    new Promise(() => {
      const engine = start();
      new UplinkSource(engine.token, 0, () => process.exit(0));
      setInterval(() => push(engine, 100), 1);
    }),
  'by an exception in a doorbell': () =>
    new Promise(() => {
      const engine = start();
      new UplinkSource(engine.token, 0, () => {
        throw new Error('planned');
      });
      setInterval(() => push(engine, 100), 1);
    }),
  'by an exception': () => {
    push(start(), 100);
    setImmediate(() => {
      throw new Error('planned');
    });
  }
};

module.exports = { names: Object.keys(stages) };

if (require.main === module) {
  const [, , name, how] = process.argv;
  Promise.resolve(stages[name]()).then(() => {
    if (how === 'exit') process.exit(0);
  });
}
