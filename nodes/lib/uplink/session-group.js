'use strict';

const { placeName } = require('../settings/broker-url');
const { AckedBytes } = require('./sending/acked-bytes');
const { Aside } = require('./compression/aside');
const { Feeder } = require('./sending/feeder');
const { LinkCost } = require('./sending/link-cost');
const { Output } = require('./sending/output');
const { keepPaths } = require('./paths/path-keeper');
const { Renewal } = require('./session/renewal');
const { Session } = require('./session/session');
const { StallWatch } = require('./sending/stall-watch');
const { Status } = require('./sending/uplink-state');
const { EdgeNode } = require('./sparkplug/edge-node');
const { InFlightWindow } = require('./sending/in-flight-window');

/** @typedef {import('../settings/uplink-options').CheckedOptions} CheckedOptions */
/** @typedef {typeof import('../../../native')} Native */

/**
 * What the groups of an uplink share, and their callbacks.
 * @typedef {object} GroupParts
 * @property {CheckedOptions} options
 * @property {Native} native
 * @property {import('./sending/pacer').Pacer} pacer the rate of the backlog, which the whole uplink shares
 * @property {() => void} wake requests a turn() of all groups
 * @property {() => number} now ms, monotonic
 * @property {(code: string, reason: string) => void} problem
 * @property {import('./paths/session-paths').Paths | null} [paths] of the group
 * @property {import('./second-session').SecondSession | null} [second] the group sends copies
 * @property {import('./urls/uplink-urls').UplinkUrls | null} [urls] of the uplink, if it has several
 * @property {() => void} onStatus the status of this group has changed
 * @property {() => boolean} [mayPublishAside] something may be published beside the records
 * @property {() => void} [onDisconnected] the connection has ended
 * @property {(client: import('mqtt').MqttClient) => void} [onClient] there is a connection
 * @property {import('./session/session').SessionHandlers['onPublish']} [onPublish] for a session that subscribes
 */

/** Bytes that the stream may hold unsent: few where the kernel's own part is kept small too. */
const SHORT_BYTES = 16384;
const LONG_BYTES = 65536;
/** Longest pump of a less urgent group: a doorbell of a more urgent group waits this long for each of them. */
const LESS_URGENT_TURN_MS = 1;
const MOST_URGENT = 1;

