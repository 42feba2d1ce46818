'use strict';

const { placeName } = require('../../settings/broker-url');
const { UrlChoice } = require('../urls/url-choice');
const { certificateEnd, descriptorOf, isEncrypted, makeClient, openStream } = require('./mqtt-client');
const { Dial } = require('./dial');
const {
  NOT_ACCEPTED,
  closeCode,
  explain,
  explainConnected,
  explainDisconnect,
  movedTo
} = require('./reason-codes');
const { CLOSED, CloseLoop, isLost, isReset, isUnexplained, isUnreadable } = require('./connection-end');
const { canWire, lacking, secureContext, socketOptions, wireSecurity } = require('./connection-options');
const { watchTlsFiles } = require('../../base/tls-files');
const { ConnectionStream } = require('./connection-stream');

/** @typedef {import('./reason-codes').Reason} Reason */
/** @typedef {import('../sending/feeder').Link} Link */
/** @typedef {import('mqtt').MqttClient} MqttClient */
/** @typedef {'connecting' | 'connected' | 'reconnecting' | 'disconnected' | 'refused' | 'stopped'} State */

/**
 * Properties of the CONNECT [MQTT 3.1.2.11] for a session that the broker keeps; MQTT 3.1.1 keeps it without them.
 * @typedef {{sessionExpiryInterval: number, receiveMaximum: number}} Kept
 */

/**
 * @typedef {object} GroupSessionOptions options of the session of one group of classes
 * @property {import('./connection-options').GroupOptions} [socket]
 * @property {Kept} [kept]
 * @property {number} [maxPacketBytes] of a peer that is not trusted, see PacketGate; default: no limit
 * @property {import('../paths/session-paths').Paths | null} [ways]
 * @property {string} [meanwhile] see WatchOptions
 * @property {() => { topic: string, payload: Buffer, qos: 0 | 1, retain: boolean }} [will] of the next connection
 * @property {UrlChoice} [choice] of the URL of each attempt; default: the host and port of the options
 */

/** @typedef {import('../../settings/uplink-options').CheckedOptions & GroupSessionOptions} SessionOptions */

/**
 * @typedef {object} SessionHandlers
 * @property {(state: State, why: Reason | null) => void} onState
 * @property {(link: Link) => void} onConnected
 * @property {(byBroker: boolean, code: number) => boolean | void} onDisconnected returns true if the reason is known.
 *   byBroker: the broker closed the connection itself, so that the reason may be a packet; code: of its DISCONNECT, 0 =
 *   none
 * @property {(id: number, reasonCode: number) => void} [onPuback] for an owner that writes PUBLISH packets itself;
 *   mqtt.js receives no PUBACK then
 * @property {(packet: import('mqtt').IPublishPacket, done: () => void) => void} [onPublish] see ClientParts
 * @property {(code: string, reason: string) => void} [onProblem]
 * @property {() => void} [onLeaving] a DISCONNECT follows, after which the broker publishes no will
 */

/** Default of SessionOptions.meanwhile. */
const KEPT = 'records are kept meanwhile';
const MAX_RECEIVE_MAXIMUM = 65535;
const STABLE_MS = 10000;
/** A dead link must not delay the end. */
const CLOSE_MS = 500;
/** Time until a session without a path looks for one again. */
const PATHLESS_MS = 1000;

/**
 * Maintains one connection to the broker. mqtt.js handles the CONNECT, the parsing and the keep-alive of a connection.
 * Each attempt uses a new MqttClient, so no state of an old one survives. (mqtt.js also stops permanently after a
 * refused CONNECT, and supports only a fixed reconnect period.)
 *
 * Every connection starts a clean session, except for commands (`kept`). The uplink only publishes, and the feeder owns
 * what is in flight: a session kept by the broker would only add the duty to match its memory, and would remain when a
 * gateway is removed.
 */
