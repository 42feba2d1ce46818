'use strict';
// Measures what all observers together cost the gateway: a Prometheus, the status page and the editor's sidebar.
//   node bench/questions/observers.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { chromium } = require('playwright-core');
const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { measure } = require('../runs/measure');
const { readOptions } = require('../options/options');
const { turned, medians, ratioCells } = require('../report/pairs');
const { conditions, markdown, list, save } = require('../report/report');

const intro = `Usage: node bench/questions/observers.js [options]

Runs the gateway without observers (none), and with a Prometheus that scrapes it every --every seconds, the status page
and the editor with the sidebar in a Chromium (observed). They are open before the warm-up ends, and their own CPU time
is not part of the figures. Prometheus and Chromium run on the harness's cores, with a lower priority. Ratios compare
with 'none' of the same round.`;

/** @typedef {import('../report/pairs').VariantRun & {scrapes: number, shown: number, openedS: number}} Run */

/** @type {[string, (run: any) => number | undefined, number][]} */
const columns = [
  ['cores', (run) => run.cores, 3],
  ['class 1 p99 ms', (run) => run.arrived.latencyUs.alarm.p99 / 1000, 2],
  ['class 3 p99 ms', (run) => run.arrived.latencyUs.normal.p99 / 1000, 2],
  ['lost', (run) => run.verdict?.lost, 0],
  ['late sends', (run) => run.sent.late, 0],
  ['scrapes', (run) => run.scrapes, 0],
  ['devices on the page', (run) => run.shown, 0],
  ['open after s', (run) => run.openedS, 1]
];

/** A Chromium on these cores, with a lower priority. @param {string} folder @param {string | undefined} cpus */
function launch(folder, cpus) {
  const executablePath = path.join(folder, 'chromium');
  const pinned = cpus ? `taskset -c ${cpus} ` : '';
  fs.writeFileSync(executablePath, `#!/bin/sh\nexec ${pinned}nice -n 10 chromium "$@"\n`, { mode: 0o755 });
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--no-first-run'] });
}

/** @param {string} folder @param {number} port of the editor @param {number} everyS @param {string | undefined} cpus */
async function startPrometheus(folder, port, everyS, cpus) {
  const config = {
    global: { scrape_interval: `${everyS}s` },
    scrape_configs: [
      {
        job_name: 'seganet',
        metrics_path: '/seganet/metrics',
        static_configs: [{ targets: [`127.0.0.1:${port}`] }]
      }
    ]
  };
  fs.writeFileSync(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
  const listen = `127.0.0.1:${await freePort()}`;
  const args = [
    `--config.file=${folder}/prometheus.yml`,
    `--storage.tsdb.path=${folder}/data`,
    `--web.listen-address=${listen}`
  ];
  const child = new Child('nice', ['-n', '10', 'prometheus', ...args], { name: 'prometheus', cpus });
  await child.until((output) => /Server is ready to receive web requests/.test(output), 60000);
  const scrapes = async () => {
    const query = new URLSearchParams({ query: 'count_over_time(up{job="seganet"}[1h])' });
    const response = await fetch(`http://${listen}/api/v1/query?${query}`);
    const { data } = await response.json();
    return Number(data.result[0]?.value[1] ?? 0);
  };
  return { child, scrapes };
}

/** @param {import('playwright-core').Browser} browser @param {number} port of the editor */
async function openPages(browser, port) {
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${port}/seganet/`);
  await page.waitForSelector('.seganet-live');
  const editor = await browser.newPage();
  await editor.goto(`http://127.0.0.1:${port}/`);
  await editor.waitForSelector('.red-ui-palette-node[data-palette-type="seganet-uplink"]');
  await editor.evaluate(() => /** @type {any} */ (globalThis).RED.sidebar.show('seganet-sidebar'));
  await editor.waitForSelector('.seganet-live');
  return page;
}

/**
 * @param {import('../runs/measure').Profile} profile
 * @param {boolean} isObserved
 * @param {number} everyS
 * @returns {Promise<Omit<Run, 'variant' | 'round'>>}
 */
async function once(profile, isObserved, everyS) {
  const seen = { scrapes: 0, shown: 0, openedS: 0 };
  const result = await measure('seganet', {
    ...profile,
    statistics: true,
    during: async (_cloud, startMs, stage) => {
      const port = stage.system?.gateway?.editorPort;
      if (!isObserved || !port) return;
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-observers-'));
      const browser = await launch(folder, profile.harnessCpus);
      const prometheus = await startPrometheus(folder, port, everyS, profile.harnessCpus);
      try {
        const page = await openPages(browser, port);
        seen.openedS = (Date.now() - startMs) / 1000;
        await new Promise((resolve) => setTimeout(resolve, startMs + profile.seconds * 1000 - Date.now()));
        seen.scrapes = await prometheus.scrapes();
        seen.shown = await page.$$eval('[data-section="devices"] tbody tr', (rows) => rows.length);
      } finally {
        await browser.close();
        await prometheus.child.stop('SIGTERM');
        fs.rmSync(folder, { recursive: true, force: true });
      }
    }
  });
  return { ...result, ...seen };
}

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { systems: '', devices: '1000', rate: '10', seconds: '70', warmup: '40' },
    numbers: { every: ['15', 1, 600, 'seconds from one scrape to the next'] }
  });
  const variants = { none: false, observed: true };
  const names = /** @type {(keyof typeof variants)[]} */ (Object.keys(variants));
  const facts = { ...conditions(profile, repeat), scrapes: `every ${own.every} s` };
  /** @type {Run[]} */
  const runs = [];
  for (let round = 0; round < repeat; round += 1) {
    for (const variant of turned(names, round)) {
      const run = { ...(await once(profile, variants[variant], own.every)), variant, round };
      runs.push(run);
      console.error(`round ${round + 1}/${repeat} ${variant}: ${run.cores.toFixed(3)} cores`);
    }
  }
  const rows = names.map((name) => [name, ...medians(runs, name, columns)]);
  const ratios = [['observed / none', ...ratioCells(runs, 'observed', 'none', columns.slice(0, 3))]];
  console.log(`${list(facts)}\n\n${markdown(['observers', ...columns.map(([title]) => title)], rows)}`);
  console.log(`\n${markdown(['ratio', ...columns.slice(0, 3).map(([title]) => title)], ratios)}`);
  save(out, { conditions: facts, profile, runs });
  if (runs.some(({ variant, openedS }) => variant === 'observed' && openedS > profile.warmup)) {
    console.log('\nThe observers opened after the warm-up: these results prove nothing.');
    process.exitCode = 1;
  }
}

main();
