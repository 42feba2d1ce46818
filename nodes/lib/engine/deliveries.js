'use strict';
// Follows the messages of records through a flow, to acknowledge a record when the flow has delivered it.
//
// A message of a record has the record's key in `_msgid` and in a symbol property. Clones keep both. A function node
// that returns a new object keeps `_msgid`, and gets the symbol again when it is sent. A split node, which removes
// `_msgid`, keeps the symbol; the `_msgid` that its parts get instead denotes the record from then on. If both denote a
// record, `_msgid` counts: a function node sets it, also on an object that it sent for another record before.
//
// A visit is one delivery of such a message to a node. It begins when Node-RED delivers the message (hooks preDeliver
// and onReceive) and ends when the node calls done() for that message object (onComplete); a second done() of the same
// message ends nothing. A node sends before it calls done(), so a record without an open visit has no message left in
// the flow. Its end is decided at the end of that turn of the event loop, because Catch nodes get a message after
// onComplete, and because some nodes call done() just before they send.
//
//   delivered  a message came back into a node of an engine and is safe there, or all visits ended without an error
//   refused    all visits ended, one of them with an error, and nothing came back; or the time is over
//   withheld   a deploy replaced a node that had the message, or a visit ended while a deploy ran: nodes that close
//              call done() for messages that they drop, and Node-RED drops messages to nodes that do not exist then
//
// Merges. A join node puts several records into one message, which has the key of one of them, or (its reduce mode) of
// none; then it calls done() for all. The hooks cannot see that the other records are in that message. They see this:
//
//   the node called done() for a record of which it has sent no message on, after it sent another message in the same
//   turn of the event loop
//
// That message then becomes the message of a group: it gets a key of its own, so that its way is followed apart from
// the other messages of the record whose key it had. The record whose key it had, and those that are in it, are the
// members of the group. A record in two groups waits for both. Groups get members only while their message has not
// reached the next node, and a group that merges into another one becomes its member, so groups do not wait in circles.
//
// What the hooks see has a second reading: two timers in one turn, one in which the node sends the message of a record,
// and one in which it drops another one, or completes one whose message it sent earlier. Therefore:
//
//   - A record of which the node has sent a message on is not merged: it has a message of its own.
//   - A merge only adds a condition. A member waits for its group, and for its other visits. That the message of its
//     group came back does not end a member that has another message in the flow. Exceptions are the record that gave
//     the message its key, and the records of a join node, which are certainly in that message: for them, one message
//     that came back is enough.
//   - If the group is refused or withheld, its members are, unless another message of theirs came back before.
//
// Messages of a record that has ended are followed until their visits end, because they may merge with records that
// wait.

const crypto = require('node:crypto');

/** The key of the record, on its messages and their clones. */
const KEY = Symbol('seganet.record');

/** Ends of a record, as in Engine.endDeferrals(). */
const END = /** @type {const} */ ({ DELIVERED: 0, REFUSED: 1, WITHHELD: 2 });

/** Core nodes that call done() only for what is in the message that they sent last, or for what they drop alone. */
const JOIN = 'join';

/**
 * Records that have ended and whose messages are still followed, at most. Beyond it, the oldest ones are forgotten,
 * because a node that never calls done() would keep them.
 */
const MAX_ENDED = 10000;

