'use strict';
// The live view of one engine: what a viewer gets every second. It exists only while a viewer selects the engine.

const { shortReason } = require('../base/texts/short-reasons');
const { DevicePages } = require('./device-pages');
const { DrainTime } = require('./drain-time');
const { sum, waitingOf } = require('./history');

/** Nodes of a snapshot. A flow with more shows the first ones. */
const MAX_NODES = 200;
/** Classes that are shown even if they have no records. */
const NAMED_CLASSES = 4;
const SEAL_REASONS = ['Single', 'Size', 'Delay', 'Flush', 'Plan', 'Demand'];

/**
 * @typedef {import('../engine/host').EngineHost} EngineHost
 * @typedef {import('../engine/modules').UplinkState & { broker: string, name: string, window?: number,
 *   brokers?: string[] }} Uplink
 * @typedef {ReturnType<EngineHost['snapshot']>} Stats
 * @typedef {import('./live-query').LiveQuery} LiveQuery
 * @typedef {import('./live-query').TenantQuery} TenantQuery
 *
 * @typedef {object} LiveAddition what a capability adds to the view of an engine
 * @property {(stats: Stats) => object} read members of a snapshot
 * @property {(query: LiveQuery) => object} [pages] members that depend on the query of a viewer
 * @typedef {(host: EngineHost, now: () => number) => LiveAddition} MakeLiveAddition now: ms
 *
 * @typedef {object} TenantPages the tenants of a gateway, as nodes/lib/tenants/operator makes them
 * @property {string} id
 * @property {(query: TenantQuery, strangers: number) => object} page strangers: refused records of no tenant
 * @property {() => { rows: import('../tenants/operator/tenant-rows').OperatorRow[], leftOut: number }} figures
 */

class EngineView {
  #host;
  #now;
  #drain = new DrainTime();
  #devices;
  #additions;
  /** Records delivered by class at the previous reading. @type {{ at: number, counts: number[] } | null} */
  #delivered = null;

  /**
   * @param {EngineHost} host
   * @param {() => number} [now] ms
   * @param {MakeLiveAddition[]} [additions]
   */
  constructor(host, now = () => performance.now(), additions = []) {
    this.#host = host;
    this.#now = now;
    this.#devices = new DevicePages(host.registry, now);
    this.#additions = additions.map((make) => make(host, now));
  }

  /** @returns {EngineHost} */
  get host() {
    return this.#host;
  }

