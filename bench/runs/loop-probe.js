'use strict';
// Blocks Node-RED's event loop like a badly written function node, and proves that it was blocked.

const { sleep } = require('./stage');

/**
 * Returns nodes in addition to the gateway's flow: an inject node that repeatedly makes a function node busy-wait.
 * @param {number} blockMs @param {number} everyS from the start of one block to the next
 */
function blockingNodes(blockMs, everyS) {
  return [
    { id: 'bench-tab', type: 'tab', label: 'blocks' },
    {
      id: 'bench-inject',
      type: 'inject',
      z: 'bench-tab',
      props: [{ p: 'payload' }],
      payload: '',
      payloadType: 'date',
      repeat: String(everyS),
      once: true,
      onceDelay: '1',
      wires: [['bench-block']]
    },
    {
      id: 'bench-block',
      type: 'function',
      z: 'bench-tab',
      // With the time, because the log counts identical messages instead of repeating them.
      func: `const end = Date.now() + ${blockMs};\nwhile (Date.now() < end);\nnode.warn('blocked ${blockMs} ms until ' + end);`,
      outputs: 0,
      wires: []
    }
  ];
}

/** @param {string} output of the gateway @returns {number} number of blocks */
const blocksIn = (output) => (output.match(/blocked \d+ ms/g) ?? []).length;

/**
 * Repeatedly calls the admin API, which the event loop answers: the longest answer shows the longest block that a
 * request met.
 * @param {import('../harness/bench-gateway').BenchGateway} gateway @param {number} untilMs
 * @param {number} [everyMs] from an answer to the next request
 */
async function answerTimes(gateway, untilMs, everyMs = 100) {
  const url = `http://127.0.0.1:${gateway.editorPort}/seganet/engines/none/stats`; // 404: it reads no counters
  /** @type {number[]} */
  const times = [];
  while (Date.now() < untilMs) {
    const since = Date.now();
    const response = await fetch(url, { signal: AbortSignal.timeout(30000) });
    await response.arrayBuffer();
    times.push(Date.now() - since);
    await sleep(everyMs);
  }
  return times;
}

module.exports = { blockingNodes, blocksIn, answerTimes };
