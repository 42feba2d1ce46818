'use strict';
// Prints what records cost on real links: bytes of the interface, records a second on a full link, CPU time.

const { isInside, runInside, withNetworks } = require('../harness/netns');
const { bitsPerSecond } = require('../harness/qdisc');
const { fail } = require('../harness/arguments');
const { fixed, list, markdown, save } = require('../report/report');
const { conditions } = require('../runs/setup');
const { LinkRun, WAYS } = require('./link-case');
const { unbatchedBytes } = require('./packets');
const { DEVICES, SHAPES, recordsOf } = require('./shapes');

/** @typedef {import('./link-case').Figures} Figures */
/** @typedef {Figures & { shape: string, way: string, link: number }} Row */

/** Records from which the mean size is computed. */
const SAMPLE = 1000;
const BASE = 'unbatched';
const PEER = 'bridge';

/**
 * @typedef {object} LinkOptions
 * @property {string[]} shapes @property {string[]} ways @property {number[]} rates of an open link
 * @property {number[]} links bit/s
 * @property {number} seconds @property {number} warmup @property {number} most offered records a second
 * @property {Record<string, string>} env @property {string} out
 * @property {string | undefined} gatewayCpus @property {string | undefined} harnessCpus
 */

/**
 * @param {string} name of the option @param {string} text comma-separated @param {string[]} known
 * @returns {string[]}
 */
function choice(name, text, known) {
  const chosen = text.split(',');
  for (const each of chosen) {
    if (!known.includes(each)) fail(`--${name}: '${each}' is not known; use ${known.join(', ')}.`);
  }
  return chosen;
}

/**
 * @param {string} name of the option @param {string} text comma-separated; 'none' = empty
 * @param {(text: string) => number} read @param {number} least @param {number} most
 */
function numbers(name, text, read, least, most) {
  if (text === 'none') return [];
  const found = text.split(',').map(read);
  if (!found.every((each) => each >= least && each <= most))
    fail(`--${name}: '${text}' is wrong. See --help.`);
  return found;
}

/**
 * @param {ReturnType<typeof import('../harness/arguments').readArguments>} read
 * @param {{ gatewayCpus: string | undefined, harnessCpus: string | undefined }} pins
 * @param {Record<string, string>} env
 * @returns {LinkOptions}
 */
function linkOptions(read, pins, env) {
  const { number, text } = read;
  return {
    shapes: choice('shapes', text('shapes'), Object.keys(SHAPES)),
    ways: choice('ways', text('ways'), Object.keys(WAYS)),
    rates: numbers('rates', text('rates'), Number, 1, 100000),
    links: numbers('full', text('full'), bitsPerSecond, 64000, 1e9),
    seconds: number('seconds'),
    warmup: number('warmup'),
    most: number('most'),
    env,
    out: text('out'),
    ...pins
  };
}

/**
 * Returns the records a second to offer to a full link.
 * @param {LinkOptions} options @param {string} shape @param {string} way @param {number} link bit/s
 */
function offered({ most }, shape, way, link) {
  const carried = link / 8 / unbatchedBytes(recordsOf(shape, SAMPLE));
  return Math.min(most, Math.ceil(carried * WAYS[way].times));
}

/** @param {LinkOptions} options */
function casesOf(options) {
  const { shapes, ways, rates, links, warmup, seconds } = options;
  return shapes.flatMap((shape) =>
    [...(rates.length > 0 ? [0] : []), ...links].flatMap((link) =>
      ways.map((way) => ({
        shape,
        way,
        link,
        phases: (link > 0 ? [offered(options, shape, way, link)] : rates).map((rate) => ({
          rate,
          warmup,
          seconds
        }))
      }))
    )
  );
}

/** @param {Row[]} rows @param {Row} row @param {string} way @returns {Row | undefined} the same load, another way */
function beside(rows, row, way) {
  const at = rows.filter((each) => each.shape === row.shape && each.link === row.link);
  return at.find((each) => each.way === way && (row.link > 0 || each.rate === row.rate));
}

/** @param {Row[]} rows */
function tableOf(rows) {
  const head = ['shape', 'link', 'way', 'offered records/s', 'delivered records/s', `of the ${PEER}'s`];
  head.push('records a message', 'IP bytes a record', `of ${BASE}`, 'CPU µs a record', 'link used %');
  const lines = rows.map((row) => {
    const peer = beside(rows, row, PEER);
    const base = beside(rows, row, BASE);
    return [
      ...[row.shape, row.link > 0 ? `${row.link / 1e6} Mbit/s` : 'open', row.way, row.rate],
      ...[fixed(row.perSecond), peer ? fixed(row.perSecond / peer.perSecond, 2) : '–'],
      ...[
        fixed(row.recordsPerMessage, 1),
        fixed(row.ipBytes),
        base ? fixed(row.ipBytes / base.ipBytes, 2) : '–'
      ],
      ...[fixed(row.cpuMicros, 1), fixed(row.used * 100)]
    ];
  });
  return markdown(head, lines);
}

/** @param {LinkOptions} options */
async function runLinks(options) {
  if (!isInside()) return runInside();
  /** @type {LinkRun | undefined} */
  let running;
  const closeRest = async () => running?.close();
  await withNetworks('cubic', closeRest, async (network) => {
    const { warmup, seconds, env, gatewayCpus, harnessCpus } = options;
    const plan = /** @type {any} */ ({ rounds: 1, seconds, warmup, env, gatewayCpus, harnessCpus });
    const facts = {
      ...conditions(plan),
      length: `each figure is of ${seconds} s after ${warmup} s`,
      link: `two network namespaces, TLS 1.3; a full link: tbf + pfifo_fast towards the cloud, the reverse direction not shaped, no delay except its queue; TCP ${network.congestion}`,
      records: `${DEVICES} devices, QoS 1`,
      bytes: 'of the interface, both directions, with all headers from IP on',
      ways: 'unbatched: one MQTT connection that publishes each record at once; bridge: mosquitto; NDJSON, zstd: the gateway with adaptive batches; zstd-100ms: with batches of 100 ms; balanced, thrifty: batches that save bytes, with a patience of 1 s'
    };
    /** @type {Row[]} */
    const rows = [];
    const cases = casesOf(options);
    for (const [i, each] of cases.entries()) {
      const { shape, way, link } = each;
      console.error(`${i + 1}/${cases.length}: ${shape}, ${link / 1e6 || 'open'}, ${way}`);
      running = new LinkRun(network, { ...each, env, gatewayCpus, harnessCpus });
      try {
        for (const figures of await running.run()) {
          rows.push({ ...figures, shape, way, link });
          const { rate, perSecond, ipBytes } = figures;
          console.error(`  ${fixed(perSecond)} of ${rate} records/s, ${fixed(ipBytes)} IP bytes a record`);
        }
      } catch (error) {
        process.exitCode = 1;
        console.error(`FAILED: ${error}`);
      } finally {
        await running.close();
        running = undefined;
      }
    }
    console.log(`${list(facts)}\n\n${tableOf(rows)}`);
    save(options.out, { conditions: facts, rows });
  });
}

module.exports = { casesOf, choice, linkOptions, runLinks, tableOf };
