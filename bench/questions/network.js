'use strict';
// Measures latency and shares on a full line under each scheme of seganet-net: messages of 200 B every 20 ms on
// connections with different marks, beside four connections that fill the line and one of the bulk band that could fill
// it. Needs root, tc and Python.
// node bench/questions/network.js [--seconds 10] [--rates 2mbit,31mbit] [--schemes htb,tbf-pfifo_fast]

const { parseArgs } = require('node:util');
const { table } = require('../../nodes/lib/base/cli/cli-output');
const { Lab } = require('../harness/net-lab');

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    rates: { type: 'string', default: '2mbit,31mbit' },
    schemes: { type: 'string', default: 'none,htb,tbf-pfifo_fast' }
  }
});

const EF = 46 << 2;
const fill = { fills: true };
const connections = {
  fill1: fill,
  fill2: fill,
  fill3: fill,
  fill4: fill,
  bulk: { fills: true, priority: 2 },
  both: { tos: EF, priority: 6 },
  dscp: { tos: EF, priority: 0 },
  priority: { priority: 6 },
  unmarked: {}
};

/** @param {Lab} lab @param {string} scheme none = one queue @param {string} rate */
function setUp(lab, scheme, rate) {
  if (scheme === 'none') {
    lab.tc('qdisc', 'add', 'dev', 'up0', 'root', 'tbf', 'rate', rate, 'burst', '15k', 'latency', '100ms');
    return;
  }
  const { code, err } = lab.net('apply', '--rate', rate, '--scheme', scheme);
  if (code !== 0) throw new Error(err);
}

/** @param {string} scheme @param {string} rate @returns {Promise<string[]>} */
async function measure(scheme, rate) {
  const lab = new Lab();
  try {
    setUp(lab, scheme, rate);
    const seconds = Number(values.seconds);
    const result = await lab.race(connections, seconds);
    const latency = (/** @type {string} */ name) => {
      const of = result[name];
      return of?.count > 0 ? `${of.medianMs.toFixed(1)} / ${of.p99Ms.toFixed(1)}` : '–';
    };
    const mbit = (/** @type {string[]} */ ...names) =>
      ((names.reduce((sum, name) => sum + (result[name]?.bytes ?? 0), 0) * 8) / seconds / 1e6).toFixed(2);
    return [
      ...[rate, scheme, latency('both'), latency('priority'), latency('dscp'), latency('unmarked')],
      ...[mbit('fill1', 'fill2', 'fill3', 'fill4'), mbit('bulk')]
    ];
  } finally {
    lab.remove();
  }
}

async function main() {
  const head = [
    'rate',
    'scheme',
    'SO_PRIORITY 6 and EF',
    'SO_PRIORITY 6',
    'EF',
    'unmarked',
    'normal Mbit/s',
    'bulk Mbit/s'
  ];
  const rows = [];
  for (const rate of values.rates.split(',')) {
    for (const scheme of values.schemes.split(',')) rows.push(await measure(scheme, rate));
  }
  console.log('latency in ms: median / 99th percentile');
  for (const line of table(head, rows)) console.log(line);
}

main();
