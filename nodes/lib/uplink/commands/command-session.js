'use strict';

const { commandFilter, isTopicName, parseTopic, reportTopic } = require('./command-topics');
const { CommandAcks } = require('./command-acks');
const { Renewal } = require('../session/renewal');
const { keepPaths } = require('../paths/path-keeper');
const { ReportQueue } = require('./report-queue');
const { Session } = require('../session/session');

/** @typedef {import('../session/reason-codes').Reason} Reason */
/** @typedef {import('mqtt').IPublishPacket} Packet */

/**
 * @typedef {object} CommandParts
 * @property {import('../../settings/uplink-options').CheckedOptions} options
 * @property {typeof import('../../../../native')} native
 * @property {number} generation of the thread, which distinguishes its commands from those of an earlier thread
 * @property {(command: object) => void} handOver to Node-RED's thread
 * @property {(code: string, reason: string) => void} problem
 * @property {() => void} onStatus
 * @property {import('../paths/session-paths').Paths | null} [paths] of the uplink
 * @property {import('../urls/uplink-urls').UplinkUrls | null} [urls] of the uplink, if it has several
 * @property {() => number} now ms, monotonic
 */

/** Receive Maximum: commands that the broker may send before their PUBACK. Further ones are not read. */
const RECEIVE_MAXIMUM = 256;
/** How long the broker keeps commands while the gateway is away. */
const SESSION_EXPIRY_S = 7 * 86400;
const MAX_ID_CHARACTERS = 128;

/** The session that receives commands and sends reports. The broker keeps it while the gateway is away. */
class CommandSession {
  /** @param {CommandParts} parts */
  constructor(parts) {
    const { options, native, now } = parts;
    this.parts = parts;
    const { commandPrefix: prefix, commandGroup: group, gateway } = options;
    this.names = { prefix, gateway: group || gateway, isShared: group !== '' };
    this.clientId = `${options.clientId}-cmd`;
    this.state = 'connecting';
    /** @type {Reason | null} */
    this.why = null;
    this.isPaused = false;
    this.lastId = 0;
    this.received = 0;
    this.retained = 0;
    this.ignored = 0;
    /** Continues with the packet that is not read yet. @type {(() => void) | null} */
    this.resume = null;
    this.commandAcks = new CommandAcks(
      (bytes) => this.session.connected && this.session.write(bytes, () => {})
    );
    this.reports = new ReportQueue(now);
    const choice = parts.urls?.choice({ follows: true });
    const kept = { sessionExpiryInterval: SESSION_EXPIRY_S, receiveMaximum: RECEIVE_MAXIMUM };
    this.session = new Session(
      { ...options, clientId: this.clientId, socket: options.sockets[0], kept, ways: parts.paths, choice },
      {
        onState: (state, why) => this.#setState(state, why),
        onConnected: (link) => this.#onConnected(link),
        onDisconnected: () => this.#onDisconnected(),
        onPublish: (packet, done) => this.#onPublish(packet, done),
        // While the session ends in order, mqtt.js refuses what is published: the next connection publishes it.
        onLeaving: () => this.reports.leaving(),
        onProblem: parts.problem
      },
      native
    );
    // Nothing of ours has to be waited for: the broker sends again what has no PUBACK.
    const feeder = /** @type {any} */ ({ pause() {}, resume() {}, inflight: 0 });
    const { session } = this;
    parts.urls?.add({ session, feeder, choice: session.choice, leads: false });
    const { paths, problem } = parts;
    this.keeper = keepPaths({ paths, session, native, lossMs: options.pathLossMs, now, problem });
    this.renewal = new Renewal({ files: session.files, session, feeder, problem: parts.problem });
  }

  start() {
    this.session.start();
  }

  /** @param {string} id */
  answer(id) {
    this.commandAcks.answer(id);
    this.#readOn();
  }

  /**
   * Publishes the outcome of a command.
   * @param {{device: string, rest: string, responseTopic?: string, correlation?: Uint8Array, body: object}} report
   */
  report({ device, rest, responseTopic, correlation, body }) {
    const isAsked =
      this.parts.options.protocolVersion === 5 &&
      isTopicName(responseTopic) &&
      // A shared subscription would give it back as a command.
      !(this.names.isShared && parseTopic(responseTopic, this.names));
    const topic = isAsked ? responseTopic : reportTopic({ device, rest }, this.names);
    this.reports.add({ topic, payload: JSON.stringify(body), ...(isAsked && { correlation }) });
  }

  /** Takes no more commands. Those that arrive get no PUBACK, so the broker sends them again. */
  pause() {
    this.isPaused = true;
  }

  /** True if all reports are sent, or cannot be sent. */
  get isDone() {
    return this.reports.size === 0 || !this.session.connected;
  }

  /** True if something may be overdue before a second has passed. */
  get isWatched() {
    return Boolean(this.keeper) || this.reports.size > 0;
  }

  /** Changes with each command and each report. */
  get activity() {
    const { received, retained, ignored, commandAcks, reports } = this;
    return received + retained + ignored + commandAcks.acknowledged + reports.sent + reports.dropped;
  }

