'use strict';
// An engine, an uplink thread and a store thread in memory, for the logic of the nodes alone: calls, their time and
// their order. The native parts are tested with them in test/runtime and test/system.

const { EventEmitter } = require('node:events');
const { writeFrame } = require('./frames');

const OK = 0;
const FULL = 1;
const TOO_LONG = 2;
const NO_STAGE = 4;

/** Order of calls across engine and threads. */
const calls = [];
const engines = [];
const threads = [];
const stores = [];

class Engine {
  constructor(options, ring) {
    Object.assign(this, { options, ring, token: engines.push(this), plan: { stages: [] }, pushes: [] });
    Object.assign(this, {
      frames: [],
      completions: [],
      held: [],
      /** The number of them on disk; the first ones are. */
      stored: 0,
      looks: 0,
      /** Records only on disk. */
      backlog: 0,
      /** Records in open batches. */
      open: 0,
      ports: new Map(),
      full: 0,
      logins: [],
      answers: [],
      refuseListen: null,
      seq: 0,
      /** Devices that take commands at once; the others are away. */
      takers: new Set(),
      commands: [],
      results: [],
      events: [],
      known: []
    });
  }
  /** As in the native one: later, and once for many. */
  doorbell() {
    this.rung ??= setImmediate(() => {
      this.rung = null;
      this.ring();
    });
  }
  workers() {
    return [{ index: 0, tid: 1, cpu: 1, reason: '' }];
  }
  applyPlan(plan) {
    calls.push('applyPlan');
    this.plan = structuredClone(plan);
  }
  setDiskCounts(counts) {
    this.diskCounts = counts;
  }

  listen(stage, options) {
    const { port } = options;
    this.listened = options;
    if (this.refuseListen) throw Object.assign(new Error('refused'), { code: this.refuseListen });
    calls.push('listen');
    this.ports.set(stage, port);
    return port;
  }
  takeLogins(limit) {
    return this.logins.splice(0, limit);
  }
  answerLogin(id, device) {
    this.answers.push([id, device]);
    return true;
  }
  unlisten(stage) {
    calls.push('unlisten');
    this.ports.delete(stage);
  }
  push(stage, deviceId, topic, payload, cls, flags, ts, seq, ticket) {
    if (this.full > 0) {
      this.full--;
      return FULL;
    }
    if (payload.length > this.options.maxPacketBytes) return TOO_LONG;
    if (!this.stage(stage)) return NO_STAGE;
    this.pushes.push({ stage, deviceId, topic, payload: String(payload), cls, flags, ts, seq, ticket });
    this.enter(stage, { deviceId, topic, payload, cls, flags, ticket });
    this.doorbell();
    return OK;
  }
  stage(id) {
    return this.plan.stages.find((stage) => stage.id === id);
  }
  enter(id, record) {
    const stage = this.stage(id);
    if (stage.kind === 'uplink') this.held.push({ ...record, stage: id });
    else
      this.leave(stage, stage.kind === 'priority' ? { ...record, cls: this.classOf(stage, record) } : record);
  }
  leave(stage, record) {
    const { deviceId: device, topic, payload, cls, flags } = record;
    const kind = stage.kind === 'batch' ? 1 : 0;
    const fields = {
      stage: stage.id,
      kind,
      cls,
      flags,
      device: kind ? '' : device,
      topic: kind ? '' : topic,
      payload
    };
    if (stage.messages) this.frames.push(writeFrame({ ...fields, seq: ++this.seq, ts: 1000, batchId: 7 }));
    for (const next of stage.next) this.enter(next, record);
  }
  classOf(stage, { topic, cls }) {
    return stage.rules.find((rule) => rule.topic === topic)?.class ?? (stage.defaultClass || cls);
  }
  classify(id, _deviceId, topic, _payload, cls) {
    return this.classOf(this.stage(id), { topic, cls });
  }
  command(ticket, deviceId, topic, payload, qos) {
    this.commands.push({ deviceId, topic, payload: String(payload), qos });
    this.results.push(ticket, this.takers.has(deviceId) ? 0 : 1);
    this.doorbell();
    return OK;
  }
  takeCommandResults() {
    return this.results.splice(0);
  }
  takeEvents(limit) {
    return this.events.splice(0, limit);
  }
  /** Adds a device that listens. */
  arrive(device) {
    this.takers.add(device);
    this.events.push({ kind: 'listening', device, stage: 1, worker: 0, reason: '', address: '' });
    this.doorbell();
  }
  agents(after, limit) {
    return this.known.filter(({ device }) => device > after).slice(0, limit);
  }
  values() {
    return { values: [], next: null, more: false, at: 0 };
  }
  takeMessages(into) {
    const frame = this.frames.shift();
    return frame ? frame.copy(into) : 0;
  }
  takeCompletions() {
    return this.completions.splice(0);
  }
  acknowledge(ok = 1) {
    for (const { ticket } of this.held.splice(0)) if (ticket) this.completions.push(ticket, ok);
    this.doorbell();
  }
  flush(stage) {
    calls.push(`flush ${stage}`);
  }
  saveAll() {
    calls.push('saveAll');
    this.onSaveAll?.();
  }
  holdReading(hold) {
    calls.push(`holdReading ${hold}`);
  }
  stopReading() {
    calls.push('stopReading');
  }
  saveSessions() {
    calls.push('saveSessions');
  }
  /** Each look finds something new. */
  fingerprint() {
    return ++this.looks;
  }

