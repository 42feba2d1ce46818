'use strict';
// A node of an engine: its stage, its wires, its route in the current plan, and its status.

const { CODES, LIMIT, failure } = require('./inbox');
const { guard } = require('../base/guard');
const { Wires } = require('./wires');
const { Listening } = require('./listening');
const { Status, shorten, rate } = require('../base/status');
const { isBatch, toEnvelope, toRecord } = require('../base/record');

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {import('./plan-compiler').Kind} Kind
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Route} Route
 * @typedef {import('./figures/meter').Rates} Rates
 * @typedef {import('./figures/meter').StageRate} StageRate
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
 * @property {() => boolean} [isOpen] of a node that opens its port itself: true while it accepts devices
 * @property {import('./deliveries').Limit | null} [delivery] of a source that acknowledges a record when the flow has
 *   delivered it; null: when Node-RED has its message
 * @property {boolean} [asMessages] true: the user wants its output as messages
 * @property {boolean} [tenant] of a source: true: its device ids begin with a tenant that was proven
 * @property {(rates: StageRate, stats: EngineStats, member: Member) => import('../base/status').Shown} [shown]
 * @property {() => object | null} [figures] the node's own figures, for the metrics and the live view; null = none at
 *   present
 * @property {import('../live/list-pages').List} [list] a page of the node's own list, for the live view
 * @property {import('../live/snapshot').TenantPages} [operator] pages of its tenants, for the live view
 * @property {import('../tenants/front/tenants-link').TenantsLink} [tenants] of a node that divides records among tenants
 * @property {() => import('../tenants/front/division').Division} [division] its stages that are not on the canvas, at present
 *
 * @typedef {StageParts & ListenerParts} Stage a node's contribution to the plan
 */

/** For messages of stages whose sources are unknown. Their senders have limits of their own. */
const LONGEST = { timeoutMs: 3600000, acknowledges: false };
const STILL = { recordsIn: 0, recordsOut: 0, batches: 0, copiesDropped: 0, filtered: 0 };

