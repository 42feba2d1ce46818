'use strict';

const net = require('node:net');
const tls = require('node:tls');
const { MqttClient } = require('mqtt');
const { Backoff } = require('./backoff');
const { PubackTap } = require('./puback-tap');
const { explain, explainDisconnect } = require('./reasons');

/** @typedef {import('./reasons').Reason} Reason */
/** @typedef {import('./feeder').Link} Link */
/** @typedef {'connecting' | 'connected' | 'reconnecting' | 'disconnected' | 'refused' | 'stopped'} State */

/**
 * @typedef {object} SessionHandlers
 * @property {(state: State, why: Reason | null) => void} onState
 * @property {(link: Link) => void} onConnected
 * @property {() => void} onDisconnected
 * @property {(id: number, reasonCode: number) => void} onPuback
 */

const MAX_RECEIVE_MAXIMUM = 65535;
const STABLE_MS = 10000;
/** A dead link does not hold the end up. */
const CLOSE_MS = 500;
/** @type {Reason} */
const CLOSED = { code: 'CLOSED', reason: 'The broker closed the connection.', refused: false };

/**
 * Keeps one connection to the broker. mqtt.js does the CONNECT, the parsing and the keep-alive of a connection; each attempt is
 * a new MqttClient, so no state of an old one can come back (mqtt.js also stops for good after a refused CONNECT, and knows
 * a fixed reconnect period only).
 *
 * Every connection starts a clean session. The uplink only publishes, and what is in flight is owned by the feeder: a session
 * kept by the broker would add nothing but the duty to match its memory, and stay behind when a gateway is gone.
 */
class Session {
  /** @param {import('./options').CheckedOptions} options @param {SessionHandlers} handlers */
  constructor(options, handlers) {
    this.options = options;
    this.handlers = handlers;
    this.backoff = new Backoff(options.reconnectMinMs, options.reconnectMaxMs);
    /** @type {MqttClient | null} */
    this.client = null;
    this.connected = false;
    this.stopped = false;
    this.everConnected = false;
    this.connectedAt = 0;
    /** What the current attempt failed with. @type {Reason | null} */
    this.why = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
  }

  start() {
    this.#attempt();
  }

  /** @param {Buffer} bytes @param {(error?: Error | null) => void} done */
  write(bytes, done) {
    /** @type {MqttClient} */ (this.client).stream.write(bytes, done);
  }

  /** Closes the connection hard; it is made again at once. @param {Reason} why */
  kill(why) {
    this.why = why;
    this.client?.stream.destroy();
  }

  /** The link is alive: mqtt.js may put its next ping off. Called at a low rate, not for each PUBACK. */
  alive() {
    this.client?.reschedulePing(true);
  }

  /** Sends DISCONNECT where there is someone to hear it. @param {() => void} done */
  stop(done) {
    const { client } = this;
    const wasConnected = this.connected;
    this.stopped = true;
    clearTimeout(this.timer);
    this.client = null;
    this.connected = false;
    if (!client) {
      done();
      return;
    }
    const deadline = setTimeout(() => client.stream.destroy(), CLOSE_MS);
    client.end(!wasConnected, {}, () => {
      clearTimeout(deadline);
      done();
    });
  }

  #attempt() {
    const { options, handlers } = this;
    handlers.onState(this.everConnected ? 'reconnecting' : 'connecting', this.why);
    this.why = null;
    const client = new MqttClient(() => this.#openStream(), {
      protocolVersion: options.protocolVersion,
      protocolId: 'MQTT',
      clientId: options.clientId,
      username: options.username,
      password: options.password,
      keepalive: options.keepalive,
      clean: true,
      reconnectPeriod: 0,
      connectTimeout: options.connectTimeoutMs,
      // A timer for each PUBACK would cost more than the PUBACK; see alive().
      reschedulePings: false,
      resubscribe: false,
      manualConnect: true
    });
    this.client = client;
    client.on('connect', (connack) => this.#onConnect(client, connack));
    client.on('error', (error) => this.#failed(client, error));
    client.on('disconnect', (packet) => {
      if (client === this.client) this.why = explainDisconnect(packet.reasonCode);
    });
    client.on('close', () => this.#onClose(client));
    client.connect();
  }

  #openStream() {
    const { options, handlers } = this;
    const { host, port } = options;
    const socket = options.secure ? openTls(options) : net.connect({ host, port });
    socket.setNoDelay(true);
    // mqtt.js swallows errors without a code.
    const { client } = this;
    socket.on('error', (error) => this.#failed(/** @type {MqttClient} */ (client), error));
    // mqtt.js reads its stream by pipe(), and gets everything but the PUBACKs.
    socket.pipe = (destination) => {
      const tap = new PubackTap(handlers.onPuback, (bytes) => destination.write(bytes));
      socket.on('data', (bytes) => {
        if (this.client === client) tap.read(bytes);
      });
      return destination;
    };
    return socket;
  }

  /** @param {MqttClient} client @param {any} error */
  #failed(client, error) {
    if (client !== this.client) return;
    // The first error is the cause, later ones follow from it.
    this.why ??= explain(error, this.options);
    // mqtt.js goes on after a malformed packet; a stream is not to be trusted after that.
    client.stream.destroy();
  }

  /** @param {MqttClient} client @param {import('mqtt').IConnackPacket} connack */
  #onConnect(client, connack) {
    if (client !== this.client) return;
    const granted = connack.properties ?? {};
    this.connected = true;
    this.everConnected = true;
    this.connectedAt = performance.now();
    this.why = null;
    this.handlers.onConnected({
      protocolVersion: this.options.protocolVersion,
      receiveMaximum: granted.receiveMaximum ?? MAX_RECEIVE_MAXIMUM,
      maximumPacketSize: granted.maximumPacketSize ?? 0,
      maximumQos: granted.maximumQoS ?? 2,
      retainAvailable: granted.retainAvailable !== false
    });
    if (client === this.client && this.why === null) this.handlers.onState('connected', null);
  }

  /** @param {MqttClient} client */
  #onClose(client) {
    if (client !== this.client || this.stopped) return;
    this.client = null;
    if (this.connected) {
      this.connected = false;
      // A connection that does not last is no reason to hurry.
      if (performance.now() - this.connectedAt > STABLE_MS) this.backoff.reset();
      this.handlers.onDisconnected();
    }
    this.why ??= CLOSED;
    this.handlers.onState(this.why.refused ? 'refused' : 'disconnected', this.why);
    this.timer = setTimeout(() => this.#attempt(), this.backoff.next());
  }
}

/** @param {import('./options').CheckedOptions} options */
function openTls({ host, port, tls: own, minTls }) {
  return tls.connect({
    host,
    port,
    servername: own.servername || (net.isIP(host) ? undefined : host),
    ca: plain(own.ca),
    cert: plain(own.cert),
    key: plain(own.key),
    passphrase: own.passphrase,
    ALPNProtocols: own.ALPNProtocols,
    rejectUnauthorized: own.rejectUnauthorized !== false,
    minVersion: /** @type {tls.SecureVersion} */ (minTls)
  });
}

/** A Buffer arrives in the thread as Uint8Array. @param {string | Uint8Array | undefined} pem */
function plain(pem) {
  return typeof pem === 'string' || pem === undefined ? pem : Buffer.from(pem);
}

exports.Session = Session;
