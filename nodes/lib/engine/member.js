'use strict';
// A node of an engine: its stage, its wires, its route in the current plan, and its status.

const { CODES, failure } = require('./inbox');
const { Wires } = require('./wires');
const { Listening } = require('./listening');
const { Status, shorten, rate } = require('../base/status');

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {import('./plan-compiler').Kind} Kind
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Route} Route
 * @typedef {import('./meter').Rates} Rates
 * @typedef {import('./meter').StageRate} StageRate
 * @typedef {import('./inbox').Done} Done
 * @typedef {import('../base/record').RecordArgs} RecordArgs
 *
 * @typedef {Partial<import('./listening').ListenerParts>} ListenerParts
 *
 * @typedef {object} StageParts
 * @property {Kind} kind
 * @property {object} settings the stage's own fields of StageSpec
 * @property {string} [protocol] for msg.source of its records; default by kind
 * @property {Omit<import('./broker-links').UplinkMember, 'stage'>} [uplink]
 * @property {(rates: StageRate, stats: EngineStats, member: Member) => import('../base/status').Shown} [shown]
 *
 * @typedef {StageParts & ListenerParts} Stage a node's contribution to the plan
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
    this.protocol = stage.protocol ?? (stage.kind === 'source' ? 'mqtt' : 'ingest');
    this.shown_ = stage.shown ?? shownRate;
    this.wires = new Wires(node);
    this.status = new Status(node);
    /** @type {Route | null} */
    this.route = null;
    /** Why the member is shut, as last reported. */
    this.said_ = '';
    /** Stand-in only: makes the real stage, or throws. @type {(() => Stage) | null} */
    this.again = null;
    const { listener, ...parts } = stage;
    /** For a node to which devices connect. */
    this.listening_ = listener ? new Listening(this, { listener, ...parts }) : null;
    host.register(this);
  }

  /** Call it before a plan is compiled. Replaces a stand-in by the real stage, if that is possible now. */
  renew() {
    if (!this.again) return;
    try {
      const { settings, uplink, shown } = this.again();
      this.settings_ = settings;
      this.uplink = uplink;
      this.shown_ = shown ?? shownRate;
      this.again = null;
    } catch {
      // Already reported.
    }
  }

  /** @returns {import('./plan-compiler').PlanMember} */
  planMember() {
    const { id, stage, kind, protocol, settings_: settings, wires } = this;
    return { id, stage, kind, protocol, settings, wires: wires.drawn };
  }

  /**
   * Applies the member's route of a new plan.
   * @param {Plan} plan
   * @returns {import('./pump').Outlet}
   */
  follow(plan) {
    const route = /** @type {Route} */ (plan.routes.get(this.id));
    this.route = route;
    const sentence = route.shut?.sentence ?? '';
    if (sentence && sentence !== this.said_) this.node.error(sentence);
    this.said_ = sentence;
    this.wires.apply(route.jsWires, route.nativeWires);
    const [origin] = route.origins.length === 1 ? route.origins : [];
    const protocol = (origin && plan.routes.get(origin)?.protocol) || 'ingest';
    return {
      send: (msg) => this.node.send(msg),
      origin: origin ? { protocol, nodeId: origin } : undefined
    };
  }

  /** True while this node's device listener is open. */
  get listening() {
    return this.listening_?.open ?? false;
  }

  /** The port on which the node listens. */
  get port() {
    return this.listening_?.port ?? 0;
  }

  /** @returns {import('../tls/tls-thread').TlsState | null} of a listener with TLS or WebSocket */
  get tlsState() {
    return this.listening_?.state ?? null;
  }

  /**
   * Opens the device listener, if this node has one and may accept records. A failure is reported once, and each tick
   * tries again.
   */
  listen() {
    if (!this.route?.shut) this.listening_?.start();
  }

  /** Call it before a plan in which this node must not accept records. */
  shut() {
    this.listening_?.shut();
  }

  /**
   * @param {Done} done
   * @returns {boolean} true: called `done` with an error, because this node must not accept records
   */
  refuses_(done) {
    const { shut } = this.route ?? {};
    if (shut) done(failure(CODES.NO_ROUTE, shut.sentence));
    return Boolean(shut);
  }

  /**
   * Puts a record into this node's own stage.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {{ delivery?: boolean }} [options]
   */
  put(args, done, options) {
    if (this.refuses_(done)) return;
    this.host.inbox.put(this.stage, args, done, options);
  }

  /**
   * Passes a record to every stage that follows natively.
   * @param {RecordArgs} args
   * @param {Done} done
   */
  pass(args, done) {
    if (this.refuses_(done)) return;
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
   * Updates the node's status. Called once a second.
   * @param {EngineStats} stats
   * @param {Rates} rates
   */
  tick(stats, rates) {
    if (this.route?.shut) return this.status.red(this.route.shut.shown);
    if (this.listening_?.refused) return this.listen();
    if (this.host.inbox.waits(this.stage))
      return this.status.set({ fill: 'yellow', shape: 'ring', text: 'slowed' });
    const shown = this.shown_(rates.stages.get(this.stage) ?? STILL, stats, this);
    this.status.set({ ...shown, text: shorten(shown.text) });
  }

  /** @returns {string} ends a status text with the carriage of the output */
  carriage() {
    return this.route && this.route.carriage !== 'none' ? ` · ${this.route.carriage}` : '';
  }

  /** Call it when the node is closed. */
  async close() {
    this.status.close();
    this.host.deregister(this);
    await this.listening_?.close();
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

exports.Member = Member;
