'use strict';
// A gateway of several dies behind HAProxy: which devices move, and when each of its devices is acknowledged again.
//   node native/node/run.js bench/questions/balanced.js --help

const { eventually } = require('../harness/net');
const { haveTool } = require('../harness/tools');
const { readOptions, fail } = require('../options/options');
const { conditions, markdown, list, save, fixed } = require('../report/report');
const { moves, startBalancer, startGateways, whereabouts } = require('../runs/gateways');
const { Stage, sleep } = require('../runs/stage');
const { percentile } = require('../stats/latency');

const intro = `Usage: node native/node/run.js bench/questions/balanced.js [options]

Gateways behind HAProxy with docker/cluster/haproxy.cfg (hash by client id). --devices send records, and --silent further
devices only stay connected. In each round one gateway dies under load. 'moved' are devices of the others that are at
another gateway afterwards, 'cut' those that had to connect again. 'share' is the dead gateway's part of all devices,
times the number of gateways: 1 is even. 'back' is the longest wait of a device of the dead gateway for a PUBACK, from the
time at which it meant to send: a device tries to connect again after 100 to 200 ms.`;

/** From the start of the load. */
const KILL_MS = 3000;
const BACK_MS = 15000;
/** HAProxy must find a gateway up four times, 250 ms apart. */
const UP_MS = 2000;

/** @typedef {import('../systems').System} System */

/**
 * @param {Stage} stage @param {number} port of the balancer @param {System[]} gateways @param {number} dead
 * @param {{ silent: number, death: string }} given
 */
async function killOne(stage, port, gateways, dead, { silent, death }) {
  const { devices } = stage.profile;
  const quiet = stage.startLoad({ port, devices: silent, rate: 0, 'first-device': devices, clean: 0 });
  await quiet.started();
  const load = await stage.startLoad({ port, clean: 0 }).started();
  const before = await whereabouts(gateways);
  await sleep(load.startMs + KILL_MS - Date.now());
  const { gateway } = gateways[dead];
  gateway?.child?.kill(death === 'freeze' ? 'SIGSTOP' : 'SIGKILL');
  const others = gateways.filter((_gateway, index) => index !== dead);
  await eventually(async () => (await whereabouts(others)).size === devices + silent, {
    timeoutMs: BACK_MS,
    everyMs: 250,
    what: 'all devices at the other gateways'
  });
  /** The dead one keeps its place in the list. */
  const after = new Map(
    [...(await whereabouts(others))].map(([device, place]) => [
      device,
      { ...place, gateway: place.gateway < dead ? place.gateway : place.gateway + 1 }
    ])
  );
  const { streams, acked, sent } = await load.result();
  await quiet.result();
  await gateways[dead].kill();
  /** ms, by device; a stream is a device and a kind. @type {Map<string, number>} */
  const waits = new Map();
  for (const { device, longestUs } of streams) {
    const name = `dev-${String(device).padStart(5, '0')}`;
    if (before.get(name)?.gateway !== dead) continue;
    waits.set(name, Math.max(waits.get(name) ?? 0, longestUs / 1000));
  }
  return {
    ...moves(before, after, dead, gateways.length),
    backMs: [...waits.values()],
    unacked: sent - acked
  };
}

/**
 * @param {import('../runs/measure').Profile} profile @param {number} count of gateways
 * @param {{ repeat: number, silent: number, death: string }} given
 */
async function run(profile, count, given) {
  const { repeat, silent } = given;
  const openFiles = (profile.devices + silent) * 2 + 1024;
  const stage = new Stage({ ...profile, openFiles, statistics: true });
  /** @type {System[]} */
  const gateways = [];
  /** @type {Awaited<ReturnType<typeof killOne>>[]} */
  const rounds = [];
  try {
    await stage.open();
    await startGateways(stage, count, { SEGANET_DEVICE_PROXIES: '127.0.0.0/8' }, gateways);
    const { port } = await startBalancer(stage, gateways);
    for (let round = 0; round < repeat; round++) {
      const dead = round % count;
      rounds.push(await killOne(stage, port, gateways, dead, given));
      await gateways[dead].restart();
      await sleep(UP_MS);
      const { share, moved } = rounds[round];
      console.error(
        `${count} gateways, round ${round + 1}/${repeat}: share ${share.toFixed(2)}, moved ${moved}`
      );
    }
    return { count, rounds };
  } finally {
    for (const gateway of gateways) await gateway.close();
    await stage.close();
  }
}

/** @param {Awaited<ReturnType<typeof run>>} found */
function row({ count, rounds }) {
  const sum = (/** @type {'moved' | 'cut' | 'unacked'} */ field) =>
    rounds.reduce((all, each) => all + each[field], 0);
  const shares = rounds.map(({ share }) => share);
  const back = rounds.flatMap(({ backMs }) => backMs);
  const at = (/** @type {number} */ part) => fixed(percentile(back, part));
  return [
    count,
    rounds.length,
    `${fixed(Math.min(...shares), 2)} to ${fixed(Math.max(...shares), 2)}`,
    sum('moved'),
    sum('cut'),
    back.length,
    `${at(0.5)} / ${at(0.99)} / ${at(1)}`,
    sum('unacked')
  ];
}

const head = [
  'gateways',
  'killed',
  'share × gateways',
  'moved',
  'cut',
  'devices that send',
  'back p50/p99/max ms'
];
head.push('never acknowledged');

async function main() {
  const { profile, repeat, out, own } = readOptions(intro, {
    defaults: { devices: '400', seconds: '12', warmup: '0', repeat: '4', systems: '', pin: 'none' },
    numbers: { silent: ['2000', 1, 8000, 'further devices, which only stay connected'] },
    texts: {
      gateways: ['2,4', 'numbers of gateways, 2 to 8 each'],
      death: ['kill', 'kill (SIGKILL), or freeze (SIGSTOP), which closes no connection, like a power cut']
    }
  });
  const counts = own.gateways.split(',').map(Number);
  if (!counts.every((/** @type {number} */ each) => Number.isInteger(each) && each >= 2 && each <= 8))
    fail('--gateways must be numbers from 2 to 8, such as 2,4');
  if (own.death !== 'kill' && own.death !== 'freeze') fail('--death must be kill or freeze');
  const missing = ['mosquitto', 'haproxy'].filter((tool) => !haveTool(tool));
  if (missing.length > 0) fail(`needs ${missing.join(', ')}`);
  const facts = { ...conditions(profile, repeat), silent: `${own.silent} further devices`, death: own.death };
  const results = [];
  for (const count of counts)
    results.push(await run(profile, count, { repeat, silent: own.silent, death: own.death }));
  console.log(`${list(facts)}\n\n${markdown(head, results.map(row))}`);
  save(out, { conditions: facts, profile, results });
}

main().catch((error) => {
  console.error(error.stack);
  process.exit(1);
});
