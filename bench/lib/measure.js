'use strict';
// One run: a cloud, a system between, load on one side, the sink on the other.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../test/fixtures/child');
const { startCloud } = require('../../test/fixtures/cloud');
const { build } = require('./build');
const { compareStreams } = require('./compare');
const { readGroups, readGroup } = require('./proc');
const { systems } = require('./systems');

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)));

/**
 * @typedef {object} Profile
 * @property {number} devices @property {number} rate messages a second and device
 * @property {number} seconds of load @property {number} warmup seconds of it that are not measured
 * @property {number} payload bytes @property {number} alarmEvery
 * @property {number} inflight unacknowledged messages a device
 * @property {number} quietMs the sink is done when nothing new came for so long
 * @property {number} drain seconds the generator waits for its last acknowledgements
 * @property {string | undefined} gatewayCpus @property {string | undefined} harnessCpus
 * @property {string} datatype @property {Record<string, string>} gatewayEnv
 * @property {(cloud: import('../../test/fixtures/cloud').Cloud, startMs: number) => Promise<void>} [during]
 *           what happens to the cloud under load
 */

/** @param {Child} sink @param {number} expected @param {number} quietMs */
async function waitForSink(sink, expected, quietMs) {
  let last = -1;
  let since = Date.now();
  const deadline = Date.now() + 120000;
  while (Date.now() < deadline && !sink.exit) {
    const progress = sink
      .jsonLines()
      .filter((line) => line.event === 'progress')
      .pop();
    const unique = progress ? progress.unique : 0;
    if (unique !== last) since = Date.now();
    last = unique;
    // Quiet even when all are here: a duplicate may still be on its way.
    if (Date.now() - since > (unique >= expected ? 1200 : quietMs)) return;
    await sleep(100);
  }
}

/** @param {Child[]} children @param {{value: boolean}} ended @param {number} startMs */
async function sampleMemory(children, ended, startMs) {
  const samples = [];
  while (!ended.value) {
    const { rssBytes } = readGroups(children.map((child) => child.pid));
    samples.push({ second: Math.round((Date.now() - startMs) / 1000), rssMB: Math.round(rssBytes / 1e6) });
    await sleep(1000);
  }
  return samples;
}

/** @param {string} name of the system @param {Profile} profile */
async function measure(name, profile) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-run-'));
  const openFiles = profile.devices * 2 + 1024;
  const cpus = profile.harnessCpus;
  const cloud = await startCloud({ cpus, openFiles });
  /** @type {Child[]} */
  const tools = [];
  let system;
  const ended = { value: false };
  try {
    const sinkFile = path.join(folder, 'sink.json');
    const loadFile = path.join(folder, 'load.json');
    const skip = ['--skip-ms', String(profile.warmup * 1000)];
    // A persistent session: what arrives while the sink is away after an outage waits for it.
    const sink = new Child(
      build('sink'),
      ['--port', `${cloud.plainPort}`, '--clean', '0', '--max-seconds', '1800', '--out', sinkFile, ...skip],
      { name: 'sink', cpus }
    );
    tools.push(sink);
    await sink.until((output) => output.includes('"ready"'));
    system = await systems[name]({ ...profile, cloud, openFiles, cpus: profile.gatewayCpus });
    const groups = system.children.map((child) => child.pid);
    const numbers = {
      port: system.port,
      devices: profile.devices,
      rate: profile.rate,
      seconds: profile.seconds
    };
    const shape = { payload: profile.payload, inflight: profile.inflight, drain: profile.drain };
    const load = new Child(
      build('loadgen'),
      [
        ...Object.entries({ ...numbers, ...shape }).flatMap(([key, value]) => [`--${key}`, String(value)]),
        ...['--alarm-every', String(profile.alarmEvery), '--out', loadFile, ...skip]
      ],
      { name: 'loadgen', cpus, openFiles }
    );
    tools.push(load);
    const start = await load.until(() => load.jsonLines().find((line) => line.event === 'start'), 60000);
    const startMs = start.us / 1000;
    const memory = sampleMemory(system.children, ended, startMs);
    const event = profile.during ? profile.during(cloud, startMs) : Promise.resolve();
    await sleep(startMs + profile.warmup * 1000 - Date.now());
    const before = groups.map(readGroup);
    const beforeMs = Date.now();
    await sleep(startMs + profile.seconds * 1000 - Date.now());
    const after = groups.map(readGroup);
    const wallSeconds = (Date.now() - beforeMs) / 1000;
    await event;
    const loadExit = await load.exited;
    if (loadExit.code !== 0) throw new Error(`loadgen failed:\n${load.output}`);
    const sent = JSON.parse(fs.readFileSync(loadFile, 'utf8'));
    if (system.forwards) await waitForSink(sink, sent.acked, profile.quietMs);
    ended.value = true;
    const rss = await memory;
    const cleanEnd = await system.stop();
    await sink.stop();
    const arrived = JSON.parse(fs.readFileSync(sinkFile, 'utf8'));
    const parts = system.parts.map((part, i) => ({
      part,
      cores: (after[i].cpuSeconds - before[i].cpuSeconds) / wallSeconds
    }));
    const verdict = system.forwards ? compareStreams(sent.streams, arrived.streams) : undefined;
    delete sent.streams;
    delete arrived.streams;
    return {
      system: name,
      seconds: profile.seconds,
      forwards: system.forwards,
      cores: parts.reduce((sum, part) => sum + part.cores, 0),
      parts,
      rssMB: Math.max(...rss.map((sample) => sample.rssMB)),
      memory: rss,
      verdict,
      cleanEnd,
      sent,
      arrived
    };
  } finally {
    ended.value = true;
    if (system) await system.stop();
    for (const tool of tools) await tool.stop();
    await cloud.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @typedef {Awaited<ReturnType<typeof measure>>} Result */

module.exports = { measure, sleep };
