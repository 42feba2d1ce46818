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

const { setTimeout } = require('node:timers/promises');
const { Planner } = require('./planner');
const { Complaints } = require('../base/complaints');
const { hurry } = require('../base/timing/each-second');
const { Handover } = require('./handover');
const { Inbox } = require('./inbox');
const { Pump } = require('./pump');
const { Registry } = require('./device-registry');
const { Uplinks } = require('./broker-links');
const { LogLink } = require('./log-link');
const { Commands } = require('../commands');
const { DeviceEvents } = require('./device-events');
const { DeviceReaders } = require('./device-readers');
const { Deploys } = require('./deploys');
const { DeployTraffic } = require('./deploy-traffic');
const { Deliveries } = require('./deliveries');
const { MessageHooks } = require('./message-hooks');
const { LoginDispatcher } = require('../login/login-dispatcher');
const parts = require('./modules');
const { empty, reportLeft } = require('./ending');
const { unsafeRecords, sum } = require('./drain');
const { snapshotOf } = require('./figures/snapshot');
const { Replicas } = require('./replicas');
const { Upkeep } = require('./upkeep');
const { ValueFile } = require('./value-file');

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
 *
 * @typedef {object} HostOptions
 * @property {string} id of the engine node
 * @property {string} gatewayId
 * @property {'auto' | 'off'} fastPath
 * @property {EngineOptions & { maxPacketBytes: number }} engine
 * @property {import('./modules').StoreOptions | null} log null = no log
 * @property {import('./replicas').ReplicaOptions | null} [replicas] with acknowledge 'replicated'
 * @property {number} [networkSeasonS] season of what the network does, s; default 0 = it is not forecast
 * @property {string} directory of the log and of other persistent files
 * @property {string} [valueDirectory] of the last values, and of what capabilities keep; blank: nothing is kept
 *
 * @typedef {object} HostContext functions of the engine node and of Node-RED
 * @property {typeof import('../../../native/index.js')} native
 * @property {import('node:events').EventEmitter} events RED.events
 * @property {import('./plan-compiler').GetNode} getNode RED.nodes.getNode
 * @property {() => import('./wire-targets').Canvas} [canvas] reads the live flows
 * @property {() => boolean} [metric] true while Node-RED logs metrics of messages
 * @property {(reason: string) => void} [refused] gets why a plan is not in use, '' = it is
 * @property {import('./message-hooks').Hooks} hooks RED.hooks
 * @property {number} [closeTimeoutMs] longest time that Node-RED waits for a node to close
 * @property {(sentence: string) => void} warn
 * @property {(sentence: string) => void} error
 * @property {(sentence: string) => void} info
 */

class EngineHost {
  #context;
  /** @type {Map<string, Member>} by node id */
  #members;
  /** @type {Map<string, number>} by node id; a node that is deployed again keeps its stage */
  #stages;
  #pump;
  #hooks;
  #planner;
  #closed;
  /** @type {import('./modules').TlsThread | null} */
  #tls;
  #deploys;
  #traffic;
  #isReplanning;

