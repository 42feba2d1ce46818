'use strict';
// A node as its engine sees it: stage, wires, route of the current plan, status.

const { Wires } = require('./wires');
const { Status, shorten, rate } = require('./status');

/**
 * @typedef {import('../../native/index.js').Engine} Engine
 * @typedef {import('../../native/index.js').EngineStats} EngineStats
 * @typedef {import('./plan').Kind} Kind
 * @typedef {import('./plan').Plan} Plan
 * @typedef {import('./plan').Route} Route
 * @typedef {import('./meter').Rates} Rates
 * @typedef {import('./meter').StageRate} StageRate
 * @typedef {import('./inbox').Done} Done
 * @typedef {import('./record').RecordArgs} RecordArgs
 *
 * @typedef {object} Stage what a node brings to the plan
 * @property {Kind} kind
 * @property {object} settings the stage's own fields of StageSpec
 * @property {import('../../native/index.js').ListenOptions} [listener]
 * @property {string} [protocol] what msg.source of its records says; default by kind
 * @property {Omit<import('./uplinks').UplinkMember, 'stage'>} [uplink]
 * @property {(rates: StageRate, stats: EngineStats, member: Member) => import('./status').Shown} [shown]
 */

const STILL = { recordsIn: 0, recordsOut: 0, batches: 0, copiesDropped: 0 };

class Member {
  /**
   * @param {import('./host').EngineHost} host
   * @param {import('./wires').WiredNode} node
   * @param {Stage} stage
   */
  constructor(host, node, stage) {
    this.host = host;
    this.node = node;
    this.id = node.id;
    this.kind = stage.kind;
    this.stage = host.stageOf(node.id);
    this.uplink = stage.uplink;
    this.settings_ = stage.settings;
    this.listener_ = stage.listener;
    this.protocol = stage.protocol ?? (stage.kind === 'source' ? 'mqtt' : 'ingest');
    this.shown_ = stage.shown ?? shownRate;
    this.wires = new Wires(node);
    this.status = new Status(node);
    /** @type {Route | null} */
    this.route = null;
    /** True while this node's device listener is open. */
    this.listening = false;
    /** @type {number} the port that it listens on */
    this.port = 0;
    /** @type {string} why it does not */
    this.refused_ = '';
    host.register(this);
  }

  /** @returns {import('./plan').PlanMember} */
  planMember() {
    const { id, stage, kind, protocol, settings_: settings, wires } = this;
    return { id, stage, kind, protocol, settings, wires: wires.drawn };
  }

  /**
   * Takes its route from a new plan.
   * @param {Plan} plan
   * @returns {import('./pump').Outlet}
   */
  follow(plan) {
    const route = /** @type {Route} */ (plan.routes.get(this.id));
    this.route = route;
    this.wires.apply(route.jsWires, route.nativeWires);
    const [origin] = route.origins.length === 1 ? route.origins : [];
    const protocol = (origin && plan.routes.get(origin)?.protocol) || 'ingest';
    return {
      send: (msg) => this.node.send(msg),
      origin: origin ? { protocol, nodeId: origin } : undefined
    };
  }

  /**
   * Opens the device listener, if this node has one. A refusal is said once, and tried again at each tick.
   * @param {Engine} engine
   */
  listen(engine) {
    if (!this.listener_ || this.listening) return;
    const { host, port } = this.listener_;
    try {
      this.port = engine.listen(this.stage, this.listener_);
      this.listening = true;
      this.refused_ = '';
    } catch (error) {
      const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
      const refused = listenStatus(port, code, message);
      if (refused !== this.refused_) this.node.error(listenSentence(host, port, code, message));
      this.refused_ = refused;
      this.status.red(refused);
    }
  }

  /**
   * Puts a record into this node's own stage.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {{ delivery?: boolean }} [options]
   */
  put(args, done, options) {
    this.host.inbox.put(this.stage, args, done, options);
  }

  /**
   * Hands a record to every stage that follows natively.
   * @param {RecordArgs} args
   * @param {Done} done
   */
  pass(args, done) {
    const next = this.route?.next ?? [];
    let open = next.length;
    /** @type {Error | undefined} */
    let failed;
    if (open === 0) done();
    for (const stage of next) {
      this.host.inbox.put(stage, args, (error) => {
        failed ??= error;
        if (--open === 0) done(failed);
      });
    }
  }

  /**
   * Once a second: what the canvas shows.
   * @param {EngineStats} stats
   * @param {Rates} rates
   */
  tick(stats, rates) {
    if (this.refused_) return this.listen(this.host.engine);
    if (this.host.inbox.waits(this.stage))
      return this.status.set({ fill: 'yellow', shape: 'ring', text: 'slowed' });
    const shown = this.shown_(rates.stages.get(this.stage) ?? STILL, stats, this);
    this.status.set({ ...shown, text: shorten(shown.text) });
  }

  /** @returns {string} the end of a status text: how the output is carried */
  carriage() {
    return this.route && this.route.carriage !== 'none' ? ` · ${this.route.carriage}` : '';
  }

  /** The node is closed. Devices stay connected when the engine closes too: they get what is acknowledged meanwhile. */
  async close() {
    this.status.close();
    this.host.deregister(this);
    if (!this.listening) return;
    // Node-RED calls the close handlers of all nodes in one go; after this turn it is known who else is closing.
    await new Promise((resolve) => setImmediate(resolve));
    if (!this.host.closing) this.host.engine.unlisten(this.stage);
    this.listening = false;
  }
}

/** @type {NonNullable<Stage['shown']>} */
function shownRate(rates, _stats, member) {
  const dropped = rates.copiesDropped > 0;
  const text = dropped
    ? `${rate(rates.copiesDropped)}/s copies dropped`
    : `${rate(rates.recordsIn)}/s${member.carriage()}`;
  return {
    fill: dropped ? 'yellow' : rates.recordsIn > 0 ? 'green' : 'grey',
    shape: dropped ? 'ring' : 'dot',
    text
  };
}

/**
 * @param {number} port
 * @param {string} code
 * @param {string} message
 */
function listenStatus(port, code, message) {
  if (code === 'EADDRINUSE') return `port ${port} in use`;
  if (code === 'EACCES') return `port ${port} not allowed`;
  if (code === 'EADDRNOTAVAIL') return 'no such local address';
  return shorten(`port ${port}: ${code || message}`);
}

/**
 * @param {string} host
 * @param {number} port
 * @param {string} code
 * @param {string} message
 */
function listenSentence(host, port, code, message) {
  const what = `Devices cannot connect: ${host}:${port}`;
  if (code === 'EADDRINUSE') return `${what} is used by another program. Stop it, or choose another port.`;
  if (code === 'EACCES') return `${what} is not allowed for this user. Choose a port from 1024 on.`;
  if (code === 'EADDRNOTAVAIL')
    return `${what} is no address of this machine. Use 127.0.0.1, or 0.0.0.0 for all.`;
  return `${what} could not be opened (${code || message}).`;
}

exports.Member = Member;
exports.listenStatus = listenStatus;
exports.listenSentence = listenSentence;
