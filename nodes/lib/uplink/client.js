'use strict';

const { MqttClient } = require('mqtt');
const { PubackTap } = require('./puback-tap');
const { secure } = require('./socket');

/**
 * @typedef {object} ClientParts
 * @property {import('./session').SessionOptions} options
 * @property {import('node:net').Socket} socket connected
 * @property {import('node:tls').SecureContext | null} context null = not encrypted
 * @property {number} timeoutMs until the CONNACK
 * @property {(error: Error) => void} onError of the socket, or of TLS
 * @property {(id: number, reasonCode: number) => void} onPuback
 */

/** mqtt.js on a socket of ours, for one connection; connect() begins it. @param {ClientParts} parts @returns {MqttClient} */
function makeClient({ options, socket, context, timeoutMs, onError, onPuback }) {
  const stream = context ? secure(socket, options, context) : socket;
  // mqtt.js swallows errors without a code.
  for (const each of new Set([socket, stream])) each.on('error', onError);
  // mqtt.js reads its stream by pipe(), and gets everything but the PUBACKs.
  stream.pipe = (destination) => {
    const tap = new PubackTap(onPuback, (bytes) => destination.write(bytes));
    stream.on('data', (bytes) => tap.read(bytes));
    return destination;
  };
  return new MqttClient(() => stream, {
    protocolVersion: options.protocolVersion,
    protocolId: 'MQTT',
    clientId: options.clientId,
    username: options.username,
    password: options.password,
    keepalive: options.keepalive,
    clean: true,
    reconnectPeriod: 0,
    connectTimeout: timeoutMs,
    // A timer for each PUBACK would cost more than the PUBACK; see Session.alive().
    reschedulePings: false,
    resubscribe: false,
    manualConnect: true
  });
}

exports.makeClient = makeClient;