/**
 * @typedef {0 | 1 | 2} End
 * @typedef {{ id: string, type?: string }} FlowNode a live node of Node-RED
 *
 * @typedef {object} Visits of one entry to one node
 * @property {number} air messages on their way to it
 * @property {number} inside messages in it
 * @property {boolean} hasPassed the node has sent a message of the entry since
 *
 * @typedef {{ msg: any, source: { node: FlowNode }, destination: { node: FlowNode } }} SendEvent of Node-RED, which
 *   passes event.msg to the node later
 *
 * @typedef {object} Visit
 * @property {Entry | null} entry null: nothing waits for this message, but a group may be made of it
 * @property {FlowNode} node
 * @property {SendEvent | null} event while the message is on its way
 *
 * @typedef {object} Sent what a node has sent in this turn, and since it got its latest message
 * @property {Set<Entry | null>} entries
 * @property {Entry | null} entry of the latest message
 * @property {Visit[]} visits the latest messages of that entry
 * @property {Entry | null} group made of them
 *
 * @typedef {object} Limit
 * @property {number} timeoutMs
 * @property {boolean} acknowledges true: the record is acknowledged when the time is over; false: it is refused
 *
 * @typedef {object} Entry a record that waits, or a group
 * @property {string} key
 * @property {string[]} aliases
 * @property {number | null} deferral id of the engine; null: a group
 * @property {FlowNode | null} sender node of an engine that sent the message
 * @property {boolean} isStarted a message was delivered to a node
 * @property {Map<FlowNode, Visits>} visits
 * @property {number} open visits
 * @property {number} returning messages that came back and are not safe yet
 * @property {Set<Entry>} groups that it is a member of; the open ones decide about it
 * @property {number} waits number of open groups
 * @property {Map<Entry, boolean>} members true: the member is certainly in the message
 * @property {number} undecided number of members without an end
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
  /** Other values of `_msgid` on messages of entries; null: several entries have it. @type {Map<string, Entry | null>} */
  #aliases;
  /** Records that wait. */
  #waiting;
  /** Of #entries, those that are over and have open visits, the oldest first. @type {Set<Entry>} */
  #over;
  /** Without open visits. @type {Set<Entry>} */
  #idle;
  /** Open visits by message. @type {WeakMap<object, Visit[]>} */
  #visiting;
  /** Number of messages in a node. @type {WeakMap<FlowNode, number>} */
  #inside;
  /** @type {Map<FlowNode, Sent>} */
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
    this.#aliases = new Map();
    this.#waiting = 0;
    this.#over = new Set();
    this.#idle = new Set();
    this.#visiting = new WeakMap();
    this.#inside = new WeakMap();
    this.#sent = new Map();
    this.#ended = [[], [], []];
    this.#turn = null;
    this.#isDeploying = false;
    this.counters = { delivered: 0, refused: 0, withheld: 0, timedOut: 0 };
    all.add(this);
  }

  /** @returns {number} records that wait */
  get size() {
    return this.#waiting;
  }

  /** @returns {number} records and groups that are followed, also those that have ended */
  get followed() {
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
    const { key } = this.#enter(deferral, sender, this.#now() + timeoutMs, acknowledges);
    msg._msgid = key;
    msg[KEY] = key;
    this.#waiting++;
  }

  /**
   * @param {number | null} deferral
   * @param {FlowNode | null} sender
   * @param {number} due
   * @param {boolean} acknowledges
   * @returns {Entry}
   */
  #enter(deferral, sender, due, acknowledges) {
    const entry = {
      key: crypto.randomBytes(8).toString('hex'),
      aliases: [],
      deferral,
      sender,
      isStarted: false,
      visits: new Map(),
      open: 0,
      returning: 0,
      groups: new Set(),
      waits: 0,
      members: new Map(),
      undecided: 0,
      unrouted: 0,
      isDoubtful: false,
      failed: false,
      isOver: false,
      due,
      acknowledges,
      watchers: []
    };
    this.#entries.set(entry.key, entry);
    return entry;
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

  /** @param {any} msg @returns {Entry | null} */
  #find(msg) {
    const id = msg?._msgid;
    return this.#entries.get(id) ?? this.#entries.get(msg?.[KEY]) ?? this.#aliases.get(id) ?? null;
  }

  /** Lets nodes that keep only one of both lose no record. @param {any} msg @param {Entry} entry */
  #mark(msg, entry) {
    const { key } = entry;
    // Without an exception for a frozen object.
    if (msg[KEY] !== key) Reflect.set(msg, KEY, key);
    const id = msg._msgid;
    if (id === key || typeof id !== 'string') return;
    const known = this.#aliases.get(id);
    if (known === entry) return;
    this.#aliases.set(id, known === undefined ? entry : null);
    entry.aliases.push(id);
  }

  /** Hook preRoute. @param {{ msg: object }} event */
  onRoute({ msg }) {
    if (!this.#isDeploying) return;
    const entry = this.#find(msg);
    if (entry) entry.unrouted++;
  }

  /** Hook preDeliver. @param {SendEvent} event */
  onDeliver(event) {
    const { msg, source, destination } = event;
    const entry = this.#find(msg);
    if (!entry && !(this.#inside.get(source.node) && isNew(msg))) return;
    if (entry) this.#mark(msg, entry);
    if (entry && this.#isDeploying) entry.unrouted--;
    const passing = entry?.visits.get(source.node);
    if (passing) passing.hasPassed = true;
    const visit = { entry, node: destination.node, event };
    if (entry) this.#begin(entry, visit.node).air++;
    this.#keep(msg, visit);
    const sent = this.#sent.get(source.node) ?? { entries: new Set(), entry: null, visits: [], group: null };
    this.#sent.set(source.node, sent);
    if (sent.group || sent.entry !== entry) sent.visits = [];
    sent.group = null;
    sent.entry = entry;
    sent.entries.add(entry);
    sent.visits.push(visit);
    this.#plan();
  }

  /**
   * Hook onReceive; also called for messages that reach a node without preDeliver (link in, Catch …).
   * @param {{ msg: object, destination: { node: FlowNode } }} event
   */
  onReceive({ msg, destination: { node } }) {
    this.#sent.delete(node);
    const visit = this.#visiting.get(msg)?.find((each) => each.event && each.node === node);
    if (visit) {
      visit.event = null;
      if (!visit.entry) return this.#leave(msg, visit);
      const visits = /** @type {Visits} */ (visit.entry.visits.get(node));
      visits.air--;
      visits.inside++;
    } else {
      const entry = this.#find(msg);
      if (!entry) return;
      this.#keep(msg, { entry, node, event: null });
      this.#begin(entry, node).inside++;
    }
    this.#inside.set(node, (this.#inside.get(node) ?? 0) + 1);
  }

  /** Hook postReceive. @param {{ msg: object, destination: { node: FlowNode } }} event */
  onReceived({ msg, destination: { node } }) {
    // The node of a subflow instance passes messages on at once, and never calls done().
    if (node.type?.startsWith('subflow:')) this.onComplete({ msg, node: { node } });
  }

  /** Hook onComplete. @param {{ msg: object, error?: unknown, node: { node: FlowNode } }} event */
  onComplete({ msg, error, node: { node } }) {
    // By the object, not by its key: a node may write another message's properties into it meanwhile.
    const visit = this.#visiting.get(msg)?.find((each) => !each.event && each.node === node);
    const entry = visit?.entry;
    if (!visit || !entry) return;
    this.#leave(msg, visit);
    this.#inside.set(node, (this.#inside.get(node) ?? 1) - 1);
    const visits = /** @type {Visits} */ (entry.visits.get(node));
    visits.inside--;
    this.#close(entry, node, visits);
    if (error) entry.failed = true;
    else if (this.#isDeploying) entry.isDoubtful = true;
    const sent = this.#sent.get(node);
    if (!error && sent && !visits.hasPassed && !sent.entries.has(entry) && !entry.isOver)
      this.#merge(entry, sent, node.type === JOIN);
    this.#check(entry);
  }

  /** @param {Entry} entry @param {FlowNode} node @returns {Visits} with one more open visit */
  #begin(entry, node) {
    entry.isStarted = true;
    entry.open++;
    let visits = entry.visits.get(node);
    if (!visits) entry.visits.set(node, (visits = { air: 0, inside: 0, hasPassed: false }));
    return visits;
  }

  /** A visit ended. @param {Entry} entry @param {FlowNode} node @param {Visits} visits */
  #close(entry, node, visits) {
    entry.open--;
    if (visits.inside + visits.air === 0) entry.visits.delete(node);
  }

  /** @param {object} msg @param {Visit} visit */
  #keep(msg, visit) {
    const visits = this.#visiting.get(msg);
    if (visits) visits.push(visit);
    else this.#visiting.set(msg, [visit]);
  }

  /** @param {object} msg @param {Visit} visit */
  #leave(msg, visit) {
    const left = (this.#visiting.get(msg) ?? []).filter((each) => each !== visit);
    if (left.length > 0) this.#visiting.set(msg, left);
    else this.#visiting.delete(msg);
  }

  /** @param {Entry} entry @param {Sent} sent @param {boolean} isCertain */
  #merge(entry, sent, isCertain) {
    const group = sent.group && !sent.group.isOver ? sent.group : this.#makeGroup(sent);
    if (group && group !== entry && !group.isOver) this.#join(group, entry, isCertain);
  }

  /** @param {Entry} group @param {Entry} entry @param {boolean} isCertain */
  #join(group, entry, isCertain) {
    if (group.members.has(entry)) return;
    group.members.set(entry, isCertain);
    group.undecided++;
    entry.groups.add(group);
    entry.waits++;
  }

  /**
   * Makes the latest messages of a node those of a group.
   * @param {Sent} sent
   * @returns {Entry | null} null: their receivers have them already, and they had no key
   */
  #makeGroup(sent) {
    const owner = sent.group ?? sent.entry;
    const visits = sent.visits.filter(({ event }) => event);
    // With runtimeSyncDelivery of Node-RED, nothing is on its way after send(). Then the record itself decides.
    if (visits.length === 0) return owner;
    const group = this.#enter(null, null, Infinity, false);
    for (const visit of visits) {
      const event = /** @type {SendEvent} */ (visit.event);
      this.#leave(event.msg, visit);
      // A copy, because the node may still have the object as the message of the record.
      event.msg = { ...event.msg, _msgid: group.key, [KEY]: group.key };
      this.#keep(event.msg, visit);
      if (owner) {
        const old = /** @type {Visits} */ (owner.visits.get(visit.node));
        old.air--;
        this.#close(owner, visit.node, old);
      }
      visit.entry = group;
      this.#begin(group, visit.node).air++;
    }
    if (owner && !owner.isOver) this.#join(group, owner, true);
    sent.group = group;
    return group;
  }

  /**
   * A message came back into a node of an engine.
   * @param {any} msg
   * @returns {((error?: Error) => void) | null} to be called once, when its record is safe or failed; null: the message
   *   is not followed
   */
  comesBack(msg) {
    const entry = this.#find(msg);
    if (!entry || entry.isOver) return null;
    entry.returning++;
    return (error) => {
      entry.returning--;
      if (error) entry.failed = true;
      else this.#finish(entry, END.DELIVERED, true);
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
      const nodes = [...(entry.sender ? [entry.sender] : []), ...entry.visits.keys()];
      const isLost = entry.unrouted > 0 || entry.isDoubtful || !nodes.every(isLive);
      entry.unrouted = 0;
      if (!isLost) this.#check(entry);
      else if (entry.isOver) this.#forget(entry);
      else this.#finish(entry, END.WITHHELD);
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
    this.#aliases.clear();
    this.#idle.clear();
    this.#over.clear();
    this.#waiting = 0;
    all.delete(this);
    for (const { watchers } of entries) for (const ended of watchers.splice(0)) ended(END.WITHHELD);
  }

  /** @param {any} msg @param {() => (end: End) => void} watch @returns {boolean} see whenEnded() */
  watch(msg, watch) {
    const entry = this.#find(msg);
    if (!entry || entry.isOver) return false;
    entry.watchers.push(watch());
    return true;
  }

  /** @param {object} msg @returns {boolean} true: it is a message of a record, or of a group */
  follows(msg) {
    return this.#find(msg) !== null;
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
      // It grows while members of groups become idle.
      for (const entry of this.#idle) {
        const { isOver, isStarted, open, returning, waits, failed } = entry;
        this.#idle.delete(entry);
        if (open + returning > 0) continue;
        if (isOver) this.#forget(entry);
        else if (isStarted && waits === 0) this.#finish(entry, failed ? END.REFUSED : END.DELIVERED);
      }
    }
    const ended = this.#ended;
    this.#ended = [[], [], []];
    for (const end of [END.DELIVERED, END.REFUSED, END.WITHHELD]) {
      if (ended[end].length > 0) this.#end(ended[end], end);
    }
  }

  /** @param {Entry} entry @param {End} end @param {boolean} [cameBack] one of its messages is safe in an engine */
  #finish(entry, end, cameBack = false) {
    if (entry.isOver) return;
    entry.isOver = true;
    if (entry.open + entry.returning === 0) this.#forget(entry);
    else this.#outlive(entry);
    if (entry.deferral !== null) {
      this.#waiting--;
      this.counters[end === END.DELIVERED ? 'delivered' : end === END.REFUSED ? 'refused' : 'withheld']++;
      this.#ended[end].push(entry.deferral);
      this.#plan();
    }
    for (const ended of entry.watchers.splice(0)) ended(end);
    for (const [member, isCertain] of entry.members) {
      member.waits--;
      if (end === END.WITHHELD || (cameBack && isCertain)) this.#finish(member, end, cameBack);
      else if (end === END.REFUSED) member.failed = true;
      this.#check(member);
    }
    for (const group of entry.groups) {
      // Nothing waits for its message any more.
      if (--group.undecided === 0 && group.deferral === null) this.#finish(group, END.WITHHELD);
    }
    entry.members.clear();
    entry.groups.clear();
  }

  /** @param {Entry} entry that is over and has messages in the flow */
  #outlive(entry) {
    this.#over.add(entry);
    const [oldest] = this.#over;
    if (this.#over.size > MAX_ENDED) this.#forget(oldest);
  }

  /** @param {Entry} entry */
  #forget(entry) {
    this.#over.delete(entry);
    this.#entries.delete(entry.key);
    for (const alias of entry.aliases) this.#aliases.delete(alias);
  }
}

/**
 * @param {object} msg
 * @returns {boolean} true: nothing follows it, because it is a node's own message, or because its record was forgotten
 */
function isNew(msg) {
  for (const deliveries of all) if (deliveries.follows(msg)) return false;
  return true;
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
