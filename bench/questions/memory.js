'use strict';
// Shows what the gateway's memory consists of, beside an empty Node-RED.  node bench/questions/memory.js --help

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const { Child } = require('../harness/child');
const { BenchGateway } = require('../harness/bench-gateway');
const { startCloud } = require('../harness/cloud');
const { divide, heapsOf } = require('../harness/memory/parts');
const { readMemory } = require('../harness/memory');
const { freePort } = require('../harness/net');
const { readOptions } = require('../options/options');
const { Stage, sleep } = require('../runs/stage');
const { conditions, markdown, list, save, fixed } = require('../report/report');

const intro = `Usage: node flows/launcher/run.js bench/questions/memory.js [options]

Prints resident memory (RSS), the proportional share (PSS), and anonymous memory, which belongs to no file, in MB (10^6
bytes):
  node      a Node that does nothing
  nodered   an empty Node-RED with its editor, as 'npm install node-red' and 'node-red' start it
  rest      the gateway without an editor, connected to a cloud, --settle seconds after its start
  editor    the same with the editor
  load      the gateway at rest, under load, after --outage seconds without a cloud, and when the backlog is sent
PSS divides the pages of the node binary among all processes of the same Node, so the number of them matters. Then the
parts of each process's memory, and V8's heaps at the end of each process.`;

/** @typedef {{ name: string, memory: import('../harness/memory').Memory, anonymous: number, threads: number,
 *   parts: import('../harness/memory/parts').Part[], heaps: import('../harness/memory/parts').Heap[] }} Reading */

/** Where Node.js writes its diagnostic reports. */
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-memory-'));
const report = path.join(folder, 'report.json');

/** @param {string} name @param {number} pid @returns {Reading} */
function readingOf(name, pid) {
  const parts = divide(fs.readFileSync(`/proc/${pid}/smaps`, 'utf8'), fs.readlinkSync(`/proc/${pid}/exe`));
  return {
    name,
    memory: readMemory([pid]),
    anonymous: parts.reduce((sum, { anonymous }) => sum + anonymous, 0),
    threads: fs.readdirSync(`/proc/${pid}/task`).length,
    parts,
    heaps: []
  };
}

/**
 * Asks a process for a diagnostic report, which changes its memory: the last thing to do with it.
 * @param {Child} child
 * @returns {Promise<import('../harness/memory/parts').Heap[]>}
 */
async function readHeaps(child) {
  fs.rmSync(report, { force: true });
  child.process.kill('SIGUSR2');
  for (let tries = 0; tries < 100; tries++) {
    await sleep(100);
    try {
      return heapsOf(JSON.parse(fs.readFileSync(report, 'utf8')));
    } catch {
      // not written, or not completely
    }
  }
  return [];
}

/**
 * @param {string} name @param {Child} child @param {number} settleS
 * @returns {Promise<Reading>}
 */
async function atRest(name, child, settleS) {
  await sleep(settleS * 1000);
  const reading = readingOf(name, child.pid);
  return { ...reading, heaps: await readHeaps(child) };
}

/**
 * @typedef {{ flags: string[], settleS: number, outageS: number,
 *   profile: import('../runs/measure').Profile }} Setup
 */

/** @param {Setup} setup */
async function bareNode({ flags, settleS }) {
  const child = new Child(process.execPath, [...flags, '-e', 'setInterval(() => {}, 1e9)']);
  try {
    return [await atRest('node', child, Math.min(settleS, 2))];
  } finally {
    await child.stop('SIGKILL');
  }
}

