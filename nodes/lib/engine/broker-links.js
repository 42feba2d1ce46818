'use strict';
// The broker links that one engine uses, each with the number of its queue in the plan.

const { anyConnected } = require('./session-summary');

/**
 * @typedef {import('./broker-link').BrokerLink} BrokerLink
 * @typedef {import('./broker-link').UplinkStages} UplinkStages
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {object} Topics
 * @property {string} topic @property {string} recordTopic @property {0 | 1} qos
 * @property {'property' | 'suffix' | 'none'} history how records of the backlog are marked @property {string} historySuffix
 * @typedef {{ stage: number, link: BrokerLink, topics: Topics }} UplinkMember
 */

/** For the acknowledgements that are on their way to a thread that loses an uplink node. */
const PART_MS = 1000;

class Uplinks {
  constructor() {
    /** @type {Map<string, number>} by broker node id; a broker that is deployed anew keeps its queue */
    this.numbers_ = new Map();
    /** @type {Map<BrokerLink, UplinkStages>} with the stages of the present plan */
    this.links_ = new Map();
    /** @type {UplinkMember[]} of the present plan */
    this.members_ = [];
  }

  /** @returns {{ name: string, url: string, topics: Topics }[]} where the records go, by uplink node */
  targets() {
    return this.members_.map(({ link, topics }) => ({ name: link.name, url: link.url, topics }));
  }

  /**
   * @param {string} brokerId
   * @returns {number} from 1, stable while the engine lives
   */
  numberOf(brokerId) {
    const number = this.numbers_.get(brokerId) ?? this.numbers_.size + 1;
    this.numbers_.set(brokerId, number);
    return number;
  }

  /**
   * @param {string} nodeId of an uplink node that has no broker
   * @returns {number} of a queue that nobody serves
   */
  numberWithout(nodeId) {
    return this.numberOf(`no broker: ${nodeId}`);
  }

  /**
   * Before a plan: ends the threads that lose an uplink node by it. What they had taken returns to the engine, so that it
   * goes, in order, where the plan says.
   * @param {UplinkMember[]} members of the plan
   * @returns {Promise<unknown> | null} null: there is nothing to wait for
   */
  part(members) {
    const wanted = byLink(members);
    const parting = [...this.links_].filter(([link, stages]) => {
      const goesOn = wanted.get(link) ?? {};
      return link.isBusy && Object.keys(stages).some((stage) => !(stage in goesOn));
    });
    if (parting.length === 0) return null;
    return Promise.all(parting.map(([link]) => link.stop(PART_MS)));
  }

  /**
   * Before a plan: threads that run learn the topics of their nodes.
   * @param {EngineHost} host
   * @param {UplinkMember[]} members
   */
  announce(host, members) {
    for (const [link, stages] of byLink(members)) link.announce(host, stages);
  }

  /**
   * After a plan: threads that are wanted run, the others stop.
   * @param {EngineHost} host
   * @param {UplinkMember[]} members
   */
  async reconcile(host, members) {
    this.members_ = members;
    const wanted = byLink(members);
    const unused = [...this.links_.keys()].filter((link) => !wanted.has(link));
    this.links_ = wanted;
    await Promise.all([
      ...unused.map((link) => link.stop(0)),
      ...[...wanted].map(([link, stages]) => link.serve(host, this.numberOf(link.id), stages))
    ]);
  }

  /** @param {number} timeoutMs */
  async stop(timeoutMs) {
    await Promise.all([...this.links_.keys()].map((link) => link.stop(timeoutMs)));
  }

  /** @returns {boolean} true while a broker in use takes records, be it of some classes */
  get anyConnected() {
    return [...this.links_.keys()].some(({ state }) => anyConnected(state));
  }

  /** @returns {boolean} true while each of them does */
  get allConnected() {
    return [...this.links_.keys()].every(({ state }) => state.state === 'connected');
  }

  /** @returns {number} brokers in use */
  get size() {
    return this.links_.size;
  }

  /** @returns {object[]} what the stats node and the admin API show */
  view() {
    return [...this.links_.keys()].map((link) => ({ broker: link.id, name: link.name, ...link.state }));
  }
}

/**
 * @param {UplinkMember[]} members
 * @returns {Map<BrokerLink, UplinkStages>}
 */
function byLink(members) {
  /** @type {Map<BrokerLink, UplinkStages>} */
  const links = new Map();
  for (const { stage, link, topics } of members) links.set(link, { ...links.get(link), [stage]: topics });
  return links;
}

exports.Uplinks = Uplinks;
