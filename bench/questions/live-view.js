'use strict';
// Measures what viewers of the live view cost.
//   node bench/questions/live-view.js --help

const http = require('node:http');

const { measure } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned, medians, ratios, percentCell } = require('../report/pairs');
const { conditions, markdown, list, save } = require('../report/report');

const intro = `Usage: node bench/questions/live-view.js [options]

Runs the gateway without a viewer of its live view (none), with the page and the sidebar as they open (viewed: two
connections to GET /seganet/live, one with devices), and with two viewers who search the devices, sorted by rate
(searched). Changes are percentages of 'none' of the same round, each pair in parentheses. The viewers' own CPU time, a
browser's for example, is not part of it.`;

/** @typedef {import('../report/pairs').VariantRun & {snapshots: number, bytes: number}} Run */

/** The thread of Node-RED's event loop, on which the live view works. @param {any} run @returns {number | undefined} */
const loopCores = (run) =>
  run.parts[0].threads.find((/** @type {any} */ { name, process }) => name === process)?.cores;

/** @type {[string, (run: any) => number | undefined, number][]} */
const columns = [
  ['cores', (run) => run.cores, 3],
  ['of these, the event loop', loopCores, 4],
  ['class 1 p99 ms', (run) => run.arrived.latencyUs.alarm.p99 / 1000, 2],
  ['class 3 p99 ms', (run) => run.arrived.latencyUs.normal.p99 / 1000, 2],
  ['lost', (run) => run.verdict?.lost, 0],
  ['late sends', (run) => run.sent.late, 0],
  ['snapshots of a viewer', (run) => run.snapshots, 0],
  ['KB/s of a viewer', (run) => run.bytes / 1000, 1]
];

/**
 * Reads the stream until the end.
 * @param {number} port of the editor @param {string} query @param {number} untilMs
 * @returns {Promise<{snapshots: number, bytes: number}>}
 */
function view(port, query, untilMs) {
  const seen = { snapshots: 0, bytes: 0 };
  return new Promise((resolve, reject) => {
    const request = http.get(`http://127.0.0.1:${port}/seganet/live?${query}`, (response) => {
      if (response.statusCode !== 200) reject(new Error(`the stream answered ${response.statusCode}`));
      response.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
        seen.bytes += Buffer.byteLength(text);
        seen.snapshots += text.split('event: snapshot\n').length - 1;
      });
      setTimeout(() => {
        resolve(seen);
        request.destroy();
      }, untilMs - Date.now());
    });
    request.on('error', reject);
  });
}

/**
 * @param {import('../runs/measure').Profile} profile @param {string[]} viewers their queries
 * @returns {Promise<Omit<Run, 'variant' | 'round'>>}
 */
async function once(profile, viewers) {
  let seen = { snapshots: 0, bytes: 0 };
  const result = await measure('seganet', {
    ...profile,
    statistics: true,
    during: async (_cloud, startMs, stage) => {
      const { gateway } = stage.system ?? {};
      if (!gateway || viewers.length === 0) return;
      const untilMs = startMs + profile.seconds * 1000;
      const all = viewers.map((query) => view(gateway.editorPort, query, untilMs));
      const [first] = await Promise.all(all);
      seen = { snapshots: first.snapshots, bytes: first.bytes / profile.seconds };
    }
  });
  return { ...result, ...seen };
}

async function main() {
  const { profile, repeat, out } = readOptions(intro, {
    defaults: { systems: '', devices: '1000', rate: '10', seconds: '20' }
  });
  /** @type {Record<string, string[]>} */
  const variants = {
    none: [],
    viewed: ['', 'devices=off'],
    searched: ['q=dev&sort=-rate', 'q=00&sort=seen']
  };
  const names = Object.keys(variants);
  const facts = conditions(profile, repeat);
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(profile, variants[variant])), variant, round };
      runs.push(run);
      console.error(`round ${round + 1}/${repeat} ${variant}: ${run.cores.toFixed(3)} cores`);
    }
  }
  const rows = names.map((name) => [name, ...medians(runs, name, columns)]);
  const [[, cores]] = columns;
  const compared = names
    .slice(1)
    .map((name) => [`${name} / none`, percentCell(ratios(runs, name, 'none', cores))]);
  const change = markdown(['change', 'cores %'], compared);
  console.log(
    `${list(facts)}\n\n${markdown(['viewers', ...columns.map(([title]) => title)], rows)}\n\n${change}`
  );
  save(out, { conditions: facts, profile, runs });
  if (runs.some(({ variant, snapshots }) => variant !== 'none' && snapshots < profile.seconds / 2)) {
    console.log('\nThe viewers received too few snapshots: these results prove nothing.');
    process.exitCode = 1;
  }
}

main();
