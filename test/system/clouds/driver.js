'use strict';
// Runs every preset of examples/clouds against a mosquitto that is configured like that cloud. Start it in a separate
// network namespace, because presets have a fixed port for devices. Each line on stdout is { preset, error }.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const mqtt = require('mqtt');
const { eventually, waitForPort } = require('../../../bench/harness/net');
const { Authority } = require('../../fixtures/devices/authority');
const { root } = require('../../fixtures/gateway/packed');
const { NodeRed, linkPalette } = require('../../fixtures/gateway/palette');
const { CLOUDS, READER, startBroker, variables, plainPort } = require('./brokers');

/** @typedef {{ topic: string, payload: Buffer }} Arrival */

/** @param {boolean} holds @param {string} what */
function expectThat(holds, what) {
  if (!holds) throw new Error(what);
}

/** Receives everything that arrives in a cloud. @param {string} name */
async function reader(name) {
  /** @type {Arrival[]} */
  const arrivals = [];
  const { user: username, password } = READER;
  const login = CLOUDS[name].login?.password === '' ? {} : { username, password };
  const client = await mqtt.connectAsync({
    host: '127.0.0.1',
    port: plainPort(CLOUDS[name]),
    protocolVersion: 5,
    ...login
  });
  client.on('message', (topic, payload) => arrivals.push({ topic, payload }));
  await client.subscribeAsync('#', { qos: 1 });
  return { arrivals, client };
}

/** A device that publishes an alarm, a value and a large record. @param {string} name */
async function publish(name) {
  await waitForPort(1883);
  const device = await mqtt.connectAsync({
    host: '127.0.0.1',
    port: 1883,
    clientId: 'pump-1',
    protocolVersion: 5
  });
  try {
    await device.publishAsync('d/pump-1/alarm', '{"smoke":true}', { qos: 1 });
    await device.publishAsync('d/pump-1/level', '{"level":4.5}', { qos: 1, retain: true });
    for (let i = 0; i < 200; i++) device.publish('d/pump-1/n', `{"n":${i}}`, { qos: 1 });
    await device.publishAsync('d/pump-1/last', '"last"', { qos: 1 });
    // The largest record that the preset allows: not JSON, so that base64 makes it a third larger.
    const [{ maxPacketKiB }] = presetOf(name).filter(({ type }) => type === 'seganet-engine');
    // In ThingsBoard's preset it must be within the limit after that, too.
    const kiB = name === 'ThingsBoard' ? 44 : Number(maxPacketKiB);
    const large = Buffer.alloc(kiB * 1024 - 200, 0xff);
    await device.publishAsync('d/pump-1/large', large, { qos: 1 });
    return large;
  } finally {
    device.end(true);
  }
}

/** @param {string} name @returns {any[]} */
const presetOf = (name) =>
  JSON.parse(fs.readFileSync(path.join(root, 'examples', 'clouds', `${name}.json`), 'utf8'));

/** The records of all arrivals. @param {Arrival[]} arrivals @param {string} name @returns {any[]} */
function recordsOf(arrivals, name) {
  const texts = arrivals.map(({ payload }) => payload.toString());
  if (name !== 'ThingsBoard')
    return texts.flatMap((text) =>
      text
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line))
    );
  return texts.flatMap((text) =>
    Object.entries(JSON.parse(text)).flatMap(([d, values]) =>
      /** @type {any[]} */ (values).map((each) => ({ d, ...each }))
    )
  );
}

/** What must arrive, in the form of each cloud. @param {string} name @param {Buffer} large */
function expectations(name, large) {
  const isBoard = name === 'ThingsBoard';
  const base64 = large.toString('base64');
  const value = (/** @type {any} */ record) => (isBoard ? record.values : record.p);
  return {
    alarm: (/** @type {any} */ record) => record.d === 'pump-1' && value(record)?.smoke === true,
    value: (/** @type {any} */ record) => value(record)?.level === 4.5,
    every: (/** @type {any[]} */ records) =>
      new Set(records.map((each) => value(each)?.n).filter((n) => n >= 0)).size === 200,
    text: (/** @type {any} */ record) => (isBoard ? record.values['d.pump-1.last'] : record.p) === 'last',
    large: (/** @type {any} */ record) => (isBoard ? record.values['d.pump-1.large'] : record.b) === base64
  };
}

