'use strict';

// 'mqtt' would also load its connections, with WebSocket and SOCKS; ours replace them.
const { default: MqttClient } = require('mqtt/lib/client');
const { nameOf, secure } = require('./connection-options');
const { ConnectionStream, passEach } = require('./connection-stream');
const { PacketGate } = require('./packet-gate');

/** @typedef {import('node:net').Socket | ConnectionStream} Stream */

/**
 * @typedef {object} StreamParts
 * @property {import('./session').SessionOptions} options
 * @property {import('node:net').Socket} [socket] connected
 * @property {number} [fd] the same as a descriptor, for a connection of the engine
 * @property {import('./connection-options').Security} security
 * @property {import('./dial').Native} [native] the addon
 * @property {(error: Error) => void} onError of the socket, or of TLS
 * @property {(id: number, reasonCode: number) => void} [onPuback] receives the PUBACKs that the engine reads; with
 *   Node's socket, makeClient() extracts them
 */

/**
 * @typedef {object} ClientParts
 * @property {import('./session').SessionOptions} options
 * @property {Stream} stream of openStream(); the caller ends it, even if no client can be made
 * @property {import('./dial').Native} [native] the addon; onPuback on Node's socket needs it
 * @property {number} timeoutMs until the CONNACK
 * @property {(error: Error) => void} onError of the stream
 * @property {(id: number, reasonCode: number) => void} [onPuback] receives the PUBACKs instead of mqtt.js
 * @property {(packet: import('mqtt').IPublishPacket, done: () => void) => void} [onPublish] receives what the broker
 *   sends, the next when done is called; the owner sends its PUBACK
 */

/** After an error, mqtt.js continues but sends no PUBACK. */
const NO_PUBACK = new Error('acknowledged by its owner');

/**
 * Returns an mqtt.js client on our stream, for one connection; connect() starts it.
 * @param {ClientParts} parts
 * @returns {MqttClient}
 */
function makeClient({ options, stream, native, timeoutMs, onError, onPuback, onPublish }) {
  if (onPuback && !(stream instanceof ConnectionStream)) {
    const { BrokerReader } = /** @type {typeof import('../../../../native')} */ (native);
    // mqtt.js reads its stream with pipe(), and receives everything but the PUBACKs. A PUBACK on its way through a
    // pipe, a list of buffers, a parser, a queue and a turn of nextTick would cost more than all other work for a
    // PUBLISH.
    stream.pipe = (destination) => {
      const reader = new BrokerReader(
        (pairs) => passEach(pairs, onPuback),
        (bytes) => destination.write(bytes)
      );
      stream.on('data', (bytes) => reader.read(bytes));
      return destination;
    };
  }
  if (options.maxPacketBytes) guard(stream, options.maxPacketBytes, onError);
  const client = new MqttClient(() => stream, {
    protocolVersion: options.protocolVersion,
    protocolId: 'MQTT',
    clientId: options.clientId,
    username: options.username,
    password: options.password,
    keepalive: options.keepalive,
    clean: !options.kept,
    ...(options.will && { will: options.will() }),
    ...(options.protocolVersion === 5 && { properties: propertiesOf(options) }),
    reconnectPeriod: 0,
    connectTimeout: timeoutMs,
    // A timer for each PUBACK would cost more than the PUBACK; see Session.alive().
    reschedulePings: false,
    resubscribe: false,
    // Without it, each thread keeps a Buffer of each number up to 65,535: 7 MB.
    writeCache: false,
    manualConnect: true
  });
  if (onPublish) {
    client.handleMessage = (packet, done) =>
      onPublish(packet, () => done(packet.qos > 0 ? NO_PUBACK : undefined));
  }
  return client;
}

/**
 * Puts a gate between the stream and mqtt.js, which reads its stream with pipe().
 * @param {Stream} stream
 * @param {number} maxBytes of a packet
 * @param {(error: Error) => void} onError
 */
function guard(stream, maxBytes, onError) {
  const pipe = stream.pipe.bind(stream);
  stream.pipe = (destination) => {
    const gate = new PacketGate(maxBytes);
    gate.on('error', onError);
    pipe(gate);
    return gate.pipe(destination);
  };
}

/** Returns the properties of the CONNECT. @param {import('./session').SessionOptions} options */
function propertiesOf({ kept, maxPacketBytes }) {
  if (!kept && !maxPacketBytes) return undefined;
  return { ...kept, ...(maxPacketBytes && { maximumPacketSize: maxPacketBytes }) };
}

/**
 * Returns the connection, with TLS if configured. The stream owns the socket from now on; if this throws, the caller
 * still owns it.
 * @param {StreamParts} parts
 * @returns {Stream}
 */
function openStream({ options, socket, fd = -1, security, native, onError, onPuback }) {
  const { context, wire = null } = security;
  const stream = socket
    ? context
      ? secure(socket, options, context)
      : socket
    : new ConnectionStream({
        native: /** @type {any} */ (native),
        fd,
        tls: wire,
        name: nameOf(options),
        onPuback
      });
  // mqtt.js swallows errors without a code.
  for (const each of new Set([socket ?? stream, stream])) each.on('error', onError);
  return stream;
}

/**
 * Returns the descriptor of the TCP connection, null = it has none.
 * @param {any} stream of openStream()
 * @param {any} socket the one below TLS, null = the engine made the connection
 * @returns {number | null}
 */
function descriptorOf(stream, socket) {
  const fd = stream instanceof ConnectionStream ? stream.fd : socket?._handle?.fd;
  return fd >= 0 ? fd : null;
}

/** Returns when the broker's certificate ends, ms since 1970, 0 = it has none. @param {any} stream @returns {number} */
function certificateEnd(stream) {
  const certificate =
    stream instanceof ConnectionStream ? stream.certificate : stream.getPeerX509Certificate?.();
  return certificate ? Date.parse(certificate.validTo) : 0;
}

/** True if TLS is established, so that each end knows that the other one speaks TLS. @param {any} stream */
function isEncrypted(stream) {
  return stream instanceof ConnectionStream ? stream.isSecure && stream.isOpen : stream.authorized === true;
}

module.exports = { certificateEnd, descriptorOf, isEncrypted, makeClient, openStream };
