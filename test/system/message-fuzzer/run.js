'use strict';
// Odd messages to every node with an input, in a real Node-RED, while the engine is full, while the uplink is away
// and during deploys. node native/node/run.js test/system/message-fuzzer/run.js --help

const { fork } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const mqtt = require('mqtt');
const { Broker, until } = require('../../../bench/harness/broker');
const { seeded } = require('../../fixtures/random');

const HELP = `node native/node/run.js test/system/message-fuzzer/run.js [--seconds N] [--seed N]

Sends odd messages to every node that has an input, in a real Node-RED with a real mosquitto: fields of the message contract
that are missing, of a wrong type, at a limit, huge, or that throw when they are read. Meanwhile the broker goes away and comes back,
an engine with little memory is full, and flows are deployed. It fails if

  - the process ends, or the log has a fault of the gateway,
  - a message is not completed (done) exactly once,
  - a record that an engine with a log has taken does not arrive,
  - the counters of an engine do not reconcile: queued + recovered = delivered + held + dropped.

  --seconds N   duration (60)
  --seed N      repeats the messages of a run (default: from the clock); the seed is printed
`;
const PHASE_MS = 3000;
const DRAIN_MS = 60000;

/** @typedef {{ findings: string[], summary: string }} Verdict */

/** The process of Node-RED, and its answers. @param {object} options */
function startChild(options) {
  const child = fork(path.join(__dirname, 'child.js'), [JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc']
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-20000)));
  /** @type {Map<string, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  const waiting = new Map();
  const wait = (/** @type {string} */ order) =>
    new Promise((resolve, reject) => waiting.set(order, { resolve, reject }));
  const started = wait('start');
  child.on('message', (/** @type {any} */ { order, error, answer }) => {
    const { resolve, reject } = waiting.get(order) ?? {};
    waiting.delete(order);
    if (error) reject?.(new Error(error));
    else resolve?.(answer);
  });
  const exited = new Promise((resolve) => {
    child.on('exit', (code, signal) => {
      for (const { reject } of waiting.values())
        reject(new Error(`the process of Node-RED ended (${signal ?? code}):\n${output}`));
      resolve(code);
    });
  });
  const ask = (/** @type {string} */ order, /** @type {unknown} */ argument = undefined) => {
    if (child.exitCode !== null || child.signalCode !== null)
      return Promise.reject(new Error(`the process of Node-RED has ended:\n${output}`));
    const answer = wait(order);
    child.send({ order, argument }, () => {});
    return answer;
  };
  return { child, started, exited, ask };
}

/** Collects the numbers of tame records that reach the cloud. @param {string} url @param {Set<number>} arrived */
function listen(url, arrived) {
  const client = mqtt.connect(url, { clientId: 'listener', clean: false, reconnectPeriod: 100 });
  client.on('connect', () => client.subscribe('#', { qos: 1 }));
  client.on('error', () => {});
  client.on('message', (_topic, payload) => {
    for (const [, number] of payload.toString().matchAll(/"tame":(\d+)/g)) arrived.add(Number(number));
  });
  return client;
}

/** @param {string} id @param {Record<string, number>} counters @returns {string[]} */
function unreconciled(id, { queued, recovered, delivered, held, dropped }) {
  const missing = queued + recovered - delivered - held;
  const isRight = missing >= 0 && missing <= dropped;
  return isRight
    ? []
    : [
        `engine ${id}: ${queued} queued + ${recovered} recovered, but ${delivered} delivered + ${held} held + ${dropped} dropped`
      ];
}

/**
 * @param {{ seconds: number, seed: number, say?: (line: string) => void }} options
 * @returns {Promise<Verdict>}
 */
async function fuzz({ seconds, seed, say = () => {} }) {
  const random = seeded(seed ^ 0x5eed);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-message-fuzzer-'));
  const broker = await Broker.start({ log: false });
  const arrived = new Set();
  const listener = listen(broker.plainUrl, arrived);
  await until(() => listener.connected);
  const { child, started, exited, ask } = startChild({ seed, url: broker.plainUrl, folder });
  /** @type {string[]} */
  const findings = [];
  let summary = '';
  try {
    await started;
    const end = Date.now() + seconds * 1000;
    /** @type {{ [name: string]: () => Promise<unknown> }} */
    const phases = {
      away: () => (broker.process ? broker.stop() : broker.start()),
      deploy: () => ask('deploy', ['nodes', 'flows', 'full'][random.integer(3)])
    };
    while (Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(PHASE_MS, Math.max(0, end - Date.now()))));
      const name = Object.keys(phases)[random.integer(2)];
      await phases[name]();
      const { sent, done, open, kept, small } = await ask('look');
      const state = broker.process ? 'there' : 'away';
      const waiting = `${kept.waiting} and ${small.waiting} wait for room`;
      say(`${name}: ${sent} sent, ${done} have ended, ${open} are open, ${waiting}; the broker is ${state}`);
    }
    await ask('pause', true);
    if (!broker.process) await broker.start();
    let [least, leastAt] = [Infinity, Date.now()];
    // A rejected topic costs a connection each: that takes time, but it ends.
    const idle = async () => {
      const { kept, small } = await ask('look');
      const left = [kept, small].reduce((sum, { held, waiting }) => sum + held + waiting, 0);
      if (left < least) {
        [least, leastAt] = [left, Date.now()];
        say(`to be delivered: ${left}`);
      }
      if (Date.now() - leastAt > DRAIN_MS)
        throw new Error(`${left} records are not delivered, without progress for a minute`);
      return left === 0;
    };
    await until(idle, 10 * DRAIN_MS, 'both engines deliver their records').catch((error) =>
      findings.push(error.message)
    );
    const { kept, small } = await ask('look');
    findings.push(...unreconciled('kept', kept), ...unreconciled('small', small));
    const last = await ask('stop');
    findings.push(...last.findings);
    await until(
      () => last.taken.every((/** @type {number} */ each) => arrived.has(each)),
      10000,
      'arrival'
    ).catch(() => {
      const lost = last.taken.filter((/** @type {number} */ each) => !arrived.has(each));
      findings.push(
        `taken and not arrived: ${lost.length} of ${last.taken.length}, such as message ${lost.slice(0, 5)}`
      );
    });
    summary =
      `${last.sent} messages, ${last.done} ended (${last.failed} in an error), ${last.notReceived} that Node-RED cannot route; ` +
      `${last.taken.length} records that must arrive did; engines ${JSON.stringify([kept, small])}`;
    void ask('exit').catch(() => {});
    const code = await exited;
    if (code !== 0) findings.push(`exit code ${code}`);
  } catch (error) {
    findings.push(String(/** @type {Error} */ (error).message));
  } finally {
    if (child.exitCode === null) child.kill('SIGKILL');
    listener.end(true);
    await broker.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  }
  return { findings, summary };
}

async function main() {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
      help: { type: 'boolean' }
    }
  });
  if (values.help) return void process.stdout.write(HELP);
  const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
  if (!(seconds > 0) || !Number.isInteger(seed))
    throw new Error('--seconds and --seed take a number. See --help.');
  console.log(`seed ${seed}, ${seconds} s`);
  const { findings, summary } = await fuzz({ seconds, seed, say: console.log });
  console.log(summary);
  for (const finding of findings) console.log(`FINDING (seed ${seed}): ${finding}`);
  console.log(`${findings.length} findings`);
  process.exitCode = findings.length > 0 ? 1 : 0;
}

if (require.main === module) {
  main().catch((error) => {
    console.error(error.message);
    process.exitCode = 2;
  });
}

module.exports = { fuzz };
