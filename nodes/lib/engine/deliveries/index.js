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

const { END, KEY, begin, close, newEntry } = require('./entry');
const { MessageKeys } = require('./message-keys');
const { MessageVisits } = require('./message-visits');

/** Core nodes that call done() only for what is in the message that they sent last, or for what they drop alone. */
const JOIN = 'join';

/**
 * Records that have ended and whose messages are still followed, at most. Beyond it, the oldest ones are forgotten,
 * because a node that never calls done() would keep them.
 */
const MAX_ENDED = 10000;

/**
 * @typedef {import('./entry').End} End @typedef {import('./entry').Entry} Entry @typedef {import('./entry').Visit} Visit
 * @typedef {import('./entry').FlowNode} FlowNode @typedef {import('./entry').SendEvent} SendEvent
 * @typedef {import('./entry').Limit} Limit @typedef {import('./entry').Visits} Visits
 *
 * @typedef {object} Sent what a node has sent in this turn, and since it got its latest message
 * @property {Set<Entry | null>} entries
 * @property {Entry | null} entry of the latest message
 * @property {Visit[]} visits the latest messages of that entry
 * @property {Entry | null} group made of them
 */

/** Of all engines. @type {Set<Deliveries>} */
const all = new Set();

class Deliveries {
  #end;
  #now;
  /** Of records that wait, of groups, and of those that are over and have open visits. */
  #keys = new MessageKeys();
  /** Records that wait. */
  #waiting;
  /** Those that are over and have open visits, the oldest first. @type {Set<Entry>} */
  #over;
  /** Without open visits. @type {Set<Entry>} */
  #idle;
  #visiting = new MessageVisits();
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
    this.#waiting = 0;
    this.#over = new Set();
    this.#idle = new Set();
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
    return this.#keys.size;
  }

  /**
   * Follows a message. Call it before the message is sent.
   * @param {Record<PropertyKey, unknown>} msg gets `_msgid`
   * @param {number} deferral
   * @param {FlowNode} sender
   * @param {Limit} limit
   */
  start(msg, deferral, sender, { timeoutMs, acknowledges }) {
    const { key } = this.#keys.add(
      newEntry({ deferral, sender, due: this.#now() + timeoutMs, acknowledges })
    );
    msg._msgid = key;
    msg[KEY] = key;
    this.#waiting++;
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

  /** Hook preRoute. @param {{ msg: object }} event */
  onRoute({ msg }) {
    if (!this.#isDeploying) return;
    const entry = this.#keys.find(msg);
    if (entry) entry.unrouted++;
  }

  /** Hook preDeliver. @param {SendEvent} event */
  onDeliver(event) {
    const { msg, source, destination } = event;
    const entry = this.#keys.find(msg);
    if (!entry && !(this.#inside.get(source.node) && isNew(msg))) return;
    if (entry) this.#keys.mark(msg, entry);
    if (entry && this.#isDeploying) entry.unrouted--;
    const passing = entry?.visits.get(source.node);
    if (passing) passing.hasPassed = true;
    const visit = { entry, node: destination.node, event };
    if (entry) begin(entry, visit.node).air++;
    this.#visiting.keep(msg, visit);
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
    const visit = this.#visiting.find(msg, (each) => each.event && each.node === node);
    if (visit) {
      visit.event = null;
      if (!visit.entry) return this.#visiting.leave(msg, visit);
      const visits = /** @type {Visits} */ (visit.entry.visits.get(node));
      visits.air--;
      visits.inside++;
    } else {
      const entry = this.#keys.find(msg);
      if (!entry) return;
      this.#visiting.keep(msg, { entry, node, event: null });
      begin(entry, node).inside++;
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
    const visit = this.#visiting.find(msg, (each) => !each.event && each.node === node);
    const entry = visit?.entry;
    if (!visit || !entry) return;
    this.#visiting.leave(msg, visit);
    this.#inside.set(node, (this.#inside.get(node) ?? 1) - 1);
    const visits = /** @type {Visits} */ (entry.visits.get(node));
    visits.inside--;
    close(entry, node, visits);
    if (error) entry.failed = true;
    else if (this.#isDeploying) entry.isDoubtful = true;
    const sent = this.#sent.get(node);
    if (!error && sent && !visits.hasPassed && !sent.entries.has(entry) && !entry.isOver)
      this.#merge(entry, sent, node.type === JOIN);
    this.#check(entry);
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
    const group = this.#keys.add(
      newEntry({ deferral: null, sender: null, due: Infinity, acknowledges: false })
    );
    for (const visit of visits) {
      const event = /** @type {SendEvent} */ (visit.event);
      this.#visiting.leave(event.msg, visit);
      // A copy, because the node may still have the object as the message of the record.
      event.msg = { ...event.msg, _msgid: group.key, [KEY]: group.key };
      this.#visiting.keep(event.msg, visit);
      if (owner) {
        const old = /** @type {Visits} */ (owner.visits.get(visit.node));
        old.air--;
        close(owner, visit.node, old);
      }
      visit.entry = group;
      begin(group, visit.node).air++;
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
    const entry = this.#keys.find(msg);
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
    for (const entry of this.#keys.entries()) {
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
    for (const entry of this.#keys.entries()) {
      if (entry.due > now || entry.isOver) continue;
      this.counters.timedOut++;
      this.#finish(entry, entry.acknowledges ? END.DELIVERED : END.REFUSED);
    }
  }

  close() {
    if (this.#turn) clearImmediate(this.#turn);
    this.#turn = null;
    const entries = this.#keys.entries();
    this.#keys.clear();
    this.#idle.clear();
    this.#over.clear();
    this.#waiting = 0;
    all.delete(this);
    for (const { watchers } of entries) for (const ended of watchers.splice(0)) ended(END.WITHHELD);
  }

  /** @param {any} msg @param {() => (end: End) => void} watch @returns {boolean} see whenEnded() */
  watch(msg, watch) {
    const entry = this.#keys.find(msg);
    if (!entry || entry.isOver) return false;
    entry.watchers.push(watch());
    return true;
  }

  /** @param {object} msg @returns {boolean} true: it is a message of a record, or of a group */
  follows(msg) {
    return this.#keys.find(msg) !== null;
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
    this.#keys.remove(entry);
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
