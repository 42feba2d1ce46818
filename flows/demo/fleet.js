'use strict';

// A simulated fleet: every device has its own MQTT connection and client id and publishes with QoS 1.
//
// node flows/demo/fleet.js [--host 127.0.0.1] [--port 1883] [--devices 64] [--rate 10]     rate: records/s per device

const { parseArgs } = require('util');
const mqtt = require('mqtt');
const { liveWithParent, sendToParent } = require('./child');
const { nextReading } = require('./readings');

/** A device delays its next reading if the gateway does not acknowledge, as a device with little memory would. */
const MAX_UNACKNOWLEDGED = 20;
/** Devices that publish at the same time, as those of one machine do: their records share a batch that one can see. */
const GROUP = 16;

/**
 * @param {number} number
 * @param {{ host: string, port: number, periodMs: number, delayMs: number }} options
 */
function startDevice(number, { host, port, periodMs, delayMs }) {
  const id = `dev-${String(number).padStart(4, '0')}`;
  const client = mqtt.connect({
    host,
    port,
    clientId: id,
    protocolVersion: 4,
    reconnectPeriod: 1000,
    reconnectOnConnackError: true
  });
  client.on('error', () => {}); // it reconnects by itself
  let unacknowledged = 0;
  const publish = () => {
    if (!client.connected || unacknowledged >= MAX_UNACKNOWLEDGED) return;
    const { topic, payload } = nextReading(number, Date.now());
    unacknowledged++;
    client.publish(`d/${id}/${topic}`, payload, { qos: 1 }, () => unacknowledged--);
  };
  const start = setTimeout(() => (timer = setInterval(publish, periodMs)), delayMs);
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  return {
    client,
    stop() {
      clearTimeout(start);
      clearInterval(timer);
      client.end();
    }
  };
}

/** @param {{ host: string, port: number, devices: number, rate: number }} options */
function startFleet({ host, port, devices, rate }) {
  const periodMs = 1000 / rate;
  let waiting = devices;
  const fleet = Array.from({ length: devices }, (_, i) => {
    // The groups are spread over the period.
    const delayMs = (periodMs * (i - (i % GROUP))) / devices;
    const device = startDevice(i + 1, { host, port, periodMs, delayMs });
    device.client.once('connect', () => {
      if (--waiting === 0) sendToParent({ connected: devices });
    });
    return device;
  });
  return () => fleet.forEach((device) => device.stop());
}

if (require.main === module) {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '1883' },
      devices: { type: 'string', default: '64' },
      rate: { type: 'string', default: '10' }
    }
  });
  const { host, port, devices, rate } = values;
  const stop = startFleet({ host, port: Number(port), devices: Number(devices), rate: Number(rate) });
  liveWithParent(() => {
    stop();
    process.exit(0);
  });
}

module.exports = { startFleet };
