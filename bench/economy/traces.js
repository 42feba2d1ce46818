'use strict';
// Records with a patience over links that vary: how many are acknowledged in time, and what they cost.

const path = require('node:path');
const { patienceByClass } = require('../../nodes/lib/base/by-class');
const { startCloud } = require('../harness/cloud');
const { Child } = require('../harness/child');
const { freePort } = require('../harness/net');
const { isInside, run, runInside, withNetworks } = require('../harness/netns');
const { shape: shapeLink } = require('../harness/qdisc');
const { randomOf } = require('../harness/random');
const { standAside } = require('../harness/stand-aside');
const { systems } = require('../options/systems');
const { fixed, list, markdown, save } = require('../report/report');
const { conditions } = require('../runs/setup');
const { forbidLargePackets, readInterface } = require('./link-case');
const { choice } = require('./links');
const { SHAPES } = require('./shapes');

/** @typedef {import('../harness/netns').LinkedNetworks} LinkedNetworks */

/** Bytes that a link queues: much more than a fade of the trace leaves behind. */
const QUEUE_BYTES = 262144;
const BURST_BYTES = 3028;
const OPEN_FILES = 4096;
const END_MS = 120000;
const STEP_MS = 500;
const SATELLITE_MS = 300;

/**
 * @typedef {{ ms: number, bits: number }} Step a rate of the link, in bit/s, and how long it lasts
 *
 * @typedef {object} Trace
 * @property {(random: (n: number) => number) => Step} next
 * @property {number} delayMs of each direction, beside the link's queue
 */

/**
 * Each has room for all records, compressed, on average and within the patience of every class.
 * @type {Record<string, Trace>}
 */
const TRACES = {
  constant: { next: () => ({ ms: STEP_MS, bits: 1e6 }), delayMs: 0 },
  // A rate that wanders between 0.5 and 8 Mbit/s, and in one of 16 steps a fade of up to 0.8 s to 64 kbit/s.
  lte: {
    next: (random) =>
      random(16) === 0
        ? { ms: 200 + random(600), bits: 64000 }
        : { ms: STEP_MS, bits: 500000 * 2 ** random(5) },
    delayMs: 20
  },
  satellite: { next: () => ({ ms: STEP_MS, bits: 1e6 }), delayMs: SATELLITE_MS }
};

/** Records/s by class. @type {Record<number, number>} */
const RATES = { 2: 20, 3: 60, 4: 60 };
const CLASSES = [2, 3, 4];

/**
 * Sealed by static limits, the paper's; at once; or by patience.
 * @type {Record<string, Record<string, string>>}
 */
const WAYS = {
  static: {
    SEGANET_COMPRESS: 'zstd',
    SEGANET_BATCH_SEALED_BY: 'limits',
    'seganet-batch.minDevices': '0'
  },
  fast: { SEGANET_COMPRESS: 'zstd' },
  balanced: { SEGANET_COMPRESS: 'auto', SEGANET_BATCH_SEALED_BY: 'balanced' },
  thrifty: { SEGANET_COMPRESS: 'auto', SEGANET_BATCH_SEALED_BY: 'thrifty' }
};
const BASE = 'static';

/** Classes by the first level of the topic. */
const RULES = JSON.stringify(CLASSES.map((each) => ({ topic: `c${each}/#`, class: each })));

/**
 * @typedef {object} TraceCase
 * @property {string} trace of TRACES @property {string} way of WAYS @property {string} shape of the records
 * @property {number} seed @property {number} seconds of load
 * @property {number[]} patience ms by class
 * @property {Record<string, string>} env of the gateway
 * @property {string | undefined} gatewayCpus @property {string | undefined} harnessCpus
 *
 * @typedef {{ class: number, patienceMs: number, sent: number, inTime: number, meanMs: number,
 *   worstMs: number }} ClassFigures
 * @typedef {{ ipBytes: number, missed: number, classes: ClassFigures[] }} TraceFigures ipBytes: a record, both
 *   directions; missed: records that the gateway counted as late
 */

/** The rate of an interface, which follows a trace until close(). */
class ShapedLink {
  /** @param {string} dev @param {Trace} trace @param {number} seed */
  constructor(dev, trace, seed) {
    shapeLink(dev, 'none', 0);
    const random = randomOf(seed);
    this.isClosed = false;
    const go = (/** @type {'add' | 'change'} */ verb) => {
      const { ms, bits } = trace.next(random);
      const rate = ['rate', `${bits}bit`, 'burst', String(BURST_BYTES), 'limit', String(QUEUE_BYTES)];
      run('tc', ['qdisc', verb, 'dev', dev, 'root', 'handle', '1:', 'tbf', ...rate]);
      this.timer = setTimeout(() => this.isClosed || go('change'), ms);
    };
    go('add');
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
  }
}

class TraceRun {
  /** @param {LinkedNetworks} network @param {TraceCase} settings */
  constructor(network, settings) {
    this.network = network;
    this.settings = settings;
    this.comeBack = () => {};
    /** @type {Child[]} */
    this.tools = [];
  }