  /** @param {LiveQuery} query @returns {object} what only a viewer with this query gets */
  pages(query) {
    const devicePage = query.devices && this.#devices.page(query.devices);
    return Object.assign({ devicePage }, ...this.#additions.map((added) => added.pages?.(query)));
  }

  /** Reads the engine. Call it about once a second. @returns {object} see docs/use/status-page.md */
  read() {
    const host = this.#host;
    const now = this.#now();
    const stats = host.snapshot();
    host.upkeep.watched();
    const { counters } = host.upkeep.rates;
    const perS = (/** @type {string} */ name) => counters[name] ?? 0;
    const waiting = waitingOf(stats);
    const nodes = host.nodes();
    const snapshot = {
      gateway: host.gatewayId,
      summary: {
        devices: stats.devices,
        receivedPerS: perS('recordsReceived'),
        pushedPerS: perS('recordsPushed'),
        deliveredPerS: perS('recordsDelivered'),
        received: stats.counters.recordsReceived ?? 0,
        pushed: stats.counters.recordsPushed ?? 0,
        delivered: stats.counters.recordsDelivered ?? 0,
        dropped: sum(Object.values(stats.drops).map(sum)),
        waiting,
        safe: sum(stats.storedRecords),
        memoryBytes: stats.heldBytes,
        memoryLimitBytes: stats.budgetBytes,
        slowedFrom: stats.slowedFrom ?? 0,
        waitsFor: host.waitsFor(stats)
      },
      classes: classesOf(stats, this.#perClass(now, stats)),
      batches: batchesOf(stats, counters),
      drain: this.#drain.read(now, waiting, perS('recordsDelivered')),
      uplinks: /** @type {Uplink[]} */ (stats.uplinks).map(uplinkOf),
      log: stats.log,
      workers: workersOf(stats),
      commands: stats.commands,
      nodes: nodes.slice(0, MAX_NODES),
      nodesLeftOut: Math.max(0, nodes.length - MAX_NODES)
    };
    return Object.assign(snapshot, ...this.#additions.map((added) => added.read(stats)));
  }

  /**
   * @param {number} now
   * @param {Stats} stats
   * @returns {number[] | null} records delivered per second by class; null at the first reading
   */
  #perClass(now, { deliveredRecords: counts }) {
    const before = this.#delivered;
    this.#delivered = { at: now, counts };
    if (!before) return null;
    const seconds = Math.max((now - before.at) / 1000, 0.001);
    // The count of an uplink that was removed is gone.
    const rate = (/** @type {number} */ more) => Math.round((Math.max(0, more) * 10) / seconds) / 10;
    return counts.map((count, index) => rate(count - before.counts[index]));
  }
}

/**
 * @param {Stats} stats
 * @param {number[] | null} perClass
 */
function classesOf(stats, perClass) {
  const { heldRecords, storedRecords, backlogRecords, drops, latency } = stats;
  return heldRecords.flatMap((inMemory, recordClass) => {
    const times = latency.find((row) => row.class === recordClass);
    const dropped = Object.fromEntries(
      Object.entries(drops).flatMap(([reason, counts]) =>
        counts[recordClass] > 0 ? [[reason, counts[recordClass]]] : []
      )
    );
    const count = inMemory + storedRecords[recordClass] + stats.deliveredRecords[recordClass];
    const isUsed = count > 0 || Object.keys(dropped).length > 0;
    // Class 0: dropped before a class was known.
    if (!isUsed && (recordClass === 0 || recordClass > NAMED_CLASSES)) return [];
    return {
      class: recordClass,
      deliveredPerS: perClass?.[recordClass] ?? null,
      delivered: stats.deliveredRecords[recordClass],
      waiting: inMemory + backlogRecords[recordClass],
      onDisk: storedRecords[recordClass],
      p50: times?.p50 ?? null,
      p99: times?.p99 ?? null,
      drops: dropped
    };
  });
}

/**
 * @param {Stats} stats
 * @param {Record<string, number>} perS rates of the counters
 */
function batchesOf({ counters }, perS) {
  const mean = (/** @type {Record<string, number>} */ from, /** @type {string} */ name) =>
    from.batchesSealed > 0 && from[name] !== undefined ? from[name] / from.batchesSealed : null;
  // Of the last second if there was a batch, else since the start.
  const recent = perS.batchesSealed > 0 ? perS : counters;
  return {
    sealed: counters.batchesSealed ?? 0,
    perS: perS.batchesSealed ?? 0,
    meanRecords: mean(recent, 'recordsQueued'),
    meanBytes: mean(recent, 'sealedBytes'),
    reasons: Object.fromEntries(
      SEAL_REASONS.map((reason) => [reason.toLowerCase(), counters[`sealedBy${reason}`] ?? 0])
    )
  };
}

/** @param {Stats} stats */
function workersOf({ workers, placement }) {
  return /** @type {import('../../../native/index.js').WorkerInfo[]} */ (workers).map(
    ({ index, cpu, reason }) => {
      const { busy = null, connections = 0 } = placement?.workers[index] ?? {};
      return { index, core: cpu, reason, busy, connections };
    }
  );
}

/** @param {Uplink} uplink */
function uplinkOf(uplink) {
  const { broker, name, state, code = '', reason = '', window, redelivered = 0, deadLetters = 0 } = uplink;
  const { alarms, commands, network, sessions = [], urls = [] } = uplink;
  return {
    broker,
    name,
    state,
    code,
    reason,
    short: shortReason(code),
    window: window ?? null,
    redelivered,
    deadLetters,
    alarms: alarms ? alarmsOf(alarms) : null,
    commands: commands ? { state: commands.state, reason: commands.reason } : null,
    network: network ? { interface: network.interface, ok: network.ok, reason: network.reason } : null,
    urls,
    sessions: sessions.map(sessionOf)
  };
}

/** @param {NonNullable<Uplink['alarms']>} alarms */
function alarmsOf({ state, code, reason, paths, sent, secondFirst }) {
  return { state, code, reason, short: shortReason(code), path: paths[1], sent, first: secondFirst };
}

/** @param {import('../engine/modules').SessionState} session */
function sessionOf(session) {
  const { classes, clientId, state, code, reason, rttMs, oldestMs, inflight, transport = '' } = session;
  return {
    classes,
    clientId,
    state,
    code,
    reason,
    short: shortReason(code),
    rttMs,
    oldestMs,
    inflight,
    backlogInflight: session.backlogInflight,
    acknowledged: session.acknowledged,
    transport,
    paths: (session.paths ?? []).map((path) => ({
      name: path.name,
      state: path.state,
      role: path.role,
      interface: path.interface,
      address: path.address,
      subflows: path.subflows,
      rttMs: path.rttMs,
      bytesAcked: path.bytesAcked
    }))
  };
}

exports.EngineView = EngineView;
