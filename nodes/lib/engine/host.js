'use strict';
// One running engine: its nodes (members), its plan, and the traffic between the engine and Node-RED. The engine node's
// constructor creates it, and the node's close handler closes it.
//
//   constructor        Members register. Their records wait in the inbox for the first plan. The log opens.
//   'flows:started'    Compile the live wires, shut members that must not accept records, apply the plan, open
//                      listeners, attach uplinks.
//   'flows:stopping'   A deploy begins. Messages and unknown stages wait until the next 'flows:started', or until it is
//                      certain that it will not come.
//   close()            Deliver while there is time, write the rest to the log, and stop uplinks, log and engine.

const { compile, logName } = require('./plan-compiler');
const { Complaints } = require('../base/complaints');
const { guard } = require('../base/guard');
const { Inbox } = require('./inbox');
const { Pump } = require('./pump');
const { Registry } = require('./device-registry');
const { Meter } = require('./meter');
const { Uplinks } = require('./broker-links');
const { LogLink } = require('./log-link');
const { Commands } = require('../commands');
const { DeviceEvents } = require('./device-events');
const { Deploys } = require('./deploys');
const { LoginDispatcher } = require('../login/login-dispatcher');
const parts = require('./modules');
const { drain, isDelivered, isSafe, unsafeRecords, sum } = require('./drain');

const TICK_MS = 1000;
/** Time to deliver the records in memory. Without a log they would be lost; with a log, a short time is enough. */
const DRAIN_MS = 10000;
const DRAIN_WITH_LOG_MS = 3000;
const SAVE_MS = 10000;
const UPLINK_STOP_MS = 2000;
const LOG_STOP_MS = 2000;
const TLS_STOP_MS = 1000;
/** Part of Node-RED's close timeout reserved for the steps after the records are safe, and for late timers. */
const END_MS = UPLINK_STOP_MS + LOG_STOP_MS + TLS_STOP_MS + 1500;
const FRAME_BYTES = 256 * 1024;
/** The engine's default. */
const MAX_DEVICES = 10000;

/**
 * @typedef {import('../../../native/index.js').Engine} Engine
 * @typedef {import('../../../native/index.js').EngineOptions} EngineOptions
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {import('./member').Member} Member
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./meter').Rates} Rates
 *
 * @typedef {object} HostOptions
 * @property {string} id of the engine node
 * @property {string} gatewayId
 * @property {'auto' | 'off'} fastPath
 * @property {EngineOptions & { maxPacketBytes: number }} engine
 * @property {import('./modules').StoreOptions | null} log null = no log
 * @property {string} directory of the log and of other persistent files
 *
 * @typedef {object} HostContext functions of the engine node and of Node-RED
 * @property {typeof import('../../../native/index.js')} native
 * @property {import('node:events').EventEmitter} events RED.events
 * @property {import('./plan-compiler').GetNode} getNode RED.nodes.getNode
 * @property {number} [closeTimeoutMs] longest time that Node-RED waits for a node to close
 * @property {(sentence: string) => void} warn
 * @property {(sentence: string) => void} error
 * @property {(sentence: string) => void} info
 */

class EngineHost {
  /**
   * @param {HostOptions} options
   * @param {HostContext} context
   */
  constructor(options, context) {
    this.id = options.id;
    this.gatewayId = options.gatewayId;
    this.fastPath = options.fastPath;
    /** Largest payload that the engine accepts. */
    this.maxPacketBytes = options.engine.maxPacketBytes;
    /** Most devices, including connections that have not logged in yet. */
    this.maxDevices = options.engine.maxDevices ?? MAX_DEVICES;
    this.context_ = context;
    /** @type {Engine} */
    this.engine = new context.native.Engine(options.engine, () => this.onDoorbell_());
    this.workers = this.engine.workers();
    this.acknowledge = options.engine.acknowledge ?? 'received';
    this.log = options.log && new LogLink(options.log, context);
    this.log?.start(this.engine.token);
    /** @type {Map<string, Member>} by node id */
    this.members_ = new Map();
    /** @type {Map<string, number>} by node id; a node that is deployed again keeps its stage */
    this.stages_ = new Map();
    /** @type {Map<number, import('./pump').Outlet>} */
    this.outlets_ = new Map();
    this.uplinks = new Uplinks();
    this.commands = this.orEnd_(
      () =>
        new Commands({
          engine: this.engine,
          directory: options.directory,
          warn: (sentence) => context.warn(sentence)
        })
    );
    // Until the flows that handle commands exist.
    this.commands.hold();
    this.registry = new Registry(this.engine, (stage) => this.nodeOf_(stage));
    this.deviceEvents = new DeviceEvents(this.engine);
    this.deviceEvents.follow(({ kind, device }) => {
      if (kind !== 'disconnected') this.commands.wake(device);
    });
    const complaints = new Complaints((sentence) => context.error(sentence));
    /**
     * Reports an error of the doorbell or a timer, which have no caller.
     * @param {Error} error
     */
    this.onFault_ = ({ message, stack = message }) =>
      complaints.tell(message, `Internal error; the gateway continues. Please report it: ${stack}`);
    this.inbox = new Inbox(this.engine, this.onFault_);
    this.pump_ = new Pump(
      (into) => this.engine.takeMessages(into),
      (stage) => this.outlets_.get(stage),
      FRAME_BYTES,
      this.onFault_
    );
    this.meter_ = new Meter();
    /** @type {Plan | null} */
    this.plan = null;
    /** @type {Promise<void> | null} resolves when the host is closed; null = close() was not called */
    this.closing = null;
    this.closed_ = false;
    /** @type {Set<() => void>} */
    this.bells_ = new Set([
      () => this.inbox.run(),
      () => this.pump_.run(),
      // Results before events, so that a device that reconnected in between is tried again.
      () => this.commands.ring(),
      () => this.deviceEvents.take()
    ]);
    this.logins = new LoginDispatcher(this.engine, (fn) => this.onBell(fn));
    /** @type {import('./modules').TlsThread | null} */
    this.tls_ = null;
    this.deploys_ = new Deploys(context, {
      begin: () => this.hold_(),
      prepare: () => this.prepare_(),
      apply: () => this.applyPlan_()
    });
    this.timer_ = setInterval(() => this.tick_(), TICK_MS).unref();
  }

