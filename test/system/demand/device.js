'use strict';

const mqtt = require('mqtt');

/** An MQTT device that keeps its rate over a lost connection, so that a forgotten restore shows. */
class Device {
  everyMs = 0;
  commands = 0;
  wasFast = false;

  /** @param {string} id @param {number} port @param {number} reconnectMs */
  constructor(id, port, reconnectMs) {
    this.id = id;
    this.client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { clientId: id, reconnectPeriod: reconnectMs });
    this.client.on('error', () => {});
    this.client.on('connect', () => this.client.subscribe(`cmd/${id}/rate`, { qos: 1 }, () => {}));
    this.client.on('message', (_topic, payload) => {
      this.everyMs = JSON.parse(payload.toString()).everyMs;
      this.commands++;
      this.wasFast ||= this.everyMs > 0;
    });
  }

  /** @param {number} ms until it connects again */
  leave(ms) {
    // Without DISCONNECT, as a device that loses its network.
    this.client.stream.destroy();
    this.client.options.reconnectPeriod = ms;
  }
}

exports.Device = Device;
