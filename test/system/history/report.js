'use strict';
// A line during the run, and a table by kind of fault at the end.

/** @typedef {import('./run-one').Result} Result */

/** @param {Result} result */
function line({ peer, schedule, verdict, wallMs, injected }) {
  const { gateway, seed, kind, faults } = schedule;
  const others = faults.slice(1).map((fault) => `+${fault.kind}`);
  const counts = Object.entries(verdict.counts).map(([what, count]) => `${what} ${count}`);
  const outcome = verdict.valid ? 'valid' : `NOT VALID: ${counts.join(', ')}`;
  return [
    `seed ${seed}`.padEnd(9),
    ...(peer === 'gateway' ? [] : [peer.padEnd(20)]),
    `${kind}${others.join('')}`.padEnd(30),
    `${gateway.acknowledge}/${gateway.batchMode}`.padEnd(16),
    `acked ${verdict.acknowledged}`.padEnd(12),
    `lost ${verdict.lost}`.padEnd(9),
    `dup ${verdict.duplicates}/${verdict.bound}`.padEnd(15),
    injected ? `injected ${injected} ` : '',
    `${(wallMs / 1000).toFixed(1)} s `,
    outcome
  ].join(' ');
}

const columns = [
  'runs',
  'acknowledged',
  'delivered',
  'dead',
  'lost',
  'swapped',
  'phantom',
  'changed',
  'duplicates',
  'bound',
  'not valid'
];

/** @param {Result[]} results @returns {string} a Markdown table */
function table(results) {
  /** @type {Map<string, Record<string, number>>} */
  const rows = new Map();
  const empty = () => Object.fromEntries(columns.map((column) => [column, 0]));
  const sum = empty();
  const hasPeers = new Set(results.map(({ peer }) => peer)).size > 1;
  for (const { peer, schedule, verdict } of results) {
    const title = hasPeers ? `${schedule.kind}: ${peer}` : schedule.kind;
    const row = rows.get(title) || empty();
    rows.set(title, row);
    for (const each of [row, sum]) {
      each.runs += 1;
      each['not valid'] += verdict.valid ? 0 : 1;
      for (const [name, value] of Object.entries(verdict)) if (name in each) each[name] += Number(value);
    }
  }
  const lines = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).concat([['all', sum]]);
  const cells = [
    ['fault', ...columns],
    ['---', ...columns.map(() => '---:')]
  ];
  for (const [kind, row] of lines) cells.push([kind, ...columns.map((column) => String(row[column]))]);
  return cells.map((each) => `| ${each.join(' | ')} |`).join('\n');
}

/** Explains the bound on duplicates. @param {Result[]} results */
function bounds(results) {
  const { window, recordsPerPublish, chunks, chunkRecords } = results[0].settings;
  return (
    'Bound on duplicates: window × records a PUBLISH for each lost connection, and + ' +
    `${chunks} chunks × ${chunkRecords} records for each end of the process. ` +
    `Of seed ${results[0].schedule.seed}: ${window} × ${recordsPerPublish} = ${window * recordsPerPublish}, and ` +
    `${window * recordsPerPublish + chunks * chunkRecords}.`
  );
}

module.exports = { line, table, bounds };