/** @param {Setup} setup */
async function emptyNodeRed({ flags, settleS }) {
  const home = fs.mkdtempSync(path.join(folder, 'nodered-'));
  const settings = {
    ...{ userDir: home, flowFile: 'flows.json', credentialSecret: false },
    ...{ uiHost: '127.0.0.1', uiPort: await freePort() },
    telemetry: { enabled: false, updateNotification: false }
  };
  fs.writeFileSync(path.join(home, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  fs.writeFileSync(path.join(home, 'flows.json'), '[]');
  const args = [...flags, require.resolve('node-red/red.js'), '-s', path.join(home, 'settings.js')];
  const child = new Child(process.execPath, args, { name: 'node-red' });
  try {
    await child.until((output) => output.includes('Started flows'), 60000);
    return [await atRest('nodered', child, settleS)];
  } finally {
    await child.stop('SIGKILL');
  }
}

/** @param {'rest' | 'editor'} name @returns {(setup: Setup) => Promise<Reading[]>} */
const gateway =
  (name) =>
  async ({ settleS, profile }) => {
    const cloud = await startCloud();
    const system = new BenchGateway({ cloud, env: profile.gatewayEnv, statistics: name === 'editor' });
    try {
      await system.start();
      return [await atRest(name, /** @type {Child} */ (system.child), settleS)];
    } finally {
      await system.close();
      await cloud.close();
    }
  };

/** @param {Setup} setup */
async function underLoad({ settleS, outageS, profile }) {
  const stage = new Stage({ ...profile, seconds: profile.seconds + outageS + (outageS ? 10 : 0) });
  /** @type {Reading[]} */
  const readings = [];
  try {
    await stage.open();
    const { children } = await stage.startSystem('seganet');
    const [child] = children;
    const read = (/** @type {string} */ name) => readings.push(readingOf(name, child.pid));
    await sleep(settleS * 1000);
    read('load: before');
    const load = await stage.startLoad().started();
    await sleep(load.startMs + profile.seconds * 1000 - Date.now());
    read('load: under load');
    if (outageS > 0) {
      await stage.cloud?.stop();
      await sleep(outageS * 1000);
      read('load: in the outage');
      await stage.cloud?.start();
    }
    const { acked } = await load.result();
    await stage.settle(acked, 20000, 120000 + outageS * 2000);
    await sleep((settleS + 10) * 1000);
    read('load: afterwards');
    const last = /** @type {Reading} */ (readings.at(-1));
    last.heaps = await readHeaps(child);
    return readings;
  } finally {
    await stage.close();
  }
}

/** @type {Record<string, (setup: Setup) => Promise<Reading[]>>} */
const CASES = {
  node: bareNode,
  nodered: emptyNodeRed,
  rest: gateway('rest'),
  editor: gateway('editor'),
  load: underLoad
};

const mb = (/** @type {number} */ bytes) => fixed(bytes / 1e6, 1);

/** @param {Reading[]} readings */
function print(readings) {
  const rows = readings.map(({ name, memory, anonymous, threads }) => [
    name,
    mb(memory.rss),
    mb(memory.pss),
    mb(anonymous),
    threads
  ]);
  console.log(`\n${markdown(['', 'RSS', 'PSS', 'anonymous', 'threads'], rows)}`);
  const names = [...new Set(readings.flatMap(({ parts }) => parts.map(({ part }) => part)))];
  const rss = names.map((name) => [
    name,
    ...readings.map(({ parts }) => mb(parts.find(({ part }) => part === name)?.rss ?? 0))
  ]);
  console.log(`\nRSS by part:\n\n${markdown(['', ...readings.map(({ name }) => name)], rss)}`);
  const heaps = readings.flatMap(({ name, heaps: all }) =>
    all.map(({ thread, total, used, young }) => [name, thread, mb(total), mb(used), mb(young)])
  );
  console.log(
    `\nV8's heaps:\n\n${markdown(['', 'thread', 'committed', 'used', 'space for new objects'], heaps)}`
  );
}

async function main() {
  const { profile, out, own } = readOptions(intro, {
    defaults: { seconds: '20', warmup: '1', systems: '' },
    numbers: {
      settle: ['15', 1, 600, 'seconds without load before a reading'],
      outage: ['0', 0, 3600, 'length of the outage in seconds, 0 = none']
    },
    texts: {
      cases: ['node,nodered,rest,editor,load', `comma-separated, of ${Object.keys(CASES).join(', ')}`],
      'node-flags': ['--max-semi-space-size=1', 'flags of Node for all cases, separated by spaces']
    }
  });
  const flags = own['node-flags'].split(/\s+/).filter(Boolean);
  const names = own.cases.split(',');
  for (const name of names) if (!CASES[name]) throw new Error(`--cases: '${name}' is not known. See --help.`);
  const start = ['flows/launcher/run.js', 'flows/launcher/start.js'];
  process.env.SEGANET_TEST_GATEWAY = JSON.stringify([process.execPath, ...flags, ...start]);
  process.env.NODE_OPTIONS = `--report-on-signal --report-directory=${folder} --report-filename=report.json --report-exclude-network`;
  const facts = { ...conditions(profile, 1), flags: flags.join(' ') || 'none' };
  /** @type {Reading[]} */
  const readings = [];
  try {
    for (const name of names) {
      readings.push(...(await CASES[name]({ flags, settleS: own.settle, outageS: own.outage, profile })));
    }
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
  console.log(list(facts));
  print(readings);
  save(out, { conditions: facts, readings });
}

void main();
