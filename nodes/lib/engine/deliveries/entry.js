'use strict';
// A record that waits for a flow, or a group of records in one message, and the visits of its messages to nodes. The
// rules are in index.js.

const crypto = require('node:crypto');

/** The key of the record, on its messages and their clones. */
const KEY = Symbol('seganet.record');

/** Ends of a record, as in Engine.endDeferrals(). */
const END = /** @type {const} */ ({ DELIVERED: 0, REFUSED: 1, WITHHELD: 2 });

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

/**
 * @param {Pick<Entry, 'deferral' | 'sender' | 'due' | 'acknowledges'>} own
 * @returns {Entry}
 */
function newEntry(own) {
  return {
    ...own,
    key: crypto.randomBytes(8).toString('hex'),
    aliases: [],
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
    watchers: []
  };
}

/** @param {Entry} entry @param {FlowNode} node @returns {Visits} with one more open visit */
function begin(entry, node) {
  entry.isStarted = true;
  entry.open++;
  let visits = entry.visits.get(node);
  if (!visits) entry.visits.set(node, (visits = { air: 0, inside: 0, hasPassed: false }));
  return visits;
}

/** A visit ended. @param {Entry} entry @param {FlowNode} node @param {Visits} visits */
function close(entry, node, visits) {
  entry.open--;
  if (visits.inside + visits.air === 0) entry.visits.delete(node);
}

module.exports = { END, KEY, begin, close, newEntry };
