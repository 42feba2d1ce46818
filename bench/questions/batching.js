'use strict';
// Compares adaptive batches with the limits n, m, t alone, from a few records per second to many.
//   node bench/questions/batching.js --help

const { measure } = require('../runs/measure');
const { readOptions, fail } = require('../options/options');
const { turned, medians, ratioCells } = require('../report/pairs');
const { between } = require('../harness/relay');
const { conditions, markdown, list, save, badLines } = require('../report/report');

const intro = `Usage: node bench/questions/batching.js [options]

Runs the same load with batches sealed by their limits alone (seganet-batch.flush=limits: 50 devices, 1,024 bytes,
1,000 ms) and with batches sealed as soon as the uplink has room (adaptive). A relay between gateway and cloud
counts TLS records, bytes and TCP segments. It announces segments of 1,460 bytes, as on Ethernet, and its delay is
part of every latency. With fewer than 50 devices the limits do not batch.
Bytes are those of the TLS stream; 'IP bytes' adds the IP and TCP headers of every segment, including ACKs.
Use --cells instead of --devices and --rate.`;

/** @type {Record<string, Record<string, string>>} */
const variants = {
  limits: { 'seganet-batch.flush': 'limits' },
  adaptive: { 'seganet-batch.flush': 'adaptive', 'seganet-batch.gapMs': '4' }
};
const names = Object.keys(variants);

/** @typedef {{devices: number, rate: number, label: string}} Cell */

/** @param {string} text such as 10x1,1000x10 @returns {Cell[]} */
function readCells(text) {
  return text.split(',').map((part) => {
    const [, devices, rate] = (part.match(/^(\d+)x(\d+(?:\.\d+)?)$/) ?? []).map(Number);
    if (!(devices >= 1 && devices <= 20000 && rate >= 0.05)) {
      fail(`--cells must be a list of DEVICESxRATE such as 10x1,1000x10, not '${part}'`);
    }
    return { devices, rate, label: `${devices} × ${rate}/s` };
  });
}

/** @typedef {import('../report/pairs').VariantRun & {cell: string, traffic: ReturnType<typeof between>}} Run */

/** @param {'normal' | 'alarm'} kind @param {'p50' | 'p99'} field @returns {(run: Run) => number | undefined} ms */
const latency = (kind, field) => (run) => {
  const summary = run.arrived.latencyUs[kind];
  return summary.count ? summary[field] / 1000 : undefined;
};
/**
 * @param {'up' | 'down'} way @param {'bytes' | 'records' | 'segments' | 'ipBytes'} field
 * @returns {(run: Run) => number}
 */
const each = (way, field) => (run) => run.traffic[way][field] / run.arrived.unique;

/** @type {[string, (run: Run) => number | undefined, number][]} */
const compared = [
  ['class 3 p50 ms', latency('normal', 'p50'), 1],
  ['class 3 p99 ms', latency('normal', 'p99'), 1],
  ['class 1 p50 ms', latency('alarm', 'p50'), 2],
  ['class 1 p99 ms', latency('alarm', 'p99'), 2],
  ['CPU µs/msg', (run) => (run.cores * 1e6 * run.seconds) / run.sent.sent, 1],
  ['TLS records/msg', each('up', 'records'), 3],
  ['TLS bytes/msg', each('up', 'bytes'), 0],
  ['IP bytes/msg', each('up', 'ipBytes'), 0],
  ['segments/msg', each('up', 'segments'), 3],
  ['IP bytes/msg down', each('down', 'ipBytes'), 0]
];

/** @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['records/publish', (run) => run.arrived.records / run.arrived.publishes, 1],
  ['lost', (run) => run.verdict?.lost, 0],
  ['dup', (run) => run.arrived.duplicates, 0],
  ['bad lines', badLines, 0],
  ['late sends', (run) => run.sent.late, 0]
];

/** @param {Run[]} runs @param {Cell[]} cells */
function tables(runs, cells) {
  const all = [...compared, ...plain];
  /** @param {Cell} cell */
  const of = (cell) => runs.filter((run) => run.cell === cell.label);
  const rows = cells.flatMap((cell) =>
    names.map((name) => [cell.label, name, ...medians(of(cell), name, all)])
  );
  const pairs = cells.map((cell) => [
    cell.label,
    ...ratioCells(of(cell), 'adaptive', 'limits', [...compared, plain[0]])
  ]);
  const titles = all.map(([title]) => title);
  const first = markdown(['devices × rate', 'flush', ...titles], rows);
  return `${first}\n\nadaptive / limits of the same round:\n\n${markdown(['devices × rate', ...titles.slice(0, compared.length + 1)], pairs)}`;
}

/** @param {import('../runs/measure').Profile} profile @param {Cell} cell @param {string} name */
async function once(profile, { devices, rate, label }, name) {
  /** @type {import('../harness/relay').Reading | undefined} */
  let before;
  const result = await measure('seganet', {
    ...profile,
    devices,
    rate,
    relay: true,
    gatewayEnv: { ...profile.gatewayEnv, ...variants[name] },
    during: async (_cloud, _startMs, stage) => {
      before = await stage.relay?.read();
    }
  });
  if (!before || !result.wire || result.wire.up.broken) throw new Error('the relay did not count TLS');
  return { ...result, cell: label, variant: name, traffic: between(before, result.wire) };
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '1000' },
    texts: { cells: ['10x1,100x1,100x10,1000x10', 'cells: devices × messages per second of each device'] }
  });
  const cells = readCells(own.cells);
  const facts = {
    ...conditions(profile, repeat),
    load: `${own.cells} × ${profile.seconds} s (warm-up ${profile.warmup} s), QoS 1, ${profile.payload} B, every ${profile.alarmEvery}th an alarm; interleaved rounds: ${repeat}`
  };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const cell of cells) {
      for (const name of turned(names, round)) {
        const run = { ...(await once(profile, cell, name)), round };
        runs.push(run);
        const { up } = run.traffic;
        console.error(
          `round ${round + 1}/${repeat} ${cell.label} ${name}: ${run.arrived.unique} of ${run.sent.sent} arrived, ${up.records} TLS records`
        );
      }
    }
  }
  console.log(`${list(facts)}\n\n${tables(runs, cells)}`);
  save(out, { conditions: facts, profile, runs });
}

main();