/** @param {NodeRed} nodeRed @param {string} name */
async function devicesToCloud(nodeRed, name) {
  const { arrivals, client } = await reader(name);
  try {
    await nodeRed.deploy(presetOf(name));
    const large = await publish(name);
    const { every, ...others } = expectations(name, large);
    for (const [what, matches] of Object.entries(others))
      await eventually(() => recordsOf(arrivals, name).some(matches), {
        timeoutMs: 20000,
        what: `${what} arrives`
      });
    await eventually(() => every(recordsOf(arrivals, name)), {
      timeoutMs: 20000,
      what: 'every record arrives'
    });
    if (name === 'Azure IoT Hub') {
      const topics = new Set(arrivals.map(({ topic }) => topic));
      expectThat(
        topics.has('devices/device-1/messages/events/class=critical'),
        `the alarm came on ${[...topics]}`
      );
    }
  } finally {
    client.end(true);
  }
}

/** ChirpStack is a source: its events arrive in another cloud. @param {NodeRed} nodeRed */
async function chirpStack(nodeRed) {
  const { arrivals, client } = await reader('HiveMQ Cloud');
  const there = await reader('ChirpStack');
  try {
    const flow = presetOf('ChirpStack');
    const source = flow.find(({ type }) => type === 'seganet-mqtt-source');
    await nodeRed.deploy(flow);
    await eventually(() => /^connected/.test(nodeRed.statuses.get(source.id)?.text ?? ''), {
      timeoutMs: 20000,
      what: 'the source has subscribed'
    });
    const event = { deviceInfo: { devEui: '0102030405060708' }, object: { alarm: true }, data: 'AQ==' };
    await there.client.publishAsync(
      'application/app-1/device/0102030405060708/event/up',
      JSON.stringify(event),
      { qos: 1 }
    );
    await there.client.publishAsync(
      'application/app-1/device/0102030405060708/event/status',
      '{"batteryLevel":50}',
      { qos: 1 }
    );
    const records = () => recordsOf(arrivals, 'ChirpStack');
    const is = (/** @type {number} */ c, /** @type {RegExp} */ topic) => () =>
      records().some((record) => record.d === '0102030405060708' && record.c === c && topic.test(record.t));
    await eventually(is(1, /event\/up$/), {
      timeoutMs: 20000,
      what: 'an uplink with an alarm arrives in class 1'
    });
    await eventually(is(4, /event\/status$/), { timeoutMs: 20000, what: 'a status arrives in class 4' });
  } finally {
    client.end(true);
    there.client.end(true);
  }
}

/** @param {NodeRed} nodeRed @param {string} name @param {string} folder @param {Authority} authority */
async function runOne(nodeRed, name, folder, authority) {
  if (!CLOUDS[name]) return 'the test does not know it: add it to brokers.js';
  const names = name === 'ChirpStack' ? [name, 'HiveMQ Cloud'] : [name];
  const brokers = await Promise.all(names.map((each) => startBroker(folder, each, authority)));
  try {
    await (name === 'ChirpStack' ? chirpStack(nodeRed) : devicesToCloud(nodeRed, name));
    return '';
  } catch (error) {
    const statuses = JSON.stringify([...nodeRed.statuses.values()].map(({ text }) => text));
    return `${/** @type {Error} */ (error).message}; ${statuses}; ${nodeRed.child.output.slice(-800)}; ${brokers[0].output.slice(-800)}`;
  } finally {
    for (const broker of brokers) await broker.stop();
  }
}

async function main() {
  // A namespace begins with its loopback down.
  execFileSync('ip', ['link', 'set', 'lo', 'up']);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-clouds-'));
  linkPalette(folder);
  const authority = new Authority();
  const nodeRed = await NodeRed.start(folder, { env: variables(authority) });
  const only = process.env.CLOUDS_ONLY?.split(',');
  try {
    for (const file of fs.readdirSync(path.join(root, 'examples', 'clouds')).sort()) {
      const preset = path.basename(file, '.json');
      if (only && !only.some((each) => preset.startsWith(each))) continue;
      console.log(JSON.stringify({ preset, error: await runOne(nodeRed, preset, folder, authority) }));
    }
  } finally {
    await nodeRed.stop();
    authority.remove();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

main().then(
  () => process.exit(0),
  (error) => {
    console.log(JSON.stringify({ preset: 'the start', error: String(error.stack) }));
    process.exit(1);
  }
);
