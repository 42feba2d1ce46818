'use strict';
// Uses mqtt.js for one connection of a source. It connects, subscribes and pings. PUBLISH and PUBREL are handled in
// publish-tap.js.

const { default: MqttClient } = require('mqtt/lib/client');
const { PublishTap } = require('./publish-tap');

/**
 * @typedef {object} Reading one connection's bytes
 * @property {MqttClient} client
 * @property {() => void} resume call it when there is room again
 * @property {(bytes: Buffer) => void} write
 * @property {() => boolean} waits true while a PUBLISH waits for room
 */

/**
 * @param {import('../../uplink/session/mqtt-client').ClientParts} parts
 * @param {import('./mqtt-source-options').SourceOptions} source
 * @param {Omit<import('./publish-tap').TapHandlers, 'onOther'>} handlers
 * @returns {Reading}
 */
function makeReading(parts, source, handlers) {
  const { options, stream, timeoutMs, onError } = parts;
  const { protocolVersion } = options;
  /** @type {NodeJS.WritableStream | null} */
  let others = null;
  const tap = new PublishTap(protocolVersion, source.maxPacketBytes, {
    ...handlers,
    onOther: (bytes) => void others?.write(bytes)
  });
  /** @param {() => void} step */
  const guarded = (step) => {
    try {
      step();
    } catch (error) {
      onError(/** @type {Error} */ (error));
      return;
    }
    if (tap.waits) stream.pause();
    else if (stream.isPaused()) stream.resume();
  };
  // mqtt.js reads its stream with pipe().
  stream.pipe = (destination) => {
    others = destination;
    stream.on('data', (bytes) => guarded(() => tap.read(bytes)));
    return destination;
  };
  const client = new MqttClient(() => stream, {
    protocolVersion,
    protocolId: 'MQTT',
    clientId: options.clientId,
    username: options.username,
    password: options.password,
    keepalive: options.keepalive,
    clean: !source.persistent,
    ...(protocolVersion === 5 && {
      properties: {
        receiveMaximum: source.window,
        ...(source.persistent && { sessionExpiryInterval: source.sessionExpiryS })
      }
    }),
    reconnectPeriod: 0,
    connectTimeout: timeoutMs,
    reschedulePings: true,
    resubscribe: false,
    // Without it, the thread keeps a Buffer of each number up to 65,535: 7 MB.
    writeCache: false,
    manualConnect: true
  });
  return {
    client,
    waits: () => tap.waits,
    resume: () => tap.waits && guarded(() => tap.resume()),
    write: (bytes) => void (stream.writable && stream.write(bytes))
  };
}

exports.makeReading = makeReading;
