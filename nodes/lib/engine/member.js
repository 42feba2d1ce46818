'use strict';
// A node of an engine: its stage, its wires, its route in the current plan, and its status.

const { Inlet } = require('./inlet');
const { Wires } = require('./wires');
const { Listening } = require('./listening');
const { Status, shorten, rate } = require('../base/status');

/**
 * @typedef {import('../../../native/index.js').EngineStats} EngineStats
 * @typedef {import('./plan-compiler').Kind} Kind
 * @typedef {import('./plan-compiler').Plan} Plan
 * @typedef {import('./plan-compiler').Route} Route
 * @typedef {import('./figures/meter').Rates} Rates
 * @typedef {import('./figures/meter').StageRate} StageRate
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
 * @property {() => void} [planned] called when a plan with the stage is in use
 * @property {(msg: Record<string, any>) => void} [shape] changes a message before the node sends it
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

/** How the wires of an output carry records, for the status. */
const CARRIAGES = { native: 'native', message: 'as messages', both: 'native and messages' };
const STILL = { recordsIn: 0, recordsOut: 0, batches: 0, copiesDropped: 0, filtered: 0 };

class Member {
  /** @type {Stage} */
  #own;
  /** Why the member is shut, as last reported. */
  #said = '';
  /** For a node to which devices connect. @type {InstanceType<typeof Listening> | null} */
  #listening;

  /**
   * @param {import('./host').EngineHost} host
   * @param {import('./wires').WiredNode} node
   * @param {Stage} stage
   */
  constructor(host, node, stage) {
    this.host = host;
    this.node = node;
    this.id = node.id;
    this.stage = host.stageOf(node.id);
    this.#own = stage;
    this.#listening = listeningOf(this, stage);
    this.wires = new Wires(node);
    this.status = new Status(node);
    this.inlet = new Inlet(this);
    /** @type {Route | null} */
    this.route = null;
    /** Stand-in only: makes the real stage, or throws. @type {(() => Stage) | null} */
    this.again = null;
    host.register(this);
  }

  /**
   * Call it before a plan is compiled. Replaces a stand-in, which has no listener, by the real stage, if that is
   * possible now.
   */
  renew() {
    if (!this.again) return;
    try {
      this.#own = this.again();
      this.#listening = listeningOf(this, this.#own);
      this.again = null;
    } catch {
      // Already reported.
    }
  }

  get kind() {
    return this.#own.kind;
  }

  get protocol() {
    return this.#own.protocol ?? (this.kind === 'source' ? 'mqtt' : 'ingest');
  }

  get uplink() {
    return this.#own.uplink;
  }

  get delivery() {
    return this.#own.delivery ?? null;
  }

  get figures() {
    return this.#own.figures ?? null;
  }

  get shape() {
    return this.#own.shape ?? null;
  }

  get list() {
    return this.#own.list ?? null;
  }

  get operator() {
    return this.#own.operator ?? null;
  }

  get tenants() {
    return this.#own.tenants ?? null;
  }

  /** Its stages that are not on the canvas, at present. */
  get division() {
    return this.#own.division ?? null;
  }

  /** @returns {import('./plan-compiler').PlanMember} */
  planMember() {
    const { id, stage, kind, protocol, wires } = this;
    const { asMessages = false, tenant = false } = this.#own;
    const settings = this.delivery ? { ...this.#own.settings, delivered: true } : this.#own.settings;
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
    this.inlet.planned();
    this.#own.planned?.();
  }

  /** True while this node's device listener is open. */
  get listening() {
    return this.#listening?.open ?? false;
  }

  /** @returns {boolean | null} true while devices can connect to this node; null if none connect to it */
  get accepts() {
    return this.#listening?.open ?? this.#own.isOpen?.() ?? null;
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
   * Opens the device listener, if this node has one and may accept records, and the gateway is not handing its devices
   * over. A failure is reported once, and each tick tries again.
   */
  listen() {
    if (!this.route?.shut && !this.host.handover.isOn) this.#listening?.start();
  }

  /** Call it before a plan in which this node must not accept records. */
  shut() {
    this.#listening?.shut();
  }

  /**
   * True if the node's status depends on nothing that changes unnoticed: only on the figures of the engine, the plan,
   * and the reports of the uplinks and the log.
   */
  get isSteady() {
    const { figures, list, operator, tenants, tlsState } = this;
    const { isOpen, settings } = this.#own;
    // JavaScript brings the records of such a node, and knows how that goes.
    const isPushed = /** @type {{ protocol?: string }} */ (settings).protocol === 'pushed';
    const isPlain = !figures && !list && !operator && !tenants && !isOpen && !tlsState;
    return (
      isPlain &&
      !isPushed &&
      !this.#listening?.refused &&
      !this.host.inbox.waits(this.stage) &&
      this.inlet.passed === 0
    );
  }

  /**
   * Updates the node's status. Called once a second.
   * @param {EngineStats} stats
   * @param {Rates} rates
   */
  tick(stats, rates) {
    const { log } = this.host;
    if (log?.standby === 'yes') return this.status.set({ fill: 'grey', shape: 'ring', text: 'standby' });
    if (log?.standby === 'unknown') return this.status.red(log.trouble() || 'opening the log');
    if (this.route?.shut) return this.status.red(this.route.shut.shown);
    if (this.#listening?.refused) return this.listen();
    if (this.host.inbox.waits(this.stage))
      return this.status.set({ fill: 'yellow', shape: 'ring', text: 'slowed' });
    const { shown: show = shownRate } = this.#own;
    const shown = show(rates.stages.get(this.stage) ?? STILL, stats, this);
    const isDegraded = this.kind === 'source' && this.host.replicas?.state === 'degraded';
    if (isDegraded && shown.fill === 'green') {
      return this.status.set({
        fill: 'yellow',
        shape: 'ring',
        text: shorten('only this disk has records', ` · ${shown.text}`)
      });
    }
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
    return carriage === 'none' ? '' : ` · ${CARRIAGES[carriage]}${why}`;
  }

  /** Call it when the node is closed. */
  async close() {
    this.inlet.close();
    this.status.close();
    this.host.deregister(this);
    await this.#listening?.close();
  }
}

/**
 * @param {Member} member
 * @param {Stage} stage
 */
function listeningOf(member, { listener, ...parts }) {
  return listener ? new Listening(member, { listener, ...parts }) : null;
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
