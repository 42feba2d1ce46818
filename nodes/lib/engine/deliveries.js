'use strict';
// Follows the messages of records through a flow, to acknowledge a record when the flow has delivered it.
//
// A message of a record has the record's key in `_msgid` and in a symbol property. Clones keep both; a function node
// that returns a new object keeps `_msgid`; a split node, which removes `_msgid`, keeps the symbol.
//
// A visit is one delivery of such a message to a node. It begins when Node-RED delivers the message (hooks preDeliver
// and onReceive) and ends when the node calls done() (onComplete). A node sends before it calls done(), so a record
// without an open visit has no message left in the flow. Its end is decided at the end of that turn of the event loop,
// because Catch nodes get a message after onComplete.
//
//   delivered  a message came back into a node of an engine and is safe there, or all visits ended without an error
//   refused    all visits ended, one of them with an error, and nothing came back; or the time is over
//   withheld   a deploy replaced a node that had the message, or a visit ended while a deploy ran: nodes that close
//              call done() for messages that they drop, and Node-RED drops messages to nodes that do not exist then

const crypto = require('node:crypto');

/** The key of the record, on its messages and their clones. */
const KEY = Symbol('seganet.record');

/** Ends of a record, as in Engine.endDeferrals(). */
const END = /** @type {const} */ ({ DELIVERED: 0, REFUSED: 1, WITHHELD: 2 });

/**
 * @typedef {0 | 1 | 2} End
 * @typedef {{ id: string, type?: string }} FlowNode a live node of Node-RED
 * @typedef {{ air: number, inside: number }} Visits of one node: messages on their way to it, and in it
 *
 * @typedef {object} Limit
 * @property {number} timeoutMs
 * @property {boolean} acknowledges true: the record is acknowledged when the time is over; false: it is refused
 *
 * @typedef {object} Entry a record that waits
 * @property {string} key
 * @property {number} deferral id of the engine
 * @property {FlowNode} sender node of an engine that sent the message
 * @property {boolean} isStarted a message was delivered to a node
 * @property {Map<FlowNode, Visits>} visits
 * @property {number} open visits
 * @property {number} returning messages that came back and are not safe yet
 * @property {number} follows records whose end decides about this one
 * @property {Entry[]} followers
 * @property {number} unrouted messages sent during a deploy that have not been delivered to a node
 * @property {boolean} isDoubtful a visit ended during a deploy
 * @property {boolean} failed
 * @property {boolean} isOver
 * @property {number} due ms of `now`
 * @property {boolean} acknowledges
 * @property {((end: End) => void)[]} watchers
 */

/** Of all engines. @type {Set<Deliveries>} */
const all = new Set();

class Deliveries {
  #end;
  #now;
  /** @type {Map<string, Entry>} */
  #entries;
  /** Without open visits. @type {Set<Entry>} */
  #idle;
  /** What a node sent since it got its latest message, in this turn. @type {Map<FlowNode, Entry[]>} */
  #sent;
  /** @type {[number[], number[], number[]]} deferrals by end */
  #ended;
  /** @type {NodeJS.Immediate | null} */
  #turn;
  #isDeploying;

  /**
   * @param {(deferrals: number[], end: End) => void} end of the engine
   * @param {() => number} [now] ms
   */
  constructor(end, now = () => performance.now()) {
    this.#end = end;
    this.#now = now;
    this.#entries = new Map();
    this.#idle = new Set();
    this.#sent = new Map();
    this.#ended = [[], [], []];
    this.#turn = null;
    this.#isDeploying = false;
    this.counters = { delivered: 0, refused: 0, withheld: 0, timedOut: 0 };
    all.add(this);
  }

  /** @returns {number} records that wait */
  get size() {
    return this.#entries.size;
  }