  /** @returns {Promise<TraceFigures>} */
  async run() {
    const { network, settings } = this;
    const { env, gatewayCpus, harnessCpus: cpus, patience, seconds, seed, shape } = settings;
    const trace = TRACES[settings.trace];
    this.comeBack = standAside(cpus);
    this.link = new ShapedLink(network.interface, trace, seed);
    forbidLargePackets(network);
    this.cloud = await startCloud({ cpus, host: network.there, within: network.inCloud });
    const tlsPort = await freePort();
    const where = [network.there, String(tlsPort), String(this.cloud.tlsPort), String(trace.delayMs)];
    const relay = this.#tool('trace-relay.js', where, network.inCloud);
    await relay.until((output) => output.includes('"ready"'));
    this.system = await systems.seganet({
      cloud: Object.create(this.cloud, { tlsPort: { value: tlsPort } }),
      cpus: gatewayCpus,
      openFiles: OPEN_FILES,
      datatype: 'buffer',
      statistics: true,
      gatewayEnv: {
        SEGANET_RULES: RULES,
        SEGANET_BATCH_PATIENCE: patience.slice(1).join(','),
        ...env,
        ...WAYS[settings.way]
      }
    });
    const { system } = this;
    const classes = CLASSES.map((each) => ({ class: each, rate: RATES[each], patienceMs: patience[each] }));
    const before = readInterface(network.interface);
    const plan = JSON.stringify({ classes, seconds });
    const devices = this.#tool('patient-devices.js', [shape, String(system.port), plan]);
    const longestMs = Math.max(...classes.map(({ patienceMs }) => patienceMs));
    const end = await devices.until(
      () => devices.jsonLines().find(({ event }) => event === 'end'),
      seconds * 1000 + longestMs + END_MS
    );
    const after = readInterface(network.interface);
    const { lateRecords } = await system.gateway.stats();
    return {
      ipBytes: (after.up - before.up + after.down - before.down) / sum(end.classes, 'sent'),
      missed: lateRecords.reduce((/** @type {number} */ all, /** @type {number} */ late) => all + late, 0),
      classes: end.classes
    };
  }

  /** @param {string} file @param {string[]} args @param {string[]} [within] */
  #tool(file, args, within) {
    const options = { name: file, cpus: this.settings.harnessCpus, openFiles: OPEN_FILES, within };
    const child = new Child(process.execPath, [path.join(__dirname, file), ...args], options);
    this.tools.push(child);
    return child;
  }

  async close() {
    this.comeBack();
    this.link?.close();
    if (this.system) await this.system.close();
    for (const tool of this.tools) await tool.stop();
    if (this.cloud) await this.cloud.close();
  }
}

/** @param {ClassFigures[]} classes @param {'sent' | 'inTime'} name */
function sum(classes, name) {
  return classes.reduce((all, each) => all + each[name], 0);
}

/** Returns the share of the records that were acknowledged within their patience. @param {TraceFigures} figures */
function inTimeOf({ classes }) {
  return sum(classes, 'inTime') / sum(classes, 'sent');
}

/** @typedef {TraceFigures & { trace: string, way: string }} Row @param {Row[]} rows */
function tableOf(rows) {
  const head = ['trace', 'way', 'IP bytes a record', `of ${BASE}`, 'in time %', 'counted late', 'longest ms'];
  const lines = rows.map((row) => {
    const base = rows.find(({ trace, way }) => trace === row.trace && way === BASE);
    const worst = row.classes.map(({ class: of, worstMs }) => `${of}: ${fixed(worstMs)}`).join(', ');
    return [
      ...[row.trace, row.way, fixed(row.ipBytes), base ? fixed(row.ipBytes / base.ipBytes, 2) : '–'],
      ...[fixed(inTimeOf(row) * 100, 2), row.missed, worst]
    ];
  });
  return markdown(head, lines);
}

/**
 * @param {ReturnType<typeof import('../harness/arguments').readArguments>} read
 * @param {{ gatewayCpus: string | undefined, harnessCpus: string | undefined }} pins
 * @param {Record<string, string>} env
 */
function traceOptions({ number, text }, pins, env) {
  return {
    kinds: choice('kinds', text('kinds'), Object.keys(TRACES)),
    patience: patienceByClass(text('patience')),
    ways: choice('settings', text('settings'), Object.keys(WAYS)),
    shape: choice('shapes', text('shapes'), Object.keys(SHAPES))[0],
    seconds: number('seconds'),
    seed: number('seed'),
    out: text('out'),
    env,
    ...pins
  };
}

/** @param {ReturnType<typeof traceOptions>} options */
async function runTraces({ kinds, ways, out, ...options }) {
  if (!isInside()) return runInside();
  /** @type {TraceRun | undefined} */
  let running;
  const closeRest = async () => running?.close();
  await withNetworks('cubic', closeRest, async (network) => {
    const load = CLASSES.map(
      (each) => `class ${each}: ${RATES[each]}/s, patience ${options.patience[each]} ms`
    );
    const facts = {
      ...conditions(/** @type {any} */ ({ rounds: 1, warmup: 0, ...options })),
      traces: `seed ${options.seed}; constant: 1 Mbit/s; lte: 0.5 to 8 Mbit/s with fades to 64 kbit/s, 20 ms each way; satellite: 1 Mbit/s, ${SATELLITE_MS} ms each way`,
      load: `${options.shape}; ${load.join('; ')}`,
      ways: 'static: limits of 1 KiB and 1 s; fast, balanced, thrifty: adaptive; all compressed with zstd'
    };
    /** @type {Row[]} */
    const rows = [];
    for (const [trace, way] of kinds.flatMap((kind) => ways.map((each) => [kind, each]))) {
      running = new TraceRun(network, { ...options, trace, way });
      try {
        const figures = await running.run();
        rows.push({ ...figures, trace, way });
        const cost = `${fixed(figures.ipBytes)} IP bytes a record`;
        console.error(`${trace}, ${way}: ${cost}, ${fixed(inTimeOf(figures) * 100, 2)} % in time`);
      } catch (error) {
        process.exitCode = 1;
        console.error(`FAILED: ${trace}, ${way}: ${error}`);
      } finally {
        await running.close();
        running = undefined;
      }
    }
    console.log(`${list(facts)}\n\n${tableOf(rows)}`);
    save(out, { conditions: facts, rows });
  });
}

module.exports = { ShapedLink, TRACES, WAYS, inTimeOf, runTraces, traceOptions };