  /**
   * Stops the threads and releases the lock of the log if a part of the engine cannot start.
   * @template T
   * @param {() => T} make
   * @returns {T}
   */
  orEnd_(make) {
    try {
      return make();
    } catch (error) {
      void this.log?.stop(0);
      this.engine.close();
      throw error;
    }
  }

  /** @returns {number} identifies this engine in uplink threads */
  get token() {
    return this.engine.token;
  }

  /** The thread with the TLS and WebSocket listeners for devices. It starts with its first listener. */
  get tls() {
    this.tls_ ??= new (parts.tls().TlsThread)(this.engine.token);
    return this.tls_;
  }

  /**
   * @param {string} nodeId
   * @returns {number} number of the stage, from 1, stable for the life of the engine
   */
  stageOf(nodeId) {
    const stage = this.stages_.get(nodeId) ?? this.stages_.size + 1;
    this.stages_.set(nodeId, stage);
    return stage;
  }

  /**
   * Adds a function that polls the engine, for example for logins.
   * @param {() => void} fn called at each doorbell, and once a second
   * @returns {() => void} removes the function
   */
  onBell(fn) {
    this.bells_.add(fn);
    return () => void this.bells_.delete(fn);
  }

  /** @param {Member} member */
  register(member) {
    this.members_.set(member.id, member);
  }

  /** @param {Member} member */
  deregister(member) {
    if (this.members_.get(member.id) === member) this.members_.delete(member.id);
  }

  /**
   * @param {EngineStats} stats
   * @returns {string} why devices wait for acknowledgements although there is memory, '' = they do not wait
   */
  waitsFor(stats) {
    const trouble = this.log?.trouble() ?? '';
    const members = [...this.members_.values()];
    const isServed = members.every(({ kind, uplink }) => kind !== 'uplink' || uplink);
    const byCloud = this.acknowledge !== 'stored' && !stats.slowed && this.uplinks.allConnected;
    return byCloud && isServed ? '' : trouble;
  }

  /**
   * @returns {EngineStats & { workers: object[], uplinks: object[], log: object | null, commands: object,
   *   fronts: object[], waiting: number, unclaimed: number }}
   */
  snapshot() {
    const { workers, inbox, pump_ } = this;
    return {
      ...this.engine.stats(),
      workers,
      uplinks: this.uplinks.view(),
      log: this.log?.view() ?? null,
      commands: this.commands.view(),
      fronts: [...this.members_.values()].flatMap(({ id, tlsState }) =>
        tlsState ? [{ nodeId: id, ...tlsState }] : []
      ),
      waiting: inbox.size,
      unclaimed: pump_.unclaimed
    };
  }

  /**
   * Drains and closes the engine. Idempotent.
   * @param {boolean} [isRemoved] true: the node was removed from the flow
   * @returns {Promise<void>}
   */
  close(isRemoved = false) {
    this.closing ??= this.close_(isRemoved);
    return this.closing;
  }

  /** @param {boolean} isRemoved */
  async close_(isRemoved) {
    const until = performance.now() + this.deploys_.closeTimeoutMs - END_MS;
    this.deploys_.close();
    this.tls_?.hold();
    this.engine.stopReading();
    this.pump_.paused = false;
    this.inbox.waitForPlan = false;
    await this.empty_(until);
    await this.uplinks.stop(UPLINK_STOP_MS);
    this.commands.close();
    clearInterval(this.timer_);
    this.inbox.run();
    await this.log?.stop(LOG_STOP_MS);
    const stats = this.engine.stats();
    const left =
      unsafeRecords(stats) + this.inbox.close('The engine stopped before the record was delivered.');
    this.pump_.close();
    this.closed_ = true;
    this.engine.close();
    await this.tls_?.stop(TLS_STOP_MS);
    for (const member of this.members_.values()) member.wires.restore();
    this.tellLeft_(left, sum(stats.storedRecords), isRemoved);
  }