/** The classes of an uplink that share an MQTT session: what they have in flight, the session, and its status. */
class Group {
  /** @param {number} index 0 = the most urgent @param {GroupParts} parts */
  constructor(index, parts) {
    const { options, native, now } = parts;
    this.index = index;
    /** Of the sessions that are shown. */
    this.number = options.redundantAlarms !== 'off' && index > 1 ? index : index + 1;
    this.native = native;
    this.classes = options.groups[index];
    this.clientId = options.clientIds[index];
    this.isOnly = options.groups.length === 1;
    this.ackTimeoutMs = options.ackTimeoutMs;
    this.acknowledgedBefore = 0;
    this.wake = parts.wake;
    this.onClient = parts.onClient;
    this.mayPublishAside = parts.mayPublishAside;
    this.paths = parts.paths;
    this.second = parts.second ?? null;
    if (this.second) this.second.group = this;
    /** The next turn pumps. */
    this.isPumpWanted = false;
    const socket = options.sockets[index];
    const isShared = this.classes.includes(MOST_URGENT) && this.classes.length > 1;
    this.feeder = new Feeder({
      native,
      window: new InFlightWindow(native, options.inflight, isShared ? options.reserve : null),
      output: new Output(
        (ids) => this.feeder.written(ids),
        socket.notSentLowat > 0 ? SHORT_BYTES : LONG_BYTES
      ),
      pacer: parts.pacer,
      schedule: () => this.schedule(),
      delay: (fn, ms) => setTimeout(fn, ms),
      now,
      problem: parts.problem,
      retryMs: options.retryMs,
      order: index,
      subscribes: parts.onPublish !== undefined || options.edgeNodes[index] !== undefined,
      turnMs: this.classes[0] === MOST_URGENT ? undefined : LESS_URGENT_TURN_MS,
      onRefused: this.second ? (code) => this.second?.refused(code) : undefined
    });
    this.status = new Status(this.feeder, parts.onStatus);
    /** @type {CheckedOptions['edgeNodes'][number] | undefined} */
    const edgeNode = options.edgeNodes[index];
    /** The session is an edge node of Sparkplug. @type {EdgeNode | undefined} */
    this.edgeNode =
      edgeNode &&
      new EdgeNode({
        ...edgeNode,
        isV5: options.protocolVersion === 5,
        feeder: this.feeder,
        write: (bytes) => this.session.connected && this.session.write(bytes, () => {}),
        problem: parts.problem
      });
    const choice = parts.urls?.choice();
    this.session = new Session(
      { ...options, clientId: this.clientId, socket, ways: parts.paths, ...this.#will(), choice },
      {
        onState: (state, reason) => this.status.set(state, reason),
        onConnected: (link) => this.#onConnected(link),
        onDisconnected: (byBroker, code) => {
          this.feeder.disconnected(byBroker, code);
          this.aside.disconnected();
          this.second?.follow();
          parts.onDisconnected?.();
          // The warning about a refused record names that record.
          return !this.feeder.sender.isCalm;
        },
        onPuback: (id, reasonCode) => {
          // The end of the turn must run as usual, even when there is nothing to send.
          parts.wake();
          if (!this.aside.acknowledged(id, reasonCode)) this.feeder.sender.acknowledge(id, reasonCode);
        },
        onPublish: this.edgeNode
          ? (packet, done) => /** @type {EdgeNode} */ (this.edgeNode).onPublish(packet, done)
          : parts.onPublish,
        onLeaving: () => this.edgeNode?.leave(),
        onProblem: parts.problem
      },
      native
    );
    const { session, feeder } = this;
    /** The URL of the last connection, -1 = there was none. */
    this.lastUrl = -1;
    parts.urls?.add({ session, feeder, choice: session.choice, leads: !this.second });
    this.aside = new Aside((bytes, done) => session.write(bytes, done), now);
    const { paths, problem } = parts;
    this.stalls = new StallWatch({
      waiting: () => feeder.waiting,
      isPausing: () => feeder.isPausing,
      activity: () => feeder.activity,
      wake: () => feeder.wakeAll(),
      renew: () =>
        session.kill({
          code: 'STALL',
          reason: 'Records did not move although the session was up. Reconnecting.',
          refused: false
        }),
      now,
      problem
    });
    this.acked = new AckedBytes({ session, native });
    this.cost = new LinkCost(() => feeder.sender.writer.sent());
    /** Batches of this session wait to save bytes. */
    this.isSaving = false;
    this.keeper = keepPaths({ paths, session, native, lossMs: options.pathLossMs, now, problem });
    this.renewal = new Renewal({ files: session.files, session, feeder, problem: parts.problem });
  }

  /** Returns the option of the session. */
  #will() {
    const { edgeNode } = this;
    return edgeNode && { will: () => edgeNode.will() };
  }

  schedule() {
    this.isPumpWanted = true;
    this.wake();
  }

  turn() {
    if (!this.isPumpWanted) return;
    this.isPumpWanted = false;
    this.feeder.pump();
  }