  /**
   * Follows a message. Call it before the message is sent.
   * @param {Record<PropertyKey, unknown>} msg gets `_msgid`
   * @param {number} deferral
   * @param {FlowNode} sender
   * @param {Limit} limit
   */
  start(msg, deferral, sender, { timeoutMs, acknowledges }) {
    const key = crypto.randomBytes(8).toString('hex');
    msg._msgid = key;
    msg[KEY] = key;
    this.#entries.set(key, {
      key,
      deferral,
      sender,
      isStarted: false,
      visits: new Map(),
      open: 0,
      returning: 0,
      follows: 0,
      followers: [],
      unrouted: 0,
      isDoubtful: false,
      failed: false,
      isOver: false,
      due: this.#now() + timeoutMs,
      acknowledges,
      watchers: []
    });
  }

  /**
   * Withholds a record whose message has no receiver.
   * @param {number} deferral
   */
  withhold(deferral) {
    this.counters.withheld++;
    this.#ended[END.WITHHELD].push(deferral);
    this.#plan();
  }

  /** @param {any} msg @returns {Entry | undefined} */
  #find(msg) {
    return this.#entries.get(msg?.[KEY]) ?? this.#entries.get(msg?._msgid);
  }

  /** Hook preRoute. @param {{ msg: object }} event */
  onRoute({ msg }) {
    if (!this.#isDeploying) return;
    const entry = this.#find(msg);
    if (entry) entry.unrouted++;
  }

  /** Hook preDeliver. @param {{ msg: object, source: { node: FlowNode }, destination: { node: FlowNode } }} event */
  onDeliver({ msg, source, destination }) {
    const entry = this.#find(msg);
    if (!entry) return;
    if (this.#isDeploying) entry.unrouted--;
    this.#visits(entry, destination.node).air++;
    entry.open++;
    const sent = this.#sent.get(source.node);
    if (!sent) this.#sent.set(source.node, [entry]);
    else if (sent[sent.length - 1] !== entry) sent.push(entry);
    this.#plan();
  }

  /** Hook onReceive; also called for messages that reach a node without preDeliver (link in, Catch …).
   * @param {{ msg: object, destination: { node: FlowNode } }} event
   */
  onReceive({ msg, destination }) {
    this.#sent.delete(destination.node);
    const entry = this.#find(msg);
    if (!entry) return;
    const visits = this.#visits(entry, destination.node);
    if (visits.air > 0) visits.air--;
    else entry.open++;
    visits.inside++;
  }

  /** Hook postReceive. @param {{ msg: object, destination: { node: FlowNode } }} event */
  onReceived({ msg, destination: { node } }) {
    // The node of a subflow instance passes messages on at once, and never calls done().
    if (node.type?.startsWith('subflow:')) this.onComplete({ msg, node: { node } });
  }

  /** Hook onComplete. @param {{ msg: object, error?: unknown, node: { node: FlowNode } }} event */
  onComplete({ msg, error, node: { node } }) {
    const entry = this.#find(msg);
    const visits = entry?.visits.get(node);
    if (!entry || !visits || visits.inside === 0) return;
    visits.inside--;
    entry.open--;
    if (visits.inside + visits.air === 0) entry.visits.delete(node);
    if (error) entry.failed = true;
    else if (this.#isDeploying) entry.isDoubtful = true;
    const sent = this.#sent.get(node);
    // A node that sends the message of another record and completes this one in the same step has put both into one
    // message, as a join node does.
    if (!error && sent && !sent.includes(entry)) this.#follow(entry, sent[sent.length - 1]);
    this.#check(entry);
  }

  /** @param {Entry} entry @param {Entry} leader */
  #follow(entry, leader) {
    if (leader.isOver) return;
    leader.followers.push(entry);
    entry.follows++;
  }

  /**
   * A message came back into a node of an engine.
   * @param {any} msg
   * @returns {((error?: Error) => void) | null} to be called once, when its record is safe or failed; null: the message
   *   is not followed
   */
  comesBack(msg) {
    const entry = this.#find(msg);
    if (!entry) return null;
    entry.returning++;
    return (error) => {
      entry.returning--;
      if (error) entry.failed = true;
      else return this.#finish(entry, END.DELIVERED);
      this.#check(entry);
    };
  }

  /** A deploy begins. */
  hold() {
    this.#isDeploying = true;
  }

  /**
   * The deploy is over. Withholds the records whose messages it may have removed.
   * @param {(node: FlowNode) => boolean} isLive
   */
  resume(isLive) {
    this.#isDeploying = false;
    for (const entry of [...this.#entries.values()]) {
      const nodes = [entry.sender, ...entry.visits.keys()];
      const isLost = entry.unrouted > 0 || entry.isDoubtful || !nodes.every(isLive);
      entry.unrouted = 0;
      if (isLost) this.#finish(entry, END.WITHHELD);
      else this.#check(entry);
    }
  }

  /** Call it once a second. */
  tick() {
    const now = this.#now();
    for (const entry of [...this.#entries.values()]) {
      if (entry.due > now || entry.isOver) continue;
      this.counters.timedOut++;
      this.#finish(entry, entry.acknowledges ? END.DELIVERED : END.REFUSED);
    }
  }

  close() {
    if (this.#turn) clearImmediate(this.#turn);
    this.#turn = null;
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#idle.clear();
    all.delete(this);
    for (const { watchers } of entries) for (const ended of watchers) ended(END.WITHHELD);
  }

  /** @param {any} msg @param {() => (end: End) => void} watch @returns {boolean} see whenEnded() */
  watch(msg, watch) {
    const entry = this.#find(msg);
    if (entry) entry.watchers.push(watch());
    return entry !== undefined;
  }

  /** @param {Entry} entry @param {FlowNode} node */
  #visits(entry, node) {
    entry.isStarted = true;
    let visits = entry.visits.get(node);
    if (!visits) entry.visits.set(node, (visits = { air: 0, inside: 0 }));
    return visits;
  }

  /** @param {Entry} entry */
  #check(entry) {
    this.#idle.add(entry);
    this.#plan();
  }

  #plan() {
    this.#turn ??= setImmediate(() => {
      this.#turn = null;
      this.#endTurn();
    });
  }

  #endTurn() {
    this.#sent.clear();
    if (!this.#isDeploying) {
      const idle = [...this.#idle];
      this.#idle.clear();
      for (const entry of idle) {
        const { isOver, isStarted, open, returning, follows, failed } = entry;
        if (isOver || !isStarted || open + returning + follows > 0) continue;
        this.#finish(entry, failed ? END.REFUSED : END.DELIVERED);
      }
    }
    const ended = this.#ended;
    this.#ended = [[], [], []];
    for (const end of [END.DELIVERED, END.REFUSED, END.WITHHELD]) {
      if (ended[end].length > 0) this.#end(ended[end], end);
    }
  }

  /** @param {Entry} entry @param {End} end */
  #finish(entry, end) {
    if (entry.isOver) return;
    entry.isOver = true;
    this.#entries.delete(entry.key);
    this.counters[end === END.DELIVERED ? 'delivered' : end === END.REFUSED ? 'refused' : 'withheld']++;
    this.#ended[end].push(entry.deferral);
    this.#plan();
    for (const ended of entry.watchers) ended(end);
    for (const follower of entry.followers) {
      follower.follows--;
      if (end !== END.REFUSED) this.#finish(follower, end);
      else follower.failed = true;
      this.#check(follower);
    }
  }
}

/**
 * Tells how the flow ends with the record of a message, if the record waits for that.
 * @param {any} msg
 * @param {() => (end: End) => void} watch called at once, if it waits; the result is called at the end
 */
function whenEnded(msg, watch) {
  for (const deliveries of all) if (deliveries.watch(msg, watch)) return;
}

exports.Deliveries = Deliveries;
exports.whenEnded = whenEnded;
exports.END = END;
exports.KEY = KEY;
