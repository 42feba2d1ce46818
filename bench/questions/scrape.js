'use strict';
// Measures what a scraper of the metrics and a health check cost the gateway under load.
//   node bench/questions/scrape.js --help

const { measure, sleep } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned, medians, ratioCells } = require('../report/pairs');
const { conditions, markdown, list, save } = require('../report/report');

const intro = `Usage: node bench/questions/scrape.js [options]

Runs the gateway without requests, with one client that asks for /seganet/metrics, /seganet/healthz and
/seganet/readyz once every --every seconds, and with --clients of them at the same time. Ratios compare with 'none' of
the same round.`;

const PAGES = ['metrics', 'healthz', 'readyz'];

/** @typedef {import('../report/pairs').VariantRun & {scrapes: number, failed: number, bytes: number, answerMs: number}} Run */

/** @param {'normal' | 'alarm'} kind @param {'p50' | 'p99'} field @returns {(run: Run) => number | undefined} ms */
const latency = (kind, field) => (run) => {
  const summary = run.arrived.latencyUs[kind];
  return summary.count ? summary[field] / 1000 : undefined;
};

/** @type {[string, (run: Run) => number | undefined, number][]} */
const compared = [
  ['cores', (run) => run.cores, 3],
  ['RSS MB', (run) => run.rssMB, 0],
  ['alarm p99 ms', latency('alarm', 'p99'), 2],
  ['normal p99 ms', latency('normal', 'p99'), 2]
];
/** @type {[string, (run: Run) => number | undefined, number][]} */
const plain = [
  ['rounds of requests', ({ scrapes }) => scrapes, 0],
  ['failed', ({ failed }) => failed, 0],
  ['bytes of the metrics', ({ bytes }) => bytes, 0],
  ['longest answer ms', ({ answerMs }) => answerMs, 1],
  ['lost', (run) => run.verdict?.lost, 0],
  ['late sends', (run) => run.sent.late, 0]
];

/**
 * @param {import('../runs/measure').Profile} profile
 * @param {number} clients
 * @param {number} everyMs
 * @returns {Promise<Omit<Run, 'variant' | 'round'>>}
 */
async function once(profile, clients, everyMs) {
  const seen = { scrapes: 0, failed: 0, bytes: 0, answerMs: 0 };
  const result = await measure('seganet', {
    ...profile,
    statistics: true,
    during: async (_cloud, startMs, stage) => {
      const endMs = startMs + profile.seconds * 1000;
      const root = `http://127.0.0.1:${stage.system?.gateway?.editorPort}/seganet/`;
      const client = async () => {
        for (let at = startMs + everyMs; at < endMs; at += everyMs) {
          await sleep(at - Date.now());
          const since = performance.now();
          for (const page of PAGES) {
            const response = await fetch(root + page, { signal: AbortSignal.timeout(30000) });
            const text = await response.text();
            if (!response.ok) seen.failed++;
            if (page === 'metrics') seen.bytes = text.length;
          }
          seen.answerMs = Math.max(seen.answerMs, performance.now() - since);
          seen.scrapes++;
        }
      };
      await Promise.all(Array.from({ length: clients }, client));
    }
  });
  return { ...result, ...seen };
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '' },
    numbers: {
      every: ['1', 0.1, 600, 'seconds from one round of requests to the next'],
      clients: ['20', 1, 200, 'clients that ask at the same time']
    }
  });
  const variants = { none: 0, one: 1, many: own.clients };
  const names = /** @type {(keyof typeof variants)[]} */ (Object.keys(variants));
  const facts = {
    ...conditions(profile, repeat),
    requests: `every ${own.every} s, many = ${own.clients} clients`
  };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(profile, variants[variant], own.every * 1000)), variant, round };
      runs.push(run);
      console.error(`round ${round + 1}/${repeat} ${variant}: ${run.cores} cores`);
    }
  }
  const all = [...compared, ...plain];
  const rows = names.map((name) => [name, ...medians(runs, name, all)]);
  const ratios = names
    .slice(1)
    .map((name) => [`${name} / none`, ...ratioCells(runs, name, 'none', compared)]);
  console.log(`${list(facts)}\n\n${markdown(['requests', ...all.map(([title]) => title)], rows)}`);
  console.log(`\n${markdown(['ratio', ...compared.map(([title]) => title)], ratios)}`);
  save(out, { conditions: facts, profile, runs });
}

main();
