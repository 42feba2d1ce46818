'use strict';
// Sets shadows in a thread like that of a gateway. Prints the number of each that was acknowledged, and in the end what
// it cost, as JSON.  setter.js FOLDER SHADOWS N

const fs = require('node:fs');
const { ShadowThread } = require('../../../nodes/lib/shadow/shadow-thread');

const CONCURRENCY = 2000;
const READS = 2000;
const [folder, count, n] = process.argv.slice(2);

const rss = () => process.memoryUsage.rss();

async function main() {
  const thread = new ShadowThread(folder, () => {});
  const op = (/** @type {'update' | 'delta'} */ kind, /** @type {string} */ device, text = '') => ({
    kind,
    device,
    text,
    dialect: /** @type {const} */ ('own'),
    deviceDialect: /** @type {const} */ ('own'),
    section: null,
    limits: { maxBytes: 8192, maxDepth: 8, maxShadows: Number(count) },
    wantsChange: false
  });
  await thread.ask(op('delta', 'none'));
  const before = rss();
  const begun = performance.now();
  let next = 0;
  const work = async () => {
    while (next < Number(count)) {
      const number = next++;
      const { status } = await thread.ask(op('update', `dev-${number}`, stateOf(Number(n))));
      if (status !== 200) throw new Error(`status ${status}`);
      process.stdout.write(`${number}\n`);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
  const perS = Math.round(Number(count) / ((performance.now() - begun) / 1000));
  const after = rss();
  const times = [];
  for (let i = 0; i < READS; i++) {
    const at = performance.now();
    await thread.ask(op('delta', `dev-${(i * 7919) % Number(count)}`));
    times.push(performance.now() - at);
  }
  times.sort((a, b) => a - b);
  await thread.stop();
  const { size } = fs.statSync(`${folder}/shadow.db`);
  const figures = { perS, bytes: size, rss: after - before, p50: times[READS / 2], p99: times[READS * 0.99] };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}

/** A state of about 250 bytes. @param {number} value */
function stateOf(value) {
  const limits = { low: 1.5, high: 8.25, unit: 'bar' };
  const schedule = ['06:00', '12:00', '18:00'];
  const desired = { n: value, interval: 60, limits, mode: 'automatic', schedule, note: 'x'.repeat(80) };
  return JSON.stringify({ desired });
}

void main();
