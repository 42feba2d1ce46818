'use strict';
// The IoTivity Cloud paper's test of its CoAP-over-TCP interface, against this gateway.
//   node bench/coap.js --help

const path = require('node:path');
const fs = require('node:fs');
const { Child } = require('../test/fixtures/child');
const { freePort, waitForPort } = require('../test/fixtures/net');
const { build } = require('./lib/build');
const { fail, readOptions } = require('./lib/options');
const { conditions, markdown, list, save } = require('./lib/report');
const { Stage, sleep } = require('./lib/stage');

const intro = `Usage: node bench/coap.js [options]

Devices, each with a CoAP connection over TCP of its own, post requests of 109 B at random times (Poisson), as in the
paper, for --seconds, at --requests a second in all; a request is answered 2.04 when its record is safe, which is in
the cloud here. Beside it the same load against a server that answers 87 B at once and does nothing else: what the
generator can do at most. 'per second' counts answers until the last intended sending.`;

const ENGINE = 'seganet-engine-1';
const PRIORITY = 'seganet-priority-1';

/** @param {number} port */
const coapNode = (port) => ({
  id: 'seganet-coap-1',
  type: 'seganet-coap-devices',
  z: 'seganet-tab',
  name: '',
  engine: ENGINE,
  transport: 'tcp',
  host: '127.0.0.1',
  port: String(port),
  path: 'd', // so that the topic is as the sink expects it
  commandPath: 'cmd',
  login: 'none',
  wires: [[PRIORITY]],
  x: 120,
  y: 300
});

/**
 * @param {number} port @param {Record<string, string | number>} options @param {string} file
 * @param {string | undefined} cpus
 */
async function generate(port, options, file, cpus) {
  const flags = Object.entries({ port, ...options, out: file }).flatMap(([name, value]) => [
    `--${name}`,
    String(value)
  ]);
  const child = new Child(build('coapgen'), flags, { name: 'coapgen', cpus, openFiles: 4096 });
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`coapgen failed:\n${child.output}`);
  return JSON.parse(fs.readFileSync(file, 'utf8'));
}

/** The generator against a server that does nothing. @param {any} profile @param {Record<string, string | number>} options */
async function alone(profile, options) {
  const port = await freePort();
  const cpus = profile.gatewayCpus;
  const server = new Child(build('coapbare'), ['--port', String(port)], {
    name: 'coapbare',
    cpus,
    openFiles: 4096
  });
  const file = path.join(fs.mkdtempSync('/tmp/seganet-coap-'), 'load.json');
  try {
    await waitForPort(port, '127.0.0.1', 10000, () => Boolean(server.exit));
    return await generate(port, options, file, profile.harnessCpus);
  } finally {
    await server.stop();
    fs.rmSync(path.dirname(file), { recursive: true, force: true });
  }
}

/** @param {any} profile @param {Record<string, string | number>} options */
async function gateway(profile, options) {
  const port = await freePort();
  const stage = new Stage({ ...profile, flow: [coapNode(port)], openFiles: 8192 });
  try {
    await stage.open();
    const { children } = await stage.startSystem('seganet');
    await waitForPort(port, '127.0.0.1', 10000, () => Boolean(children[0].exit));
    const before = stage.cpu()[0];
    const since = Date.now();
    const load = await generate(port, options, path.join(stage.folder, 'coap.json'), profile.harnessCpus);
    const cores = (stage.cpu()[0] - before) / ((Date.now() - since) / 1000);
    await stage.settle(load.answered, 4000, 60000);
    stage.made.push(...load.streams);
    const { verdict, arrived } = await stage.finish();
    return { load, cores, verdict, arrived };
  } finally {
    await stage.close();
  }
}

async function main() {
  const { profile, out, own } = readOptions(intro, {
    defaults: { systems: '', seconds: '30', repeat: '1', warmup: '0' },
    numbers: {
      requests: ['15000', 1, 1000000, 'requests a second, of all devices together'],
      window: ['64', 1, 60000, 'unanswered requests of a device, at most']
    },
    texts: { counts: ['1,10,100,500,1000', 'numbers of devices'] }
  });
  const counts = own.counts.split(',').map(Number);
  if (counts.some((/** @type {number} */ count) => !(count >= 1 && count <= 4000)))
    fail('--counts must be numbers from 1 to 4000');
  const rows = [];
  const runs = [];
  for (const devices of counts) {
    const options = { devices, rate: own.requests, seconds: profile.seconds, window: own.window };
    const limit = await alone(profile, options);
    await sleep(1000);
    const { load, cores, verdict, arrived } = await gateway(profile, options);
    const perSecond = (/** @type {any} */ run) => Math.round(run.answeredInTime / run.seconds);
    const ms = (/** @type {number} */ us) => (us / 1000).toFixed(1);
    const lost = (verdict?.lost ?? 0) + load.refused + load.connectionLosses;
    rows.push([
      String(devices),
      String(perSecond(load)),
      `${ms(load.answerUs.p50)} / ${ms(load.answerUs.p99)}`,
      String(lost),
      String(arrived.duplicates),
      cores.toFixed(2),
      `${load.requestBytes} / ${load.responseBytes}`,
      String(perSecond(limit)),
      `${ms(limit.answerUs.p50)} / ${ms(limit.answerUs.p99)}`
    ]);
    delete load.streams;
    delete limit.streams;
    runs.push({ devices, load, limit, cores, verdict });
    console.error(
      `${devices} devices: ${perSecond(load)}/s, the generator alone ${perSecond(limit)}/s, lost ${lost}`
    );
  }
  const facts = {
    ...conditions(profile, 1),
    load: `${own.requests} requests/s in all, Poisson, ${profile.seconds} s, window ${own.window}; answered when the cloud has the record`
  };
  const titles = [
    'devices',
    'answered per second',
    'p50 / p99 ms',
    'lost',
    'dup',
    'gateway cores',
    'request / response B',
    'generator alone per second',
    'its p50 / p99 ms'
  ];
  console.log(`${list(facts)}\n\n${markdown(titles, rows)}`);
  save(out, { conditions: facts, runs });
}

main();
