'use strict';
// The broker is killed with SIGKILL three times under load: no acknowledged record may be lost, and the records of a
// device must stay in order.

const { KafkaBroker, kafkaTools } = require('../../../bench/harness/kafka/broker');
const { needs } = require('../../../bench/harness/tools');
const { createTopics, readTopics } = require('../../../bench/harness/kafka/client');
const { Rig } = require('./rig');

const { test } = needs(...kafkaTools());

const DEVICES = 100;
const RATE = 2000;
const TICK_MS = 10;
const KILLS = 3;
const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Pushes records at a fixed rate until stop() is called. */
function load(/** @type {Rig} */ rig) {
  const sent = new Map();
  const next = new Uint32Array(DEVICES);
  let refused = 0;
  let at = 0;
  let from = Date.now();
  let owed = 0;
  const timer = setInterval(() => {
    const now = Date.now();
    owed += ((now - from) * RATE) / 1000;
    from = now;
    for (; owed >= 1; owed--) {
      const device = at++ % DEVICES;
      const text = `${device}:${next[device]}`;
      const ticket = rig.push(`dev-${device}`, text.padEnd(109, ' '), { cls: device % 10 === 0 ? 1 : 3 });
      if (ticket === 0) refused++;
      else {
        sent.set(ticket, text);
        next[device]++;
      }
    }
    rig.complete();
  }, TICK_MS);
  return { sent, stop: () => clearInterval(timer), refused: () => refused };
}

test('loses no acknowledged record and keeps the order of each device while its broker is killed three times', async () => {
  const broker = await new KafkaBroker().start();
  const rig = new Rig({ brokers: broker.address }, { log: true });
  try {
    await createTopics(broker.address, ['seganet.critical', 'seganet.normal'], 4);
    await rig.reach('connected');
    const run = load(rig);
    for (let kill = 0; kill < KILLS; kill++) {
      await sleep(3000);
      await broker.kill();
      // In the last outage, records leave memory and come back from the log.
      await sleep(kill === KILLS - 1 ? 15000 : 1500);
      await broker.again();
      await rig.reach('connected', 120000);
    }
    await sleep(2000);
    run.stop();
    await rig.allDone(120000);

    const { sent, refused } = run;
    const acknowledged = new Set(
      [...rig.completed].filter(([, end]) => end === 1).map(([id]) => sent.get(id))
    );
    expect(refused()).toBe(0);
    expect(acknowledged.size).toBe(sent.size);
    expect(sent.size).toBeGreaterThan(KILLS * 4 * RATE);

    const keys = new Set();
    const seen = new Set();
    const texts = (/** @type {any[]} */ got) => new Set(got.map(({ value }) => String(value).trim())).size;
    let counted = 0;
    let distinct = 0;
    const got = await readTopics(
      broker.address,
      ['seganet.critical', 'seganet.normal'],
      (all) => {
        // Counted only when something new came: there are many.
        if (all.length !== counted) distinct = texts(all);
        counted = all.length;
        return distinct >= sent.size;
      },
      120000
    );
    let twice = 0;
    // The live records of a device and class are in order, and its historical ones are.
    const last = new Map();
    let historical = 0;
    const keysOf = new Map();
    let disorder = 0;
    for (const message of got) {
      const text = String(message.value).trim();
      const { key } = message.headers;
      if (seen.has(text)) {
        twice++;
        // A second copy has the same key, so that a receiver can drop it.
        expect(keysOf.get(text)).toBe(key);
        continue;
      }
      expect(keys.has(key)).toBe(false);
      keys.add(key);
      keysOf.set(text, key);
      seen.add(text);
      const [device, number] = text.split(':').map(Number);
      const lane = `${device} ${message.headers.history ?? 'live'}`;
      if (number <= (last.get(lane) ?? -1)) disorder++;
      last.set(lane, number);
      if (message.headers.history) historical++;
    }
    const lost = [...acknowledged].filter((text) => !seen.has(text)).length;
    process.stdout.write(
      `acknowledged ${acknowledged.size}, lost ${lost}, twice ${twice}, out of order ${disorder}, ` +
        `historical ${historical}, refused requests ${rig.state.refusals}\n`
    );
    expect({ lost, disorder }).toEqual({ lost: 0, disorder: 0 });
  } finally {
    await rig.stop();
    await broker.stop();
  }
}, 480000);