class Session {
  /**
   * @param {SessionOptions} options
   * @param {SessionHandlers} handlers
   * @param {import('./dial').Native} [native] the addon; without it, Node.js makes the sockets, and TLS
   * @param {typeof makeClient} [make] makes the MQTT client of a connection
   */
  constructor(options, handlers, native, make = makeClient) {
    this.options = options;
    this.handlers = handlers;
    this.native = native;
    this.makeClient = make;
    this.files = watchTlsFiles(options.tlsFiles, options.meanwhile ?? KEPT);
    this.choice = options.choice ?? new UrlChoice([options], options);
    /** The end of the last connection was not the fault of its URL. */
    this.isLost = false;
    this.isRenewing = false;
    /** An attempt that has no connection yet. @type {Dial | null} */
    this.dial = null;
    /** The socket, below TLS if TLS is used. @type {import('node:net').Socket | null} */
    this.socket = null;
    /** @type {MqttClient | null} */
    this.client = null;
    this.connected = false;
    this.stopped = false;
    this.everConnected = false;
    /** How often the broker accepted this client. */
    this.connects = 0;
    this.connectedAt = 0;
    /** When the certificate of the broker ends, ms since 1970; 0 = it has none, or never connected. */
    this.certificateEnds = 0;
    this.loop = new CloseLoop(options.clientId);
    /** Another server that the broker named in its refusal, as a sentence. */
    this.movedTo = '';
    /** Why the current attempt failed. @type {Reason | null} */
    this.why = null;
    /** @type {NodeJS.Timeout | undefined} */
    this.timer = undefined;
    this.hasReportedLacking = false;
    /** Why the present connection does not use MPTCP, see openSocket(). */
    this.noMptcp = '';
    /** The path that the connection is bound to. @type {import('../paths/session-paths').Way | null} */
    this.way = null;
    /** How long the far end took to answer. */
    this.handshakeMs = 0;
  }

  start() {
    this.#attempt();
  }

  /** @param {Buffer} bytes @param {(error?: Error | null) => void} done */
  write(bytes, done) {
    /** @type {MqttClient} */ (this.client).stream.write(bytes, done);
  }

  /** The descriptor of the present TCP connection, for inspection only. @returns {number | null} */
  get fd() {
    return descriptorOf(this.client?.stream, this.socket);
  }

  /**
   * Closes the connection immediately, or cancels the attempt to make one; the next attempt follows.
   * @param {Reason} why
   */
  kill(why) {
    this.why = why;
    if (this.dial) {
      this.#hangUp();
      this.#tryAgain();
    } else this.client?.stream.destroy();
  }

  /** Returns why a connection would fail before it begins, null = it would not. @returns {Reason | null} */
  rehearse() {
    try {
      this.#security();
      return null;
    } catch (error) {
      return explain(error, this.options);
    }
  }

  /** Ends the connection in an orderly way and makes a new one at once. Also ends a back-off. @param {Reason} why */
  renew(why) {
    if (this.stopped) return;
    this.choice.reset();
    this.#renew(why);
  }

  /**
   * Continues at another URL, as renew() does at the same one.
   * @param {number} index of the URL
   * @param {Reason} why
   */
  goTo(index, why) {
    if (this.stopped) return;
    this.choice.goTo(index);
    this.#renew({ ...why, atOnce: true });
  }