  /** @param {import('./sending/feeder').Link} link */
  #onConnected(link) {
    const { session, feeder } = this;
    if (link.maximumQos === 0 && feeder.needsQos1()) {
      session.kill({
        code: 'MAX_QOS_0',
        reason:
          'The broker accepts QoS 0 only, which may lose records. Use another broker, or set QoS 0 in the uplink node.',
        refused: true,
        slow: true
      });
      return;
    }
    const { index } = session.choice;
    const isElsewhere = this.lastUrl !== -1 && this.lastUrl !== index;
    this.lastUrl = index;
    const granted = this.aside.connected(
      { ...link, isElsewhere },
      feeder.window.configured,
      this.mayPublishAside?.() === true
    );
    this.edgeNode?.connected(session.client, link.maximumPacketSize);
    this.second?.follow();
    feeder.connected(granted, (bytes, done) => session.write(bytes, done));
    if (session.client) this.onClient?.(session.client);
  }

  /** @param {Map<number, import('./sending/uplink-stage').Stage>} stages */
  setStages(stages) {
    this.feeder.setStages(stages);
    this.second?.follow();
  }

  /**
   * Attaches the group to an engine as soon as it may send. Throws the engine's errors. REQUIRES: detached.
   * @param {number} token
   * @param {number} uplink
   */
  attach(token, uplink) {
    if (this.second) this.second.attach(token, uplink);
    else this.attachTo(token, uplink);
  }

  /**
   * Attaches the group to an engine. Throws the engine's errors. REQUIRES: detached.
   * @param {number} token
   * @param {number} uplink
   */
  attachTo(token, uplink) {
    const doorbell = () => this.feeder.doorbell();
    const classes = /** @type {import('../../../native').RecordClass[]} */ (this.classes);
    this.feeder.attach(
      new this.native.UplinkSource(
        token,
        uplink,
        doorbell,
        this.isOnly ? undefined : classes,
        false,
        this.second !== null
      )
    );
    this.status.reportToSource();
  }

  everySecond() {
    const { acknowledged } = this.feeder.sender;
    if (acknowledged !== this.acknowledgedBefore) this.session.alive();
    this.acknowledgedBefore = acknowledged;
    if (this.mayPublishAside?.()) this.aside.wanted(this.feeder.window);
    this.feeder.everySecond();
    this.#reportCost();
    this.stalls.check();
  }

  /** Reports to the engine what a message costs now. */
  #reportCost() {
    const { cost, feeder, keeper, session } = this;
    if (!feeder.source) return;
    cost.isMetered = keeper?.isMetered ?? false;
    const isV6 = this.isSaving && this.socketView().localAddress.includes(':');
    const { headBytes, recordBytes } = cost.update({ isTls: session.options.secure, isV6 });
    this.isSaving = feeder.source.setCost(cost.isMetered, headBytes, recordBytes);
  }

  /** True if records wait: what happens once a second must not be left out. */
  get isAlert() {
    return this.stalls.isAlert || this.feeder.waiting !== null;
  }

  /** True if something may be overdue before a second has passed. */
  get isWatched() {
    const { feeder, status, keeper } = this;
    const isUp = status.state === 'connected' && !status.isStalled && !status.isRefused;
    return Boolean(keeper) || !isUp || feeder.inflight > 0 || !feeder.sender.isCalm;
  }

  /** Call it once a second, and several times a second while isWatched. */
  checkHealth() {
    this.status.check();
    this.keeper?.check();
    if (this.isSaving && this.keeper && this.keeper.isMetered !== this.cost.isMetered) this.#reportCost();
    this.second?.check();
    const { liveness } = this.feeder.sender;
    const timeoutMs = this.ackTimeoutMs * liveness.patience;
    const silentMs = liveness.deadMs(this.ackTimeoutMs) || this.aside.deadMs(timeoutMs, liveness.progressAt);
    if (silentMs === 0) return;
    liveness.gaveUp();
    this.session.kill({
      code: 'ACK_TIMEOUT',
      reason: `The broker acknowledged nothing for ${Math.round(silentMs / 1000)} s. Reconnecting.`,
      refused: false
    });
  }

  /** True if everything that was taken is acknowledged, or has gone back to the engine. */
  get isDone() {
    // The first session sends what the second one has, too.
    return this.second !== null || (this.feeder.taken.size === 0 && !this.feeder.express.isActive);
  }

  /** Returns what the group took to the engine, and sends DISCONNECT. @returns {Promise<void>} */
  async stop() {
    this.status.stop();
    this.feeder.disconnected();
    this.feeder.detach();
    await new Promise((resolve) => this.session.stop(() => resolve(undefined)));
  }

  /** Returns the reported state of this session. */
  view() {
    const shown = this.status.view();
    return {
      group: this.number,
      classes: this.classes,
      clientId: this.clientId,
      ...(this.session.choice.hasSeveral && { url: placeName(this.session.options) }),
      everConnected: this.session.everConnected,
      connects: this.session.connects,
      certificateEnds: this.session.certificateEnds,
      bytesAcked: this.acked.read(),
      batchBytes: this.feeder.batchBytes,
      busyMs: Math.round(this.feeder.rate.busyMs),
      busyBytes: this.feeder.rate.busyBytes,
      ...shown,
      stalls: this.stalls.count,
      isStallRepeating: this.stalls.isRepeating,
      ...this.socketView(),
      ...this.keeper?.view(shown)
    };
  }

  /** Returns the socket's settings as the system reports them; -1 and '' = unknown. */
  socketView() {
    const unknown = { priority: -1, dscp: -1, localAddress: '' };
    const fd = this.status.state === 'connected' ? this.session.fd : null;
    if (fd === null) return unknown;
    try {
      const { priority, dscp, localAddress } = this.native.socketInfo(fd);
      return { priority, dscp, localAddress };
    } catch {
      // The socket was closed just now, or this addon cannot report them.
      return unknown;
    }
  }
}

exports.Group = Group;
