'use strict';
// Blocks Node-RED's event loop as a bad function node does, and proves that it was blocked.

const { sleep } = require('./stage');

/**
 * Nodes beside the gateway's flow: one inject node that makes a function node wait busily again and again.
 * @param {number} blockMs @param {number} everyS from one beginning to the next
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
      func: `const end = Date.now() + ${blockMs};\nwhile (Date.now() < end);\nnode.warn('blocked ${blockMs} ms');`,
      outputs: 0,
      wires: []
    }
  ];
}

/** @param {string} output of the gateway @returns {number} how often it was blocked */
const blocksIn = (output) => (output.match(/blocked \d+ ms/g) ?? []).length;

/**
 * Asks the admin API again and again, which the event loop answers: the longest answer is the longest block that a
 * question met.
 * @param {import('../harness/bench-gateway').BenchGateway} gateway @param {number} untilMs
 * @param {number} [everyMs] from an answer to the next question
 */
async function answerTimes(gateway, untilMs, everyMs = 100) {
  const url = `http://127.0.0.1:${gateway.editorPort}/seganet/engines/none/stats`; // 404: no counter is read for it
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
