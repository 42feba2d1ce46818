'use strict';
// One run over the shaped link: a gateway, devices of several classes, and the traffic in a time window.

const { Stage, sleep } = require('./stage');
const { difference, readBands, shape } = require('../harness/qdisc');
const { loadOptions, rulesOf } = require('../harness/traffic');

/**
 * @typedef {import('../harness/traffic').Traffic} Traffic
 *
 * @typedef {object} LinkPlan
 * @property {string} qdisc of harness/qdisc.js @property {number} rate bit/s
 * @property {Traffic[]} traffic
 * @property {number} seconds of load @property {number} warmup seconds of it before the window
 * @property {number} payload bytes
 * @property {Record<string, string>} env of the gateway
 * @property {string | undefined} gatewayCpus @property {string | undefined} harnessCpus
 * @property {boolean} [drain] wait for all records to arrive, so that losses are known; default true
 */

/** @type {Set<Stage>} */
const open = new Set();

/** Ends all running stages. */
async function closeStages() {
  await Promise.all([...open].map((stage) => stage.close()));
}

/** @param {import('../harness/netns').LinkedNetworks} network @param {LinkPlan} plan */
async function measureLink(network, plan) {
  const { traffic, seconds, warmup, drain = true } = plan;
  const offered = traffic.reduce((sum, { perSecond }) => sum + perSecond, 0);
  const stage = new Stage({
    devices: traffic.reduce((sum, { devices }) => sum + devices, 0),
    rate: 1,
    seconds,
    warmup,
    payload: plan.payload,
    alarmEvery: 0,
    inflight: 64,
    quietMs: 5000,
    drain: drain ? 60 : 0,
    gatewayCpus: plan.gatewayCpus,
    harnessCpus: plan.harnessCpus,
    datatype: 'buffer',
    statistics: true,
    gatewayEnv: { SEGANET_RULES: rulesOf(traffic), 'seganet-batch.minDevices': '0', ...plan.env },
    cloudAt: { host: network.there, within: network.inCloud }
  });
  open.add(stage);
  try {
    shape(network.interface, plan.qdisc, plan.rate);
    await stage.open({ 'sample-every': 1 });
    const { gateway } = await stage.startSystem('seganet');
    const loads = traffic.map((each) => stage.startLoad(loadOptions(each)));
    const starts = (await Promise.all(loads.map((load) => load.started()))).map(({ startMs }) => startMs);
    const fromMs = Math.max(...starts) + warmup * 1000;
    const toMs = Math.min(...starts) + seconds * 1000;
    await sleep(fromMs - Date.now());
    const before = readBands(network.interface);
    await sleep(toMs - Date.now());
    const bands = difference(before, readBands(network.interface));
    const gatewayView = await gateway?.stats();
    const ends = await Promise.all(loads.map((load) => load.result()));
    const acked = ends.reduce((sum, end) => sum + end.acked, 0);
    if (drain) await stage.settle(acked, 5000, 60000 + seconds * 3000);
    const { sent, arrived, verdicts, samples, cleanEnd } = await stage.finish();
    return {
      fromMs,
      toMs,
      offered,
      bands,
      gateway: gatewayView,
      arrived,
      samples,
      cleanEnd,
      loads: traffic.map((each, i) => ({ ...each, sent: sent[i], verdict: drain ? verdicts[i] : undefined }))
    };
  } finally {
    open.delete(stage);
    await stage.close();
  }
}

/** @typedef {Awaited<ReturnType<typeof measureLink>>} LinkResult */

module.exports = { measureLink, closeStages };
