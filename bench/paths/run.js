'use strict';
// One run of the whole gateway over the two links: load, events on the links, and the results.

const fs = require('node:fs');
const path = require('node:path');
const { load } = require('../systems');
const { latencyOf } = require('../stats/by-class');
const { systems, byName } = require('../options/systems');
const { Stage, sleep } = require('../runs/stage');
const { loadOptions, rulesOf } = require('../harness/traffic');
const { gaps, goodput, zeroSeconds } = require('./arrivals');
const { Observer } = require('./observer');
const { pausesOf } = require('./pauses');

/**
 * @typedef {import('./lab').PathsLab} PathsLab
 *
 * @typedef {object} Event
 * @property {number} at seconds after the start of the load @property {string} what
 * @property {(lab: PathsLab, stage: Stage) => unknown} do
 *
 * @typedef {object} PathsPlan
 * @property {string} [paths] of SEGANET_UPLINK_PATHS and the watch; '' = none. Default p1,p2
 * @property {boolean} [mptcp] the broker speaks MPTCP. Default true
 * @property {boolean | 'apply'} [watch] runs `seganet-paths watch`, or only `apply`. Default: if there are paths
 * @property {string[]} [watchArgs] more arguments of the watch
 * @property {string} [system] of bench/systems or bench/paths/systems. Default seganet
 * @property {number} seconds of load @property {number} [warmup] seconds of it that do not count
 * @property {import('../harness/traffic').Traffic[]} traffic
 * @property {number} [drain] seconds for which devices send waiting records afterwards. Default 60; few for a
 *          saturating load
 * @property {Record<string, string>} [env] of the gateway
 * @property {Event[]} [events]
 * @property {string[]} [alsoAt] additional addresses of the broker
 * @property {string} [gatewayCpus] @property {string} [harnessCpus]
 */

/**
 * A record that waits in the log is lost if nothing at all has arrived for so long. TCP over a path that was silent
 * tries again only after as long a time as the silence; a slow machine takes its time for a new session too.
 */
const QUIET_MS = 20000;

/** Adapters like those of bench/systems, for this comparison only. */
const ownSystems = path.join(__dirname, 'systems');

/** @type {Set<Stage>} */
const open = new Set();

/** Ends all running stages. */
async function closeStages() {
  await Promise.all([...open].map((stage) => stage.close()));
}

function allSystems() {
  return fs.existsSync(ownSystems) ? { ...systems, ...byName(load(ownSystems)) } : systems;
}

/** @param {PathsLab} lab @param {PathsPlan} plan */
function stageOf(lab, plan) {
  const { paths = 'p1,p2', mptcp = true, traffic, seconds, warmup = 3, drain = 60, env } = plan;
  return new Stage({
    devices: traffic.reduce((sum, { devices }) => sum + devices, 0),
    rate: 1,
    seconds,
    warmup,
    payload: 200,
    alarmEvery: 0,
    inflight: 64,
    quietMs: 5000,
    drain,
    gatewayCpus: plan.gatewayCpus,
    harnessCpus: plan.harnessCpus,
    datatype: 'buffer',
    statistics: true,
    gatewayEnv: {
      SEGANET_RULES: rulesOf(traffic),
      'seganet-batch.minDevices': '0',
      ...(paths && { SEGANET_UPLINK_PATHS: paths }),
      ...env
    },
    cloudAt: {
      host: lab.broker,
      alsoAt: plan.alsoAt,
      within: [...lab.inCloud, ...(mptcp ? ['mptcpize', 'run'] : [])],
      sinkWithin: lab.inCloud
    }
  });
}

/**
 * @param {PathsLab} lab @param {Stage} stage @param {Event[]} events @param {number} startMs
 * @param {{ms: number, what: string}[]} marks
 */
async function happen(lab, stage, events, startMs, marks) {
  for (const { at, what, do: act } of [...events].sort((a, b) => a.at - b.at)) {
    await sleep(startMs + at * 1000 - Date.now());
    marks.push({ ms: Date.now() - startMs, what });
    await act(lab, stage);
  }
}

