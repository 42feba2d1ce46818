'use strict';
// A link that becomes slow at the same time of each season: what the gateway forecasts, and when bulk arrives if
// batches are sealed ahead of that.
//   node bench/questions/falls.js --help

const path = require('node:path');
const { readArguments } = require('../harness/arguments');
const { startCloud } = require('../harness/cloud');
const { Child } = require('../harness/child');
const { isInside, runInside, withNetworks } = require('../harness/netns');
const { ShapedLink } = require('../economy/traces');
const { conditions } = require('../runs/setup');
const { fixed, list, markdown, save } = require('../report/report');
const { systems } = require('../options/systems');
const { loadTexts } = require('../options/options');

/** @typedef {import('../harness/netns').LinkedNetworks} LinkedNetworks */

const FAST_BITS = 1e6;
const SLOW_BITS = 2e5;
const LEARNED_SEASONS = 4;
const END_MS = 60000;
const OPEN_FILES = 4096;
const SHAPE = 'Shelly';
const PATIENCE_MS = { 3: 1000, 4: 4000 };
const CLASSES = [
  // Once a second, more than half of what the fast link carries, so that the capacity is known.
  { class: 3, rate: 200, patienceMs: PATIENCE_MS[3], everyS: 1 },
  { class: 4, rate: 4, patienceMs: PATIENCE_MS[4] }
];
const RULES = JSON.stringify(CLASSES.map((each) => ({ topic: `c${each.class}/#`, class: each.class })));
const METRIC = /^seganet_network_(falls\w*|forecast_trusted)(?:_total)?\{([^}]*)\} (\S+)$/gm;

const intro = `Usage: node bench/questions/falls.js [options]

Two runs, without and with "Seal ahead of a fall". Devices of class 3 send ${CLASSES[0].rate} records in a burst each second, and
those of class 4 ${CLASSES[1].rate} records a second that may take ${PATIENCE_MS[4]} ms (thrifty). The link has ${FAST_BITS / 1e6} Mbit/s, and ${SLOW_BITS / 1e6} Mbit/s in
the last part of each season. Counts records of class 4 that were sent from season ${LEARNED_SEASONS + 1} on. Gateway and cloud are in
separate network namespaces (needs root).`;

class FallsRun {
  /** @type {Child | undefined} */
  devices;

  /**
   * @param {LinkedNetworks} network
   * @param {{ seasonS: number, slowS: number, seasons: number, isAhead: boolean }} settings
   */
  constructor(network, settings) {
    this.network = network;
    this.settings = settings;
  }

  async run() {
    const { network } = this;
    const { seasonS, slowS, seasons, isAhead } = this.settings;
    this.link = new ShapedLink(
      network.interface,
      { next: () => stepAt(Date.now(), seasonS, slowS), delayMs: 0 },
      1
    );
    this.cloud = await startCloud({ cpus: undefined, host: network.there, within: network.inCloud });
    this.system = await systems.seganet({
      cloud: this.cloud,
      cpus: undefined,
      openFiles: OPEN_FILES,
      datatype: 'buffer',
      statistics: true,
      gatewayEnv: {
        SEGANET_RULES: RULES,
        SEGANET_BATCH_SEALED_BY: 'thrifty',
        SEGANET_BATCH_PATIENCE: `0,100,${PATIENCE_MS[3]},${PATIENCE_MS[4]}`,
        'seganet-engine.networkSeasonS': String(seasonS),
        'seganet-batch.drainAhead': String(isAhead)
      }
    });
    const { system } = this;
    const seconds = seasonS * seasons;
    const plan = JSON.stringify({ classes: CLASSES, seconds, fromS: LEARNED_SEASONS * seasonS });
    const file = path.join(__dirname, '../economy/patient-devices.js');
    const devices = new Child(process.execPath, [file, SHAPE, String(system.port), plan], {
      name: 'devices',
      openFiles: OPEN_FILES
    });
    this.devices = devices;
    const end = await devices.until(
      () => devices.jsonLines().find(({ event }) => event === 'end'),
      seconds * 1000 + END_MS
    );
    const { gateway } = system;
    const response = await fetch(`http://127.0.0.1:${gateway?.editorPort}/seganet/metrics`);
    const bulk = end.classes.find((/** @type {{ class: number }} */ each) => each.class === 4);
    return { ...bulk, isAhead, network: figuresOf(await response.text()) };
  }

  async close() {
    this.link?.close();
    await this.devices?.stop();
    await this.system?.close();
    await this.cloud?.close();
  }
}

/**
 * Returns the link's rate at a time, and how long it lasts.
 * @param {number} now ms
 * @param {number} seasonS
 * @param {number} slowS
 */
function stepAt(now, seasonS, slowS) {
  const at = now % (seasonS * 1000);
  const fastMs = (seasonS - slowS) * 1000;
  const isFast = at < fastMs;
  return { ms: Math.ceil((isFast ? fastMs : seasonS * 1000) - at), bits: isFast ? FAST_BITS : SLOW_BITS };
}

/** Returns counters of falls, and which figures of the uplink are trusted. @param {string} text of the metrics */
function figuresOf(text) {
  /** @type {Record<string, number>} */
  const figures = {};
  for (const [, name, labels, value] of text.matchAll(METRIC)) {
    const figure = /figure="(\w+)"/.exec(labels)?.[1];
    figures[figure ? `${figure}Trusted` : name.replace(/_total$/, '')] = Number(value);
  }
  return figures;
}

async function main() {
  const read = readArguments(intro, {
    numbers: {
      season: ['24', 10, 3600, 'length of a season, s'],
      slow: ['7', 1, 1800, 'of these, the last ones are slow'],
      seasons: ['10', LEARNED_SEASONS + 1, 100, `in each run; ${LEARNED_SEASONS} of them are learned`]
    },
    texts: { out: loadTexts.out },
    flags: { ahead: 'only the run that seals ahead' }
  });
  if (!isInside()) return runInside();
  const settings = {
    seasonS: read.number('season'),
    slowS: read.number('slow'),
    seasons: read.number('seasons')
  };
  /** @type {FallsRun | undefined} */
  let running;
  await withNetworks(
    'cubic',
    async () => running?.close(),
    async (network) => {
      const facts = {
        ...conditions(
          /** @type {any} */ ({ env: {}, rounds: 1, warmup: 0, seconds: settings.seasonS * settings.seasons })
        ),
        season: `${settings.seasonS} s, the last ${settings.slowS} s of it slow; ${settings.seasons} seasons`
      };
      const rows = [];
      for (const isAhead of read.flag('ahead') ? [true] : [false, true]) {
        running = new FallsRun(network, { ...settings, isAhead });
        rows.push(await running.run());
        await running.close();
        running = undefined;
      }
      console.log(list(facts));
      console.log(`\n${markdown(HEAD, rows.map(rowOf))}`);
      save(read.text('out'), { conditions: facts, rows });
    }
  );
}

const HEAD = [
  'sealed ahead',
  'class 4',
  'in time %',
  'mean ms',
  'longest ms',
  'falls',
  'right',
  'wrong',
  'not judged'
];

/** @param {any} row */
const rowOf = ({ isAhead, sent, inTime, meanMs, worstMs, network }) => [
  isAhead ? 'yes' : 'no',
  sent,
  fixed((inTime / sent) * 100, 1),
  fixed(meanMs),
  fixed(worstMs),
  network.falls ?? 0,
  network.falls_right ?? 0,
  network.falls_wrong ?? 0,
  network.falls_unjudged ?? 0
];

if (require.main === module) void main();

module.exports = { LEARNED_SEASONS, figuresOf, stepAt };