  /** @param {Reason} why */
  #renew(why) {
    const { client } = this;
    if (client && this.connected) {
      this.why = why;
      this.isRenewing = true;
      this.handlers.onLeaving?.();
      const deadline = setTimeout(() => client.stream.destroy(), CLOSE_MS);
      client.end(false, {}, () => clearTimeout(deadline));
    } else if (client || this.dial) {
      this.isLost = true;
      this.kill(why);
    } else {
      clearTimeout(this.timer);
      this.#attempt();
    }
  }

  /** The link is alive, so mqtt.js may postpone its next ping. Called at a low rate, not for each PUBACK. */
  alive() {
    this.client?.reschedulePing(true);
  }

  /** Stops the session, and sends DISCONNECT if it is connected. @param {() => void} done */
  stop(done) {
    const { client } = this;
    const wasConnected = this.connected;
    if (wasConnected) this.handlers.onLeaving?.();
    this.stopped = true;
    clearTimeout(this.timer);
    this.#hangUp();
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
    const { choice, handlers } = this;
    if (choice.hasSeveral) this.options = { ...this.options, ...choice.address };
    const { options } = this;
    const missing = options.ways?.missing();
    if (missing) {
      if (this.why?.code !== missing.code) handlers.onState('disconnected', missing);
      this.why = missing;
      this.timer = setTimeout(() => this.#attempt(), PATHLESS_MS);
      return;
    }
    handlers.onState(this.everConnected ? 'reconnecting' : 'connecting', this.why);
    this.why = null;
    let security;
    try {
      security = this.#security();
    } catch (error) {
      this.why = explain(error, options);
      this.#tryAgain();
      return;
    }
    this.#dial(security);
  }

  /** @param {import('./connection-options').Security} security */
  async #dial(security) {
    const { options, native } = this;
    const { host, port } = options;
    const timeoutMs = this.choice.limitMs(options.connectTimeoutMs);
    const wantsDescriptor = this.isWired;
    const paths = options.ways ?? undefined;
    const socket = socketOptions(options);
    const { dialer } = options;
    const place = dialer
      ? () => require(dialer.module).placesOf(dialer.address).place(host, port)
      : undefined;
    const dial = new Dial({ host, port, place, timeoutMs, socket, native, wantsDescriptor, paths });
    this.dial = dial;
    try {
      const reached = await dial.connect();
      if (dial !== this.dial) return;
      this.noMptcp = reached.noMptcp ?? '';
      this.way = reached.way ?? null;
      this.handshakeMs = reached.handshakeMs ?? 0;
      if (reached.unknown.length > 0) this.#reportLacking(reached.unknown);
      this.#open(dial, reached, security);
      this.dial = null;
    } catch (error) {
      if (dial !== this.dial) return;
      this.#hangUp();
      this.why = explain(error, options);
      this.#tryAgain();
    }
  }

  /** Cancels an attempt that has no connection yet. */
  #hangUp() {
    const { dial } = this;
    this.dial = null;
    dial?.cancel();
  }

  /**
   * @param {Dial} dial
   * @param {import('./dial').Reached} reached
   * @param {import('./connection-options').Security} security
   */
  #open(dial, { socket, fd }, security) {
    const { options, native } = this;
    /** @type {MqttClient} */
    let client;
    // Events of an old connection are ignored.
    const { onPuback: puback, onPublish: publish } = this.handlers;
    /** @param {Error} error */
    const onError = (error) => this.#failed(client, error);
    /** @type {SessionHandlers['onPuback']} */
    const onPuback = puback && ((id, code) => client === this.client && puback(id, code));
    /** @type {SessionHandlers['onPublish']} */
    const onPublish = publish && ((packet, done) => client === this.client && publish(packet, done));
    const stream = openStream({ options, socket, fd, security, native, onError, onPuback });
    // Only one of the two may close the descriptor: if it is closed twice, the second time may hit another file.
    dial.handOver();
    try {
      const timeoutMs = dial.leftMs();
      client = this.makeClient({ options, stream, native, timeoutMs, onError, onPuback, onPublish });
      this.#begin(client, socket ?? null);
    } catch (error) {
      this.client = this.socket = null;
      stream.destroy();
      throw error;
    }
  }

  /** @param {MqttClient} client @param {import('node:net').Socket | null} socket */
  #begin(client, socket) {
    this.socket = socket;
    this.client = client;
    client.on('packetreceive', (packet) => {
      if (packet.cmd === 'connack') this.movedTo = movedTo(packet.properties?.serverReference);
    });
    client.on('connect', (connack) => this.#onConnect(client, connack));
    client.on('error', (error) => this.#failed(client, error));
    client.on('disconnect', (packet) => {
      if (client === this.client) this.why = explainDisconnect(packet.reasonCode);
    });
    client.on('close', () => this.#onClose(client));
    client.connect();
  }

  /** True if the engine makes the connection, not Node.js. */
  get isWired() {
    return canWire(this.native, this.options);
  }

  /** @returns {import('./connection-options').Security} */
  #security() {
    const { options, native } = this;
    if (!options.secure) return {};
    const files = this.files.read();
    if (this.isWired) return { wire: wireSecurity(/** @type {any} */ (native), options, files) };
    return { context: secureContext(options, files, options.meanwhile ?? KEPT) };
  }

  /** @param {MqttClient} client @param {any} error */
  #failed(client, error) {
    if (client !== this.client) return;
    // The first error is the cause, later ones follow from it.
    this.why ??= this.connected
      ? explainConnected(error, this.options)
      : isReset(error) && isEncrypted(client.stream)
        ? { ...NOT_ACCEPTED }
        : explain(error, this.options);
    if (this.movedTo) this.why.reason += this.movedTo;
    this.movedTo = '';
    if (error.code === 'PACKET_REFUSED') this.handlers.onProblem?.(error.code, error.message);
    // mqtt.js continues after a malformed packet, but the stream cannot be trusted after that.
    client.stream.destroy();
  }

  /** @param {MqttClient} client @param {import('mqtt').IConnackPacket} connack */
  #onConnect(client, connack) {
    if (client !== this.client) return;
    const granted = connack.properties ?? {};
    this.connected = true;
    this.everConnected = true;
    this.connects++;
    this.connectedAt = performance.now();
    this.certificateEnds = certificateEnd(client.stream);
    this.choice.accepted();
    this.why = null;
    this.handlers.onConnected({
      protocolVersion: this.options.protocolVersion,
      sessionPresent: connack.sessionPresent === true,
      // [MQTT 3.2.2.3.3] The value 0 is a protocol error; taken literally, nothing could ever be sent.
      receiveMaximum: granted.receiveMaximum || MAX_RECEIVE_MAXIMUM,
      maximumPacketSize: granted.maximumPacketSize ?? 0,
      maximumQos: granted.maximumQoS ?? 2,
      retainAvailable: granted.retainAvailable !== false,
      ...(client.stream instanceof ConnectionStream && { wire: client.stream })
    });
    if (client !== this.client || this.why !== null) return;
    this.choice.connected();
    this.handlers.onState('connected', null);
  }

  /** @param {MqttClient} client */
  #onClose(client) {
    if (client !== this.client || this.stopped) return;
    this.client = null;
    this.socket = null;
    if (!this.connected) this.#notAccepted();
    else {
      this.connected = false;
      // After a connection that lasted only briefly, the back-off continues.
      const hasLasted = performance.now() - this.connectedAt > STABLE_MS;
      if (hasLasted) {
        this.choice.lasted();
        this.loop.end();
      }
      const code = closeCode(this.why);
      const isClosed = isUnexplained(this.why);
      // It may also answer a packet with bytes that are no MQTT, such as an unknown reason code.
      const byBroker = isClosed || code !== null || isUnreadable(this.why);
      const isKnown = this.handlers.onDisconnected(byBroker, code ?? 0) === true;
      const problem = this.loop.add(this.why, isClosed && !isKnown);
      if (problem) this.handlers.onProblem?.(problem.code, problem.reason);
      this.isLost = isLost(this.why ?? CLOSED, code ?? 0, hasLasted || isKnown);
    }
    this.why ??= CLOSED;
    this.#tryAgain();
  }

  /** A path that carries a handshake may not carry anything else. */
  #notAccepted() {
    this.why ??= NOT_ACCEPTED;
    if (this.way && this.why.code === 'NO_CONNACK') this.options.ways?.failed(this.way.name);
  }

  /** Schedules the next attempt. REQUIRES: this.why is the reason for the wait. */
  #tryAgain() {
    const why = /** @type {Reason} */ (this.why);
    if (why.soon) this.choice.lasted();
    const wait = this.#waitMs(why);
    const when = this.#whenNext(why, wait);
    this.isRenewing = this.isLost = false;
    this.why = { ...why, reason: why.reason + when };
    this.handlers.onState(why.refused ? 'refused' : 'disconnected', this.why);
    this.timer = setTimeout(() => this.#attempt(), wait);
  }

  /** Returns when and where the next attempt is, as a sentence. @param {Reason} why @param {number} wait ms */
  #whenNext({ slow }, wait) {
    const after = `in ${Math.ceil(wait / 1000)} s`;
    if (!this.choice.hasSeveral) return slow ? ` Retrying ${after}.` : '';
    return ` Trying ${placeName(this.choice.address)} ${wait > 0 ? after : 'now'}.`;
  }

  /** Returns the delay of the next attempt, and chooses its URL. @param {Reason} why */
  #waitMs(why) {
    if (this.isRenewing || why.atOnce) return 0;
    return this.isLost || why.soon ? this.choice.lost() : this.choice.failed(why);
  }

  /** Reported once, because it does not change. @param {string[]} names */
  #reportLacking(names) {
    if (this.hasReportedLacking) return;
    this.hasReportedLacking = true;
    this.handlers.onProblem?.('SOCKET_OPTIONS', lacking(names));
  }
}

exports.Session = Session;