  /** Call it once a second, and several times a second while isWatched. */
  checkHealth() {
    this.keeper?.check();
    const { ackTimeoutMs } = this.parts.options;
    const oldestMs = this.reports.oldestMs();
    if (oldestMs < ackTimeoutMs) return;
    this.session.kill({
      code: 'ACK_TIMEOUT',
      reason: `The broker acknowledged no report for ${Math.round(oldestMs / 1000)} s. Reconnecting.`,
      refused: false
    });
  }

  /** @returns {Promise<void>} */
  async stop() {
    await new Promise((resolve) => this.session.stop(() => resolve(undefined)));
    this.state = 'stopped';
    this.why = null;
  }

  view() {
    const { state, why, clientId, received, retained, ignored, commandAcks, reports } = this;
    return {
      state,
      code: why?.code ?? '',
      reason: why?.reason ?? '',
      clientId,
      received,
      acknowledged: commandAcks.acknowledged,
      open: commandAcks.open.size,
      redelivered: commandAcks.redelivered,
      retained,
      ignored,
      reports: reports.sent,
      reportsWaiting: reports.size,
      reportsDropped: reports.dropped
    };
  }

  /** @param {string} state @param {Reason | null} why */
  #setState(state, why) {
    this.state = state;
    this.why = why;
    this.parts.onStatus();
  }

  /** @param {import('../sending/feeder').Link} link */
  #onConnected(link) {
    const client = /** @type {import('mqtt').MqttClient} */ (this.session.client);
    this.commandAcks.connected(link.sessionPresent === true);
    client.on('packetsend', ({ cmd }) => cmd === 'pingreq' && this.commandAcks.pinged());
    client.on('packetreceive', ({ cmd }) => {
      if (cmd === 'pingresp' && client === this.session.client) this.commandAcks.pingAnswered();
    });
    this.#subscribe(client);
    this.reports.connected({
      maxInFlight: link.receiveMaximum,
      maxBytes: link.maximumPacketSize,
      qos: link.maximumQos === 0 ? 0 : 1,
      publish: ({ topic, payload, correlation }, qos, done) => {
        const properties = correlation && { correlationData: Buffer.from(correlation) };
        client.publish(topic, payload, { qos, ...(properties && { properties }) }, done);
      }
    });
  }

  /**
   * Subscribes again with each connection: it costs one packet, and the prefix may have changed.
   * @param {import('mqtt').MqttClient} client
   */
  #subscribe(client) {
    const filter = commandFilter(this.names);
    // [MQTT 3.8.3.1] rh 2: retained messages are not wanted; nl: a report to a response topic is not a command.
    // [MQTT-3.8.3-4] not in a shared subscription.
    const nl = !this.names.isShared;
    client.subscribe(filter, { qos: 1, rh: 2, nl }, (error, _asked, suback) => {
      if (client !== this.session.client || !this.session.connected) return;
      const code = Number(suback?.granted[0] ?? 0x80);
      if (error || code >= 0x80) this.#refused(filter, code);
      else if (code === 0) {
        const reason = `The broker sends commands with QoS 0 only, so they may be lost. Allow QoS 1 for ${filter}.`;
        this.parts.problem('COMMANDS_QOS', reason);
      }
    });
  }

  /** @param {string} filter @param {number} code */
  #refused(filter, code) {
    this.session.kill({
      code: `SUBACK ${code}`,
      reason: `The broker does not allow ${this.clientId} to subscribe to ${filter}. Grant it that right, or turn commands off in the broker node.`,
      refused: true,
      slow: true
    });
  }

  #onDisconnected() {
    this.resume = null;
    this.reports.disconnected();
  }

  /** @param {Packet} packet @param {() => void} done */
  #onPublish(packet, done) {
    // Continue without a PUBACK, because PUBACKs of reports arrive on the same stream.
    if (this.isPaused) return done();
    const isAcknowledged = packet.qos > 0;
    const command = this.#read(packet);
    const id = command ? `${this.parts.generation}.${++this.lastId}` : '';
    const isNew = isAcknowledged ? this.commandAcks.enter(packet, id) : true;
    if (command && isNew) {
      this.received++;
      this.parts.handOver({ ...command, ack: isAcknowledged ? id : '' });
    }
    if (this.commandAcks.open.size < RECEIVE_MAXIMUM) done();
    else this.resume = done;
  }

  /** Reads the next packet. MQTT 3.1.1 has no Receive Maximum, so reading stops instead. */
  #readOn() {
    if (!this.resume || this.commandAcks.open.size >= RECEIVE_MAXIMUM) return;
    const { resume } = this;
    this.resume = null;
    resume();
  }

  /** @param {Packet} packet @returns {object | null} null: it is not a command for a device */
  #read({ topic, payload, qos, retain, properties = {} }) {
    const address = parseTopic(topic, this.names);
    if (retain) this.retained++;
    else if (!address) this.ignored++;
    if (retain || !address) return null;
    const named = properties.userProperties?.id;
    const id = String((Array.isArray(named) ? named[0] : named) ?? '').slice(0, MAX_ID_CHARACTERS);
    return {
      ...address,
      // Copies: another thread would otherwise receive, and keep, the whole chunk that contained them.
      payload: new Uint8Array(/** @type {Buffer} */ (payload)),
      qos: qos > 0 ? 1 : 0,
      ...(id && { id }),
      expiryS: properties.messageExpiryInterval,
      responseTopic: properties.responseTopic,
      correlation: properties.correlationData && new Uint8Array(properties.correlationData)
    };
  }
}

exports.CommandSession = CommandSession;