class Member {
  #settings;
  #shown;
  /** Records that it passed on in JavaScript since count(). */
  #passed;
  /** Messages that came before the first plan with this node. @type {{ go: () => void, done: Done }[]} */
  #early;
  /** Why the member is shut, as last reported. */
  #said;
  /** For a node to which devices connect. */
  #listening;
  #isOpen;
  /** JavaScript brings its records, and knows how that goes. */
  #isPushed;

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
    this.delivery = stage.delivery ?? null;
    /** True: the user wants its output as messages. */
    this.asMessages = stage.asMessages ?? false;
    this.tenant = stage.tenant ?? false;
    this.#settings = stage.settings;
    this.protocol = stage.protocol ?? (stage.kind === 'source' ? 'mqtt' : 'ingest');
    this.#shown = stage.shown ?? shownRate;
    this.#isOpen = stage.isOpen;
    this.#isPushed = /** @type {{ protocol?: string }} */ (stage.settings).protocol === 'pushed';
    this.figures = stage.figures ?? null;
    this.list = stage.list ?? null;
    this.operator = stage.operator ?? null;
    this.tenants = stage.tenants ?? null;
    /** Its stages that are not on the canvas, at present. */
    this.division = stage.division ?? null;
    this.wires = new Wires(node);
    this.status = new Status(node);
    /** @type {Route | null} */
    this.route = null;
    this.#said = '';
    this.#passed = 0;
    this.#early = [];
    /** Stand-in only: makes the real stage, or throws. @type {(() => Stage) | null} */
    this.again = null;
    const { listener, ...parts } = stage;
    this.#listening = listener ? new Listening(this, { listener, ...parts }) : null;
    host.register(this);
  }

  /** Call it before a plan is compiled. Replaces a stand-in by the real stage, if that is possible now. */
  renew() {
    if (!this.again) return;
    try {
      const { settings, uplink, delivery, shown, tenant } = this.again();
      this.#settings = settings;
      this.tenant = tenant ?? false;
      this.delivery = delivery ?? null;
      this.uplink = uplink;
      this.#shown = shown ?? shownRate;
      this.again = null;
    } catch {
      // Already reported.
    }
  }

  /** @returns {import('./plan-compiler').PlanMember} */
  planMember() {
    const { id, stage, kind, protocol, wires, asMessages, tenant } = this;
    const settings = this.delivery ? { ...this.#settings, delivered: true } : this.#settings;
    const division = this.division?.();
    return {
      id,
      stage,
      kind,
      protocol,
      settings,
      wires: wires.drawn,
      asMessages,
      tenant,
      ...(division && { division })
    };
  }

  /**
   * Applies the member's route of a new plan.
   * @param {Plan} plan
   */
  follow(plan) {
    const route = /** @type {Route} */ (plan.routes.get(this.id));
    this.route = route;
    const sentence = route.shut?.sentence ?? '';
    if (sentence && sentence !== this.#said) this.node.error(sentence);
    this.#said = sentence;
    this.wires.apply(route.jsWires, route.nativeWires);
    for (const { go, done } of this.#early.splice(0)) guard(go, done);
  }

  /**
   * Handles a message when the engine knows the stage and its settings: now, or, in order, when the first plan with
   * this node is in use. Node-RED delivers messages to a new node before that, for example from a function node that a
   * deploy did not touch.
   * @param {() => void} go
   * @param {Done} done called with an error if too many messages wait, or if the node closes before
   */
  whenPlanned(go, done) {
    if (this.route) return go();
    if (this.#early.length >= LIMIT) {
      const sentence = `The deploy is not finished: ${LIMIT} messages already wait for it. Send the message again.`;
      return done(failure(CODES.FULL, sentence));
    }
    this.#early.push({ go, done });
  }

  /**
   * Returns where the engine's messages of this node go.
   * @param {Plan} plan
   * @param {import('./plan-swap').Rest} [rest] for messages of the previous plan
   * @returns {import('./pump').Outlet}
   */
  outlet(plan, rest) {
    const route = /** @type {Route} */ (plan.routes.get(this.id));
    const [origin] = route.origins.length === 1 ? route.origins : [];
    const protocol = (origin && plan.routes.get(origin)?.protocol) || 'ingest';
    const limit = this.#limit(route);
    const { deliveries } = this.host;
    const isHeard = rest
      ? rest.enter.length + rest.send.length > 0
      : route.jsWires.some((port) => port.length > 0);
    return {
      send: (msg) => {
        for (const stage of rest?.enter ?? []) this.#enter(stage, msg);
        this.wires.send(msg, rest?.send);
      },
      // A message that the previous plan sent may have no wire in this one.
      follow: (msg, deferral) =>
        isHeard ? deliveries.start(msg, deferral, this.node, limit) : deliveries.withhold(deferral),
      origin: origin ? { protocol, nodeId: origin } : undefined
    };
  }

  /**
   * Puts the record or batch of a message into a stage that now follows natively.
   * @param {number} stage
   * @param {Record<string, any>} msg
   */
  #enter(stage, msg) {
    const { deliveries, inbox } = this.host;
    const done = (/** @type {Error | undefined} */ error) => error && this.node.error(error, msg);
    inbox.put(stage, isBatch(msg) ? toEnvelope(msg) : toRecord(msg), done, {
      early: true,
      safe: deliveries.comesBack(msg)
    });
  }

  /**
   * Returns the strictest limit of the sources whose records this node sends.
   * @param {Route} route
   * @returns {import('./deliveries').Limit}
   */
  #limit({ origins }) {
    const limits = origins.flatMap((id) => this.host.deliveryOf(id) ?? []);
    if (limits.length === 0) return LONGEST;
    return {
      timeoutMs: Math.min(...limits.map(({ timeoutMs }) => timeoutMs)),
      acknowledges: limits.every(({ acknowledges }) => acknowledges)
    };
  }

  /** True while this node's device listener is open. */
  get listening() {
    return this.#listening?.open ?? false;
  }

  /** @returns {boolean | null} true while devices can connect to this node; null if none connect to it */
  get accepts() {
    return this.#listening?.open ?? this.#isOpen?.() ?? null;
  }

  /** The port on which the node listens. */
  get port() {
    return this.#listening?.port ?? 0;
  }

  /** @returns {import('../tls/tls-thread').TlsState | null} of a listener with TLS or WebSocket */
  get tlsState() {
    return this.#listening?.state ?? null;
  }

  /**
   * Opens the device listener, if this node has one and may accept records. A failure is reported once, and each tick
   * tries again.
   */
  listen() {
    if (!this.route?.shut) this.#listening?.start();
  }

  /** Call it before a plan in which this node must not accept records. */
  shut() {
    this.#listening?.shut();
  }

  /**
   * @param {Done} done
   * @returns {boolean} true: called `done` with an error, because this node must not accept records
   */
  #refuses(done) {
    const { shut } = this.route ?? {};
    if (shut) done(failure(CODES.NO_ROUTE, shut.sentence));
    return Boolean(shut);
  }

  /**
   * Puts a record into this node's own stage.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {{ delivery?: boolean, msg?: object }} [options] msg: the message that became the record
   */
  put(args, done, { delivery = false, msg } = {}) {
    if (this.#refuses(done)) return;
    if (delivery && this.delivery) return this.host.inbox.put(this.stage, args, () => {}, { safe: done });
    this.host.inbox.put(this.stage, args, done, { delivery, safe: this.host.deliveries.comesBack(msg) });
  }

  /**
   * Passes a record to every stage that follows natively.
   * @param {RecordArgs} args
   * @param {Done} done
   * @param {object} msg the message that became the record
   */
  pass(args, done, msg) {
    this.#passed++;
    this.#passOn(args, done, msg);
  }

  /** Counts a message that it sends on without a record. */
  passMessage() {
    this.#passed++;
  }

  /**
   * Adds what it passed on in JavaScript to its rates. Call it once for each reading of the counters.
   * @param {Rates} rates
   */
  count({ seconds, stages }) {
    const perS = this.#passed / Math.max(seconds, 0.001);
    this.#passed = 0;
    const row = stages.get(this.stage);
    if (!row) return;
    row.recordsIn = hundredths(row.recordsIn + perS);
    row.recordsOut = hundredths(row.recordsOut + perS);
  }

  /** @param {RecordArgs} args @param {Done} done @param {object} msg */
  #passOn(args, done, msg) {
    if (this.host.postpones(() => this.#passOn(args, done, msg))) return;
    if (this.#refuses(done)) return;
    const next = this.route?.next ?? [];
    if (next.length === 0) return done();
    const isSafe = this.host.deliveries.comesBack(msg);
    const each = afterAll(next.length, done);
    const safe = isSafe && afterAll(next.length, isSafe);
    for (const stage of next) this.host.inbox.put(stage, args, each, { safe });
  }

  /**
   * True if the node's status depends on nothing that changes unnoticed: only on the figures of the engine, the plan,
   * and the reports of the uplinks and the log.
   */
  get isSteady() {
    const { figures, list, operator, tenants, tlsState } = this;
    const isPlain = !figures && !list && !operator && !tenants && !this.#isOpen && !tlsState;
    return (
      isPlain &&
      !this.#isPushed &&
      !this.#listening?.refused &&
      !this.host.inbox.waits(this.stage) &&
      this.#passed === 0
    );
  }

  /**
   * Updates the node's status. Called once a second.
   * @param {EngineStats} stats
   * @param {Rates} rates
   */
  tick(stats, rates) {
    if (this.route?.shut) return this.status.red(this.route.shut.shown);
    if (this.#listening?.refused) return this.listen();
    if (this.host.inbox.waits(this.stage))
      return this.status.set({ fill: 'yellow', shape: 'ring', text: 'slowed' });
    const shown = this.#shown(rates.stages.get(this.stage) ?? STILL, stats, this);
    this.status.set({ ...shown, text: shorten(shown.text) });
  }

  /**
   * Returns the node as the live view shows it: its rates, the carriage of each wire, its status.
   * @param {Rates} rates
   */
  view(rates) {
    const { id, node, kind, protocol, route } = this;
    const { recordsIn, recordsOut, batches } = rates.stages.get(this.stage) ?? STILL;
    return {
      id,
      name: node.name ?? '',
      type: node.type,
      kind,
      protocol: kind === 'source' || kind === 'ingest' ? protocol : '',
      port: this.listening ? this.port : 0,
      carriage: route?.carriage ?? 'none',
      wires: route?.wires ?? [],
      inPerS: recordsIn,
      outPerS: recordsOut,
      batchesPerS: batches,
      status: this.status.shown
    };
  }

  /** @returns {string} ends a status text with the carriage of the output */
  carriage() {
    const { carriage = 'none', veto = '' } = this.route ?? {};
    const why = veto && ` (${veto})`;
    return carriage === 'none' ? '' : ` · ${carriage}${why}`;
  }

  /** Call it when the node is closed. */
  async close() {
    const closed = failure(CODES.CLOSED, 'The node closed before its first plan was in use.');
    for (const { done } of this.#early.splice(0)) done(closed);
    this.status.close();
    this.host.deregister(this);
    await this.#listening?.close();
  }
}

/**
 * @param {number} count
 * @param {Done} done gets the first error. A stage that leads nowhere, such as a tap that samples, is no error while
 *   another one takes the record
 * @returns {Done} to be called `count` times
 */
function afterAll(count, done) {
  let open = count;
  let isTaken = false;
  /** @type {(Error & { code?: string }) | undefined} */
  let noRoute;
  /** @type {Error | undefined} */
  let failed;
  return (/** @type {(Error & { code?: string }) | undefined} */ error) => {
    if (!error) isTaken = true;
    else if (error.code === CODES.NO_ROUTE) noRoute ??= error;
    else failed ??= error;
    if (--open === 0) done(failed ?? (isTaken ? undefined : noRoute));
  };
}

/** @param {number} value */
function hundredths(value) {
  return Math.round(value * 100) / 100;
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