  /**
   * Delivers the records in memory while an uplink accepts them. The log, if any, saves the rest.
   * @param {number} until ms of performance.now()
   */
  async empty_(until) {
    const atMost = (/** @type {number} */ ms) => Math.max(0, Math.min(ms, until - performance.now()));
    if (!this.log) return drain(this, isDelivered, { timeoutMs: atMost(DRAIN_MS) });
    const goesOn = () => this.uplinks.anyConnected;
    if (await drain(this, isDelivered, { timeoutMs: atMost(DRAIN_WITH_LOG_MS), goesOn })) return true;
    this.engine.saveAll();
    // Two polls: workers seal the open batches, and only then do these count as unsaved.
    return drain(this, isSafe, { timeoutMs: atMost(SAVE_MS), readings: 2 });
  }

  /**
   * @param {number} lost records
   * @param {number} kept records
   * @param {boolean} isRemoved
   */
  tellLeft_(lost, kept, isRemoved) {
    const keeps = kept > 0 ? `Kept on disk for the next start: ${kept}.` : '';
    if (lost > 0) {
      const why = this.log
        ? `Neither the uplink nor the log took them${this.log.reason()}.`
        : "Check the uplink's status.";
      this.context_.warn(
        `Records that were not delivered when the engine stopped and were dropped: ${lost}. ${why} ${keeps}`.trim()
      );
    }
    if (isRemoved && keeps) {
      const directory = this.log?.view().directory ?? '';
      this.context_.warn(
        `The engine node was deleted or disabled while ${kept} records waited for the cloud. They stay on disk in ${directory} and are sent when this engine node and its uplink nodes are back (undo the deletion, or enable them).`
      );
    } else if (lost === 0 && keeps) {
      this.context_.info(
        `Records that wait for the cloud: ${kept}. They are on disk and are sent when their uplink nodes run again.`
      );
    }
  }

  /**
   * @param {number} stage
   * @returns {{ id: string, name: string, protocol: string } | undefined}
   */
  nodeOf_(stage) {
    for (const member of this.members_.values()) {
      const { id, node, protocol } = member;
      if (member.stage === stage) return { id, name: node.name ?? '', protocol };
    }
    return undefined;
  }

  /** Call it when a deploy begins. */
  hold_() {
    this.pump_.paused = true;
    this.inbox.waitForPlan = true;
    this.logins.hold();
  }

  /** @returns {Promise<unknown> | null} resolves when the next plan can be applied */
  prepare_() {
    for (const member of this.members_.values()) member.renew();
    return this.uplinks.part(this.uplinkMembers_());
  }

  uplinkMembers_() {
    const members = [...this.members_.values()];
    return members.flatMap(({ stage, uplink }) => (uplink ? [{ stage, ...uplink }] : []));
  }

  applyPlan_() {
    if (this.closing) return;
    const members = [...this.members_.values()];
    const uplinks = this.uplinkMembers_();
    try {
      const plan = compile(
        members.map((member) => member.planMember()),
        this.context_.getNode,
        { fastPath: this.fastPath }
      );
      // Before the plan is applied, because their records have no route in it.
      for (const member of members) if (plan.routes.get(member.id)?.shut) member.shut();
      this.uplinks.announce(this, uplinks);
      this.engine.applyPlan(plan.spec);
      this.plan = plan;
      this.outlets_ = new Map(members.map((member) => [member.stage, member.follow(plan)]));
      this.log?.expect(members.filter(({ kind }) => kind === 'uplink').map(({ id }) => logName(id)));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.context_.error(
        `The wires could not be turned into a plan (${reason}). The previous plan stays in use.`
      );
      return this.resume_();
    }
    for (const member of members) member.listen();
    this.uplinks
      .reconcile(this, uplinks)
      .catch((error) => this.context_.error(`The uplink did not start: ${error.message}`));
    this.resume_();
  }

  resume_() {
    this.inbox.waitForPlan = false;
    this.pump_.paused = false;
    this.logins.resume();
    this.commands.resume();
    this.onDoorbell_();
  }

  onDoorbell_() {
    if (this.closed_) return;
    for (const fn of this.bells_) guard(fn, this.onFault_);
  }

  tick_() {
    const stats = this.engine.stats();
    const rates = this.meter_.read(stats);
    this.onDoorbell_();
    this.log?.tick();
    for (const member of this.members_.values()) guard(() => member.tick(stats, rates), this.onFault_);
  }
}

exports.EngineHost = EngineHost;
