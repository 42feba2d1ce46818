'use strict';
// The device at gw: a child process that sends 20 numbered records a second with QoS 1.
//
// node flows/demo/overlay/device.js PORT   sends { connected: true } and { sent, acknowledged } to its parent

const mqtt = require('mqtt');
const { liveWithParent, sendToParent } = require('../child');
const { HOST } = require('../gateway');

const PERIOD_MS = 50;
const RETRY_MS = 50;
/** A device with little memory would wait, too. */
const MAX_UNACKNOWLEDGED = 200;

liveWithParent();
let sent = 0;
let acknowledged = 0;
const client = mqtt.connect({
  host: HOST,
  port: Number(process.argv[2]),
  clientId: 'thermometer',
  protocolVersion: 4,
  reconnectPeriod: RETRY_MS
});
client.on('error', () => {}); // gw may not listen yet
client.once('connect', () => {
  sendToParent({ connected: true });
  setInterval(() => {
    if (sent - acknowledged >= MAX_UNACKNOWLEDGED) return;
    const n = ++sent;
    client.publish('temperature', JSON.stringify({ n, value: 21.5 }), { qos: 1 }, (error) => {
      if (!error) acknowledged++;
      sendToParent({ sent, acknowledged });
    });
  }, PERIOD_MS);
});