  /**
   * @param {HostOptions} options
   * @param {HostContext} context
   */
  constructor(options, context) {
    this.id = options.id;
    this.gatewayId = options.gatewayId;
    this.fastPath = options.fastPath;
    this.networkSeasonS = options.networkSeasonS ?? 0;
    /** Of the log and of other persistent files. */
    this.directory = options.directory;
    /** Largest payload that the engine accepts. */
    this.maxPacketBytes = options.engine.maxPacketBytes;
    /** False: topics that begin with $ are refused. */
    this.acceptsOddTopics = options.engine.oddTopics === 'accept';
    /** Most devices, including connections that have not logged in yet. */
    this.maxDevices = options.engine.maxDevices ?? MAX_DEVICES;
    this.#context = context;
    context.native.shortenTimeSlices?.();
    /** @type {Engine} */
    this.engine = new context.native.Engine(options.engine, () => this.upkeep.ring());
    this.workers = this.engine.workers();
    this.acknowledge = options.engine.acknowledge ?? 'received';
    /** True if the engine keeps the last value of each topic. */
    this.keepsValues = (options.engine.valuesMiB ?? 0) > 0;
    this.log = options.log && new LogLink(options.log, context);
    this.log?.start(this.engine.token);
    this.#members = new Map();
    this.#stages = new Map();
    this.uplinks = new Uplinks();
    this.commands = this.#orEnd(
      () =>
        new Commands({
          engine: this.engine,
          directory: options.directory,
          store: this.log?.commandStore,
          began: hurry,
          warn: (sentence) => context.warn(sentence)
        })
    );
    // Until the flows that handle commands exist.
    this.commands.hold();
    this.registry = new Registry(this.engine, (stage) => this.#nodeOf(stage));
    this.readers = new DeviceReaders();
    this.deviceEvents = new DeviceEvents(this.engine);
    this.deviceEvents.follow(({ kind, device }) => {
      if (kind !== 'disconnected') this.commands.wake(device);
    });
    const complaints = new Complaints((sentence) => context.error(sentence));
    // Errors of the doorbell or a timer, which have no caller.
    /** @param {Error} error */
    const onFault = ({ message, stack = message }) =>
      complaints.tell(message, `Internal error; the gateway continues. Please report it: ${stack}`);
    this.inbox = new Inbox(this.engine, onFault);
    this.deliveries = new Deliveries((ids, end) => this.engine.endDeferrals(ids, end));
    this.#hooks = new MessageHooks(context.hooks, this.deliveries, this.id, onFault);
    this.#pump = new Pump(
      (into) => this.engine.takeMessages(into),
      (stage) => this.#planner.outletOf(stage),
      FRAME_BYTES,
      onFault,
      (deferral) => this.deliveries.withhold(deferral)
    );
    this.#planner = new Planner(this, context, {
      pump: this.#pump,
      hooks: this.#hooks,
      resume: () => {
        this.#traffic.goOn();
        this.upkeep.take();
      }
    });
    /** @type {Promise<void> | null} resolves when the host is closed; null = close() was not called */
    this.closing = null;
    this.#closed = false;
    this.upkeep = new Upkeep(this, {
      bells: [
        () => this.inbox.run(),
        () => this.#pump.run(),
        // Results before events, so that a device that reconnected in between is tried again.
        () => this.commands.ring(),
        () => this.deviceEvents.take()
      ],
      judge: () => {
        if (!this.#deploys.isUnderWay) this.#planner.tick();
      },
      releaseMemory: () => context.native.releaseMemory?.(),
      releaseProgramPages: () => context.native.releaseProgramPages?.(),
      onFault,
      warn: (sentence) => context.warn(sentence)
    });
    /** Null unless only the clouds acknowledge. */
    this.replicas = options.replicas ? this.#watchReplicas(options.replicas) : null;
    this.inbox.isStandby = () => this.log?.standby === 'yes';
    if (this.log) this.log.onCounts = (counts) => this.replicas?.setLogCounts(counts);
    this.handover = new Handover(this);
    this.logins = new LoginDispatcher(this.engine, (fn) => this.upkeep.onBell(fn));
    /** Folder of what outlives a restart although no record needs it; '' = nothing does. */
    this.keptIn = options.valueDirectory ?? '';
    /** What is written before the engine closes. @type {Set<{ stop(): Promise<void> }>} */
    this.keptFiles = new Set();
    if (this.keepsValues && this.keptIn) {
      this.keptFiles.add(new ValueFile(this.engine, this.keptIn, (sentence) => context.warn(sentence)));
    }
    this.#tls = null;
    this.#traffic = new DeployTraffic(this, this.#pump, context);
    this.#deploys = new Deploys(context, {
      begin: () => {
        this.#planner.hurry();
        this.#traffic.hold();
      },
      prepare: () => this.#traffic.prepare(),
      apply: () => this.#planner.deploy()
    });
    this.#isReplanning = false;
  }

  /** @param {import('./replicas').ReplicaOptions} options */
  #watchReplicas(options) {
    const { warn, info } = this.#context;
    return new Replicas(options, {
      missing: () => (this.plan ? this.#missingCloud() : 'the flows are starting'),
      setDiskCounts: (counts) => this.engine.setDiskCounts(counts),
      changed: (state, before, reason) => {
        if (state === 'degraded') {
          warn(
            `Records are acknowledged from one disk alone, because ${reason}. They are lost if its machine is lost before ` +
              'the cloud has them.'
          );
        } else if (before === 'degraded') {
          info('Records are acknowledged only when two machines or the cloud have them, again.');
        }
        // The statuses show it, also while no record comes.
        this.upkeep.ring();
      }
    });
  }

  /** @returns {string} which cloud cannot acknowledge records now, '' = all can */
  #missingCloud() {
    if (this.log?.standby === 'yes') return 'another gateway has the log';
    if (this.members.some(({ kind, uplink }) => kind === 'uplink' && !uplink)) {
      return 'an uplink node has no usable broker';
    }
    if (this.uplinks.tenants) return 'the gateways of tenants are on this machine';
    const link = [...this.uplinks.links.keys()].find(({ state }) => state.state !== 'connected');
    return link ? `${link.name || 'an uplink'} is ${link.state.state}` : '';
  }

  /**
   * Stops the threads and releases the lock of the log if a part of the engine cannot start.
   * @template T
   * @param {() => T} make
   * @returns {T}
   */
  #orEnd(make) {
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
    this.#tls ??= new (parts.tls().TlsThread)(this.engine.token);
    return this.#tls;
  }

  /**
   * @param {string} nodeId
   * @returns {number} number of the stage, from 1, stable for the life of the engine
   */
  stageOf(nodeId) {
    const stage = this.#stages.get(nodeId) ?? this.#stages.size + 1;
    this.#stages.set(nodeId, stage);
    return stage;
  }

  /** True when nothing of it runs any more. */
  get isClosed() {
    return this.#closed;
  }

  /** Accepts no new devices from now on, except over UDP. */
  stopAccepting() {
    this.#tls?.hold();
    this.engine.stopAccepting();
  }

  /** @returns {Plan | null} in use */
  get plan() {
    return this.#planner.plan;
  }

  /** True while a plan replaces another one step by step. */
  get isSwapping() {
    return this.#planner.isSwapping;
  }

  /** Why the latest plan is not in use, '' = it is. */
  get refused() {
    return this.#planner.refused;
  }

  /**
   * Keeps a call for later while plans change, if the order of records depends on it.
   * @param {() => void} call
   * @returns {boolean} false: make the call now
   */
  postpones(call) {
    return this.#planner.postpones(call);
  }

  /** @returns {Member[]} its nodes */
  get members() {
    return [...this.#members.values()];
  }

  /**
   * @param {string} nodeId
   * @returns {import('./deliveries').Limit | null} of a source that acknowledges a record when a flow has delivered it
   */
  deliveryOf(nodeId) {
    return this.#members.get(nodeId)?.delivery ?? null;
  }

  /** Call it when the stages of a node have changed without a deploy: applies the plan again. */
  async replan() {
    if (this.#isReplanning) return;
    this.#isReplanning = true;
    // A deploy that begins during the wait takes the change in.
    while (!this.#deploys.isUnderWay && !this.closing) {
      const parting = this.#traffic.part();
      if (!parting) break;
      await parting;
    }
    this.#isReplanning = false;
    if (this.#deploys.isUnderWay || this.closing || !this.plan) return;
    this.#planner.hurry();
    this.#planner.deploy();
  }

  /** @param {Member} member */
  register(member) {
    this.#members.set(member.id, member);
  }

  /** @param {Member} member */
  deregister(member) {
    if (this.#members.get(member.id) === member) this.#members.delete(member.id);
  }

  /**
   * @param {EngineStats} stats
   * @returns {string} why devices wait for acknowledgements although there is memory, '' = they do not wait
   */
  waitsFor(stats) {
    if (this.replicas?.state === 'waiting') {
      return this.log?.isShared ? 'standby and cloud are missing' : 'the cloud is missing';
    }
    const trouble = this.log?.trouble() ?? '';
    const isServed = this.members.every(({ kind, uplink }) => kind !== 'uplink' || uplink);
    const { allConnected, tenants } = this.uplinks;
    // Tenants that sleep take records only from the disk.
    const byCloud = this.acknowledge !== 'stored' && !stats.slowed && allConnected && !tenants;
    return byCloud && isServed ? '' : trouble;
  }

  /** Returns the figures of the engine and its parts. */
  snapshot() {
    return snapshotOf(this, this.#pump.unclaimed);
  }

  /** @returns {ReturnType<Member['view']>[]} its nodes, in the order of their stages */
  nodes() {
    const members = [...this.#members.values()].sort((a, b) => a.stage - b.stage);
    return members.map((member) => member.view(this.upkeep.rates));
  }

  /**
   * Drains and closes the engine. Idempotent.
   * @param {boolean} [isRemoved] true: the node was removed from the flow
   * @returns {Promise<void>}
   */
  close(isRemoved = false) {
    this.closing ??= this.#close(isRemoved);
    return this.closing;
  }

  /** @param {boolean} isRemoved */
  async #close(isRemoved) {
    const until = performance.now() + this.#deploys.closeTimeoutMs - END_MS;
    this.#deploys.close();
    this.#planner.close();
    this.#tls?.hold();
    this.engine.stopReading();
    this.#pump.paused = false;
    this.inbox.waitForPlan = false;
    await empty(this, until);
    await this.uplinks.stop(UPLINK_STOP_MS);
    this.commands.close();
    this.upkeep.close();
    this.replicas?.close();
    this.handover.close();
    this.inbox.run();
    if (this.log) this.engine.saveSessions();
    const written = [...this.keptFiles].map((file) => stopWithin(file, LOG_STOP_MS));
    await Promise.all([this.log?.stop(LOG_STOP_MS), ...written]);
    const stats = this.engine.stats();
    const left =
      unsafeRecords(stats) + this.inbox.close('The engine stopped before the record was delivered.');
    this.#pump.close();
    this.#hooks.use(false);
    this.deliveries.close();
    this.#closed = true;
    this.engine.close();
    await this.#tls?.stop(TLS_STOP_MS);
    for (const member of this.#members.values()) member.wires.restore();
    reportLeft({ lost: left, kept: sum(stats.storedRecords), isRemoved }, this.log, this.#context);
  }

  /**
   * @param {number} stage
   * @returns {{ id: string, name: string, protocol: string } | undefined}
   */
  #nodeOf(stage) {
    for (const member of this.#members.values()) {
      const { id, node, protocol } = member;
      if (member.stage === stage) return { id, name: node.name ?? '', protocol };
    }
    return undefined;
  }
}

/** @param {{ stop(): Promise<void> }} file @param {number} timeoutMs @returns {Promise<void>} */
async function stopWithin(file, timeoutMs) {
  const over = new AbortController();
  const late = setTimeout(timeoutMs, undefined, { signal: over.signal }).catch(() => {});
  await Promise.race([file.stop(), late]);
  over.abort();
}

exports.EngineHost = EngineHost;
