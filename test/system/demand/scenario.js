'use strict';
// Asks about real MQTT devices, which disconnect and return, while the gateway is killed once. At the end each device
// must have its normal rate.

const fs = require('node:fs');
const mqtt = require('mqtt');
const { setTimeout: delay } = require('node:timers/promises');
const { startFlow } = require('../../fixtures/gateway/deployed');
const { eventually, freePort, waitForPort } = require('../../../bench/harness/net');

const ASKERS = 10;
const EVERY_MS = [100, 250, 500];
const MAX_FOR_S = 5;

/** A device that keeps its rate over a lost connection, so that a forgotten restore shows. */
class Device {
  everyMs = 0;
  commands = 0;
  wasFast = false;

  /** @param {string} id @param {number} port */
  constructor(id, port) {
    this.id = id;
    this.client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: id, reconnectPeriod: 300 });
    this.client.on('error', () => {});
    this.client.on('connect', () => this.client.subscribe(`cmd/${id}/rate`, { qos: 1 }, () => {}));
    this.client.on('message', (_topic, payload) => {
      this.everyMs = JSON.parse(payload.toString()).everyMs;
      this.commands++;
      this.wasFast ||= this.everyMs > 0;
    });
  }

  /** @param {number} ms */
  leave(ms) {
    // Without DISCONNECT, as a device that loses its network.
    this.client.stream.destroy();
    this.client.options.reconnectPeriod = ms;
  }
}

/** @param {number} port */
function flowOf(port) {
  const at = { z: 'tab', x: 100, y: 100 };
  return [
    { id: 'tab', type: 'tab', label: 'demand' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
    {
      ...at,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      engine: 'engine',
      port: String(port),
      wires: [['cloud']]
    },
    { ...at, id: 'demand', type: 'seganet-demand', engine: 'engine', maxOfUser: '10000', wires: [[]] },
    // It carries nothing; the launcher reports it when the gateway is ready.
    { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
    { ...at, id: 'cloud', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] }
  ];
}

/**
 * @param {{ count: number, seconds: number, perS: number, random: ReturnType<typeof import('../../fixtures/random').seeded>,
 *   log?: (line: string) => void }} options perS: questions a second
 */
async function runDemand({ count, seconds, perS, random, log = () => {} }) {
  const port = await freePort();
  const flow = flowOf(port);
  let gateway = await startFlow(flow);
  const { home } = gateway;
  const devices = Array.from({ length: count }, (_, i) => new Device(`dev-${i}`, port));
  const told = { asked: 0, on: 0, waiting: 0, refused: 0, unanswered: 0 };
  const admin = () => `http://127.0.0.1:${gateway.adminPort}/seganet`;
  const pick = (/** @type {any[]} */ list) => list[random.integer(list.length)];
  /** @type {Set<Promise<void>>} */
  const open = new Set();
  const ask = async () => {
    const question = {
      device: pick(devices).id,
      by: `asker-${random.integer(ASKERS)}`,
      everyMs: pick(EVERY_MS),
      forS: 1 + random.integer(MAX_FOR_S)
    };
    told.asked++;
    try {
      const response = await fetch(`${admin()}/demand`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(question)
      });
      const { state } = /** @type {any} */ (await response.json());
      if (response.status !== 200) told.refused++;
      else if (state === 'on') told.on++;
      else told.waiting++;
    } catch {
      // The gateway was killed.
      told.unanswered++;
    }
  };
  try {
    await eventually(() => devices.every(({ client }) => client.connected), {
      timeoutMs: 60000,
      what: 'the devices'
    });
    const [begun, killAt] = [performance.now(), (seconds * 1000) / 2];
    /** @type {Promise<void> | null} */
    let restart = null;
    for (let n = 0; performance.now() - begun < seconds * 1000; n++) {
      const answered = ask().finally(() => open.delete(answered));
      open.add(answered);
      if (n % 3 === 0) pick(devices).leave(300 + random.integer(2500));
      if (!restart && performance.now() - begun > killAt) {
        log(`kill -9 after ${told.asked} questions`);
        restart = gateway.end('SIGKILL').then(async () => {
          gateway = await startFlow(flow, home);
          await waitForPort(port);
        });
      }
      await delay(1000 / perS);
    }
    await restart;
    await Promise.all(open);
    const left = async () => /** @type {any} */ (await (await fetch(`${admin()}/demand`)).json());
    const endedAt = performance.now();
    await eventually(async () => (await left()).devices.length === 0, {
      timeoutMs: 90000,
      everyMs: 200,
      what: 'the restores'
    });
    const metrics = await (await fetch(`${admin()}/metrics`)).text();
    return {
      ...told,
      fast: devices.filter(({ wasFast }) => wasFast).length,
      stuck: devices.filter(({ everyMs }) => everyMs !== 0).map(({ id }) => id),
      commands: devices.reduce((sum, device) => sum + device.commands, 0),
      restored: Number(/^seganet_demand_restored_total\{.*\} (\d+)$/m.exec(metrics)?.[1]),
      restoredAfterS: Math.round((performance.now() - endedAt) / 100) / 10
    };
  } finally {
    for (const { client } of devices) client.end(true);
    await gateway.end('SIGTERM');
    fs.rmSync(home, { recursive: true, force: true });
  }
}

module.exports = { runDemand };
