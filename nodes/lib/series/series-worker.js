'use strict';

// Entry of the thread of one series node: one folder.
// In:  {type: 'put', id, batch} · {type: 'ask', id, what, …} · {type: 'stop'}
// Out: {type: 'stored', ids, failure} · {type: 'answer', id, failure, isWrong, value} · {type: 'state', …}
//      {type: 'problem', sentence} · {type: 'stopped'}

const { parentPort, workerData } = require('node:worker_threads');
const { Pacer } = require('./pacer');
const { textOf } = require('./range-text');
const { list, range } = require('./series-reader');
const { SeriesStore } = require('./series-store');

const port = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
const STATE_MS = 1000;

const store = new SeriesStore(workerData.options, (sentence) =>
  port.postMessage({ type: 'problem', sentence })
);
const pacer = new Pacer();
/** @type {{ id: number, batch: import('./series-store').Batch }[]} */
let waiting = [];
let isPlanned = false;

/** Stores everything that has arrived, in one commit. */
function storeWaiting() {
  isPlanned = false;
  const puts = waiting;
  waiting = [];
  if (puts.length === 0) return;
  let failure = '';
  try {
    store.put(puts.map(({ batch }) => batch));
  } catch (error) {
    failure = String(/** @type {any} */ (error)?.message ?? error);
  }
  port.postMessage({ type: 'stored', ids: puts.map(({ id }) => id), failure });
}

/** @type {Record<string, (message: any) => unknown>} */
const ANSWERS = {
  list: ({ page }) => list(store, page, pacer),
  range: async ({ wanted, range: asked, format }) =>
    textOf(await range(store, wanted, asked), format, asked.step > 0, pacer),
  points: async ({ wanted, range: asked }) => {
    const { series, next } = await range(store, [wanted], asked);
    const { ts: times, value: values } = series[0]?.columns ?? {
      ts: new Float64Array(),
      value: new Float64Array()
    };
    return { times, values, next };
  },
  topics: ({ after, limit }) => {
    store.text.flush();
    return store.text.topics(after, limit);
  },
  writeText: () => store.text.flush()
};

/** @param {{ id: number, what: string } & Record<string, unknown>} message */
async function answer({ id, what, ...message }) {
  try {
    const value = await ANSWERS[what](message);
    port.postMessage({ type: 'answer', id, failure: '', isWrong: false, value });
  } catch (error) {
    // Those of Node.js have a code.
    const isWrong = error instanceof RangeError && !('code' in error);
    const { message: failure } = isWrong ? /** @type {Error} */ (error) : store.fault(error);
    port.postMessage({ type: 'answer', id, failure, isWrong });
  }
}

function report() {
  const { retention, text, open } = store;
  port.postMessage({
    type: 'state',
    reason: store.reason,
    series: store.series.size,
    openPoints: open.points,
    bytes: retention.bytes,
    textBytes: text.bytes,
    isFull: retention.isFull,
    counters: { ...store.counters, ...retention.counters, ...text.counters }
  });
}

const second = setInterval(() => {
  store.tick();
  report();
}, STATE_MS);
report();

port.on('message', (message) => {
  if (message.type === 'put') {
    waiting.push(message);
    if (!isPlanned) setImmediate(storeWaiting);
    isPlanned = true;
  } else if (message.type === 'ask') void answer(message);
  else {
    clearInterval(second);
    storeWaiting();
    store.close();
    report();
    port.postMessage({ type: 'stopped' });
    port.close();
  }
});
