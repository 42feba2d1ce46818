'use strict';
// Shadows, a kill -9 and a power cut.  node native/node/run.js test/system/shadow/run.js --help

const { parseArgs } = require('node:util');
const { seeded } = require('../../fixtures/random');
const { runReconnects } = require('./reconnects');
const { runShadows } = require('./scenario');
const { runStore } = require('./store');

const HELP = `node native/node/run.js test/system/shadow/run.js [--shadows N] [--devices N] [--rate N] [--seed N] [--no-cut]
  [--store | --reconnects [--load N]]

Sets shadows over HTTP, and sets each of them again while the gateway is ended: by kill -9, and by a power cut (root).
After each end, the version of each shadow that was acknowledged must be there. Then devices connect, get the
difference, and report it. The command fails if a version was lost or a device did not get what is desired.

  --shadows N   (100000; with --reconnects 10000)
  --devices N   (2000)
  --rate N      connections a second (50; with --reconnects 200)
  --seed N      (default: from the clock); it is printed
  --no-cut      without the power cut
  --store       only the thread of the shadows, without a gateway and devices
  --reconnects  each device connects twice while updates are committed, and must get its difference after each CONNACK;
                nothing is ended
  --load N      updates a second (500)
`;

async function main() {
  const text = { type: /** @type {const} */ ('string') };
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean' },
      shadows: text,
      devices: text,
      rate: text,
      seed: text,
      'no-cut': { type: 'boolean' },
      store: { type: 'boolean' },
      reconnects: { type: 'boolean' },
      load: text
    }
  });
  if (values.help) return process.stdout.write(HELP);
  const seed = Number(values.seed ?? Date.now() % 2 ** 31);
  const log = (/** @type {string} */ line) => process.stdout.write(`${line}\n`);
  log(`seed ${seed}`);
  const common = {
    shadows: Number(values.shadows ?? 100000),
    cut: !values['no-cut'],
    random: seeded(seed),
    log
  };
  if (values.store) {
    const { lost, lostByCut, rss, p50, p99 } = await runStore(common);
    const of = (/** @type {number} */ ms) => Math.round(ms * 100) / 100;
    log(
      `the process grew by ${Math.round(rss / 1048576)} MiB; a difference is derived in ${of(p50)} ms (p99 ${of(p99)} ms)`
    );
    process.exitCode = lost + lostByCut > 0 ? 1 : 0;
    return;
  }
  if (values.reconnects) {
    const { connections, missing, backwards, p50, p99, max, load, commits } = await runReconnects({
      shadows: Number(values.shadows ?? 10000),
      devices: Number(values.devices ?? 2000),
      perS: Number(values.rate ?? 200),
      load: Number(values.load ?? 500),
      rounds: 2,
      random: seeded(seed),
      log
    });
    log(`${load.updates} updates (${load.perSecond} a second, ${load.failed} failed) in ${commits} commits`);
    log(
      `${connections} connections: the difference p50 ${p50} ms, p99 ${p99} ms, max ${max} ms after CONNACK; ` +
        `${missing} are missing, ${backwards} were older than one before`
    );
    process.exitCode = missing + backwards > 0 ? 1 : 0;
    return;
  }
  const found = await runShadows({
    ...common,
    devices: Number(values.devices ?? 2000),
    perS: Number(values.rate ?? 50)
  });
  log(`${found.bytesEach} bytes on disk and ${found.memoryEach} bytes in memory for each shadow`);
  log(
    `${found.devices} devices: the difference ${found.p50} ms (p99 ${found.p99} ms) after the connection began, ` +
      `${found.connackP50} ms (p99 ${found.connackP99} ms) after CONNACK; ${found.wrong} were wrong`
  );
  process.exitCode = found.lost > 0 || found.wrong > 0 ? 1 : 0;
}

void main();