/**
 * Returns the CONNECTs that the broker accepted, by client id, without those of the harness.
 * @param {import('../harness/cloud').Cloud} cloud
 */
function connectsOf(cloud) {
  /** @type {Record<string, number>} */
  const connects = {};
  const said = cloud.history + (cloud.child?.output ?? '');
  for (const [, id] of said.matchAll(/New (?:bridge |client )connected from \S+ as (\S+)/g)) {
    if (!/^(bench-|receiver)/.test(id)) connects[id] = (connects[id] ?? 0) + 1;
  }
  return connects;
}

/** @param {PathsLab} lab @param {PathsPlan} plan */
async function measurePaths(lab, plan) {
  const { paths = 'p1,p2', traffic, seconds, warmup = 3, events = [], system = 'seganet' } = plan;
  const stage = stageOf(lab, plan);
  open.add(stage);
  /** @type {Observer | undefined} */
  let observer;
  try {
    await stage.open({ 'sample-every': 1 });
    const cloud = /** @type {import('../harness/cloud').Cloud} */ (stage.cloud);
    if (plan.watch === 'apply') lab.apply(paths);
    else if (paths && plan.watch !== false) await lab.watch(paths, cloud.tlsPort, plan.watchArgs);
    const { gateway } = await stage.startSystem(system, allSystems());
    observer = new Observer(lab, gateway);
    await observer.whole(plan.mptcp === false ? 1 : paths.split(',').filter(Boolean).length);
    const loads = traffic.map((each) => stage.startLoad(loadOptions(each)));
    const starts = (await Promise.all(loads.map((each) => each.started()))).map(({ startMs }) => startMs);
    const startMs = Math.min(...starts);
    observer.start(startMs);
    /** @type {{ms: number, what: string}[]} */
    const marks = [];
    await Promise.all([
      happen(lab, stage, events, startMs, marks),
      sleep(startMs + seconds * 1000 - Date.now())
    ]);
    const ends = await Promise.all(loads.map((each) => each.result()));
    const acked = ends.reduce((sum, end) => sum + end.acked, 0);
    await stage.settle(acked, QUIET_MS, 120000);
    await observer.stop();
    const gatewayView = await gateway?.stats();
    const connects = connectsOf(cloud);
    const watchLog = lab.watchLog.map((line) => ({ ...line, ms: line.ms - startMs }));
    const { sent, arrived, verdict, samples } = await stage.finish();
    const window = { samples, fromMs: startMs + warmup * 1000, toMs: startMs + seconds * 1000 };
    return {
      seconds,
      warmup,
      sent: sent.reduce((sum, each) => sum + each.sent, 0),
      acked,
      lost: verdict?.lost ?? 0,
      /** Includes unacknowledged records. */
      missing: (verdict?.lost ?? 0) + (verdict?.missingUnacked ?? 0),
      duplicated: arrived.duplicates,
      outOfOrder: arrived.outOfOrder,
      ...gaps(window, traffic, startMs),
      pauses: pausesOf(
        samples.map(({ arrivedMs }) => arrivedMs - startMs),
        warmup * 1000,
        seconds * 1000
      ),
      zeroSeconds: zeroSeconds(window, startMs),
      goodput: goodput(window, startMs, seconds),
      connects,
      ...observer.seen,
      classes: Object.fromEntries(traffic.map(({ class: cls }) => [cls, latencyOf([window], cls)])),
      marks,
      watchLog,
      gateway: gatewayView,
      said: gateway?.output.split('\n').filter((line) => /\[(warn|error)\]/.test(line)) ?? []
    };
  } finally {
    open.delete(stage);
    await observer?.stop();
    await stage.close();
    await lab.unwatch();
  }
}

/** @typedef {Awaited<ReturnType<typeof measurePaths>>} PathsResult */

module.exports = { measurePaths, closeStages };
