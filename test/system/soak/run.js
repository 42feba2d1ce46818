'use strict';
// A long run under small faults.  node native/node/run.js test/system/soak/run.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Soak } = require('./soak');

const HELP = `Usage: node native/node/run.js test/system/soak/run.js [options]

Devices publish at a steady rate for hours while the cloud is too slow for them, quick, and slow again, and small faults happen:
lost links, outages, a stopped broker, a paused gateway, deploys, devices that come back, status pages. At the end the cloud is
quick, no device publishes, and everything that was acknowledged must have arrived. Prints memory and counters at intervals.
Exit code 0: nothing is missing and no record stood still; 1: otherwise; 2: wrong options.

  --minutes  length of the load (120)
  --devices  (200)
  --rate     records a second, of all devices (400)
  --backlog  the cloud is slow until this many records wait, then quick until half of them are left (350000)
  --every    minutes between two rows (5)
  --seed     of the faults (1)
  --json     file for all rows
`;

const LIMITS = /** @type {const} */ ({
  minutes: [120, 0.2, 10000],
  devices: [200, 31, 5000],
  rate: [400, 1, 20000],
  backlog: [350000, 1, 1e8],
  every: [5, 0.05, 1000],
  seed: [1, 0, 2 ** 31]
});

/** @param {string} text @returns {never} */
function fail(text) {
  console.error(`${text} See --help.`);
  process.exit(2);
}

function readOptions() {
  /** @type {any} */
  const options = { help: { type: 'boolean', short: 'h' }, json: { type: 'string', default: '' } };
  for (const [name, [value]] of Object.entries(LIMITS))
    options[name] = { type: 'string', default: String(value) };
  /** @type {any} */
  let values;
  try {
    ({ values } = parseArgs({ options }));
  } catch (error) {
    fail(/** @type {Error} */ (error).message);
  }
  if (values.help) {
    process.stdout.write(HELP);
    process.exit(0);
  }
  /** @type {Record<keyof typeof LIMITS, number>} */
  const numbers = /** @type {any} */ ({});
  for (const [name, [, least, most]] of Object.entries(LIMITS)) {
    const value = Number(values[name]);
    if (!(value >= least && value <= most)) fail(`--${name} must be a number from ${least} to ${most}.`);
    numbers[/** @type {keyof typeof LIMITS} */ (name)] = value;
  }
  return { ...numbers, json: /** @type {string} */ (values.json) };
}

const COLUMNS = [
  'min',
  'RSS',
  'anonymous',
  'threads',
  'fds',
  'waiting',
  'acknowledged',
  'owed',
  'CPU s',
  'stalls'
];

/** @param {import('./soak').Row} row */
function print(row) {
  const mib = (/** @type {number} */ bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  const cells = [
    row.minute.toFixed(1),
    mib(row.rss),
    mib(row.anonymous),
    row.threads,
    row.descriptors,
    row.waiting,
    row.acknowledged,
    row.owed,
    row.cpuSeconds.toFixed(0),
    row.stalls
  ];
  console.log(cells.map((cell, i) => String(cell).padStart(Math.max(10, COLUMNS[i].length))).join(' '));
}

async function main() {
  const options = readOptions();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-soak-'));
  const { minutes, devices, rate, seed } = options;
  console.log(
    `${devices} devices, ${rate} records/s, ${minutes} min, seed ${seed}; ${os.cpus().length} cores`
  );
  console.log(COLUMNS.map((each) => each.padStart(Math.max(10, each.length))).join(' '));
  const soak = new Soak({ ...options, folder }, print);
  let result;
  try {
    await soak.open();
    result = await soak.run();
  } finally {
    fs.writeFileSync(path.join(folder, 'gateway.log'), soak.system?.output ?? '');
    await soak.close();
  }
  const { rows, missing, findings, faults } = result;
  const stalls = rows.at(-1)?.stalls ?? 0;
  console.log(`Faults: ${JSON.stringify(faults)}. Missing: ${missing}. Stalls: ${stalls}.`);
  for (const finding of findings) console.log(`  ${finding}`);
  if (options.json) fs.writeFileSync(options.json, JSON.stringify({ options, ...result }, null, 1));
  const isGood = missing === 0 && stalls === 0 && findings.length === 0;
  if (isGood) fs.rmSync(folder, { recursive: true });
  else console.log(`Files: ${folder}`);
  process.exit(isGood ? 0 : 1);
}

main();