  stats() {
    const stages = this.plan.stages.map(({ id }) => {
      const records = this.pushes.filter(({ stage }) => stage === id).length;
      return { id, recordsIn: records, recordsOut: records, batches: 0, copiesDropped: 0, filtered: 0 };
    });
    const stored = Math.min(this.stored, this.held.length);
    const normal = (count) => [0, 0, 0, count, 0, 0, 0, 0, 0];
    return {
      devices: 0,
      heldBytes: 0,
      budgetBytes: 1,
      heldRecords: normal(this.held.length + this.open),
      unsavedRecords: normal(this.held.length - stored),
      storedRecords: normal(stored + this.backlog),
      backlogRecords: normal(this.backlog),
      slowed: false,
      counters: {},
      deliveredRecords: normal(0),
      drops: {},
      latency: [],
      stages
    };
  }
  close() {
    calls.push('engine.close');
  }
}

class UplinkThread extends EventEmitter {
  constructor(options) {
    super();
    Object.assign(this, { options, answers: [], reports: [] });
    this.number = threads.push(this);
    calls.push(`thread ${this.number}`);
  }
  setStages(stages) {
    this.stages = stages;
  }
  answer(ack) {
    this.answers.push(ack);
  }
  report(report) {
    this.reports.push(report);
  }
  attach(token, uplink) {
    calls.push(`attach ${this.number}`);
    Object.assign(this, { token, uplink });
    this.emit('state', { state: 'connected', rttMs: 3 });
  }
  async stop(timeoutMs) {
    this.stopMs = timeoutMs;
    calls.push(`thread.stop ${this.number}`);
  }
}

class StoreThread extends EventEmitter {
  constructor(options) {
    super();
    this.options = options;
    stores.push(this);
  }
  attach(token) {
    calls.push('store.attach');
    this.token = token;
    this.emit('state', { state: 'ready', code: '', reason: '', chunks: 0 });
  }
  /** The content of the disk, set by a test. */
  async holdings() {
    return this.held ?? [];
  }
  async stop() {
    calls.push('store.stop');
    this.emit('state', { state: 'stopped', code: '', reason: '' });
    return true;
  }
}

/** Listeners with TLS or WebSocket, set by the test. */
const fronts = [];

class TlsThread {
  constructor(token) {
    this.token = token;
  }
  open(stage, options, hooks) {
    calls.push('front.open');
    const front = { stage, options, hooks, closed: false };
    front.opened = new Promise((resolve, reject) => Object.assign(front, { resolve, reject }));
    fronts.push(front);
    return {
      opened: front.opened,
      close: () => {
        calls.push('front.close');
        front.closed = true;
      }
    };
  }
  hold() {
    calls.push('front.hold');
  }
  async stop() {
    calls.push('front.stop');
  }
}

const parts = {
  tls: { TlsThread },
  native: { Engine },
  kafka: { UplinkThread },
  store: { StoreThread },
  uplink: { UplinkThread, validateTopicTemplate: (text) => (text.includes('#') ? 'must not hold #' : true) }
};

function reset() {
  for (const list of [calls, engines, threads, stores, fronts]) list.length = 0;
}

module.exports = { parts, calls, engines, threads, stores, fronts, reset };
