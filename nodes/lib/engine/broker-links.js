'use strict';
// The broker links of one engine, each with the number of its queue in the plan.

const { anyConnected } = require('./session-summary');

/**
 * @typedef {import('./broker-link').BrokerLink} BrokerLink
 * @typedef {import('./broker-link').UplinkStages} UplinkStages
 * @typedef {import('./host').EngineHost} EngineHost
 * @typedef {object} MqttTopics
 * @property {string} topic
 * @property {string} recordTopic
 * @property {0 | 1} qos
 * @property {import('../uplink/sending/uplink-stage').Format} format of envelopes
 * @property {'property' | 'suffix' | 'none'} history how records of the backlog are marked
 * @property {string} historySuffix
 * @property {'off' | 'zstd' | 'deflate' | 'auto'} [compress] how envelopes are compressed
 * @property {string} [neverCompress] topic filters, separated by commas
 * @typedef {{ topic: string, envelopeTopic: string, create: boolean, source?: string }} KafkaTopics
 * @typedef {{ valuePath: string, unitPath: string }} FileColumns of a parquet uplink
 * @typedef {MqttTopics | KafkaTopics | FileColumns} Topics
 * @typedef {{ stage: number, link: BrokerLink, topics: Topics }} UplinkMember
 * @typedef {import('../tenants/front/tenants-link').TenantsLink} TenantsLink
 * @typedef {{ link: TenantsLink, tenants: import('../tenants/uplink/tenants-thread').PlanTenant[] }} Divided
 */

/** Longest wait for the pending acknowledgements of a thread that loses an uplink node. */
const PART_MS = 1000;

class Uplinks {
  /** @type {Map<string, number>} by broker node id; a broker that is deployed again keeps its queue */
  #numbers;
  /** @type {UplinkMember[]} of the current plan */
  #members;

  constructor() {
    this.#numbers = new Map();
    /** @type {Map<BrokerLink, UplinkStages>} with the stages of the current plan */
    this.links = new Map();
    /** Of the current plan. @type {TenantsLink | null} */
    this.tenants = null;
    this.#members = [];
  }

  /** @returns {{ name: string, url: string, topics: MqttTopics }[]} MQTT destinations, by uplink node */
  targets() {
    return this.#members.flatMap(({ link, topics }) =>
      'recordTopic' in topics ? [{ name: link.name, url: link.url, topics }] : []
    );
  }

  /** @returns {{ id: string, topics: KafkaTopics }[]} the Kafka destination of the records, by kafka uplink node */
  kafkaTargets() {
    return this.#members.flatMap(({ link, topics }) =>
      'envelopeTopic' in topics ? [{ id: link.id, topics }] : []
    );
  }

  /**
   * @param {string} brokerId
   * @returns {number} number of the queue, from 1, stable for the life of the engine
   */
  numberOf(brokerId) {
    const number = this.#numbers.get(brokerId) ?? this.#numbers.size + 1;
    this.#numbers.set(brokerId, number);
    return number;
  }

  /**
   * @param {string} nodeId of an uplink node without a broker
   * @returns {number} number of a queue that no thread serves
   */
  numberWithout(nodeId) {
    return this.numberOf(`no broker: ${nodeId}`);
  }

  /**
   * Stops the threads that lose an uplink node in the next plan. Their batches return to the engine, and then follow
   * the plan in order.
   * @param {UplinkMember[]} members of the next plan
   * @param {Divided | null} [divided] tenants of the next plan
   * @returns {Promise<unknown> | null} null: no thread has to stop
   */
  part(members, divided = null) {
    const wanted = byLink(members);
    const parting = [...this.links].filter(([link, stages]) => {
      const goesOn = wanted.get(link) ?? {};
      return link.isBusy && Object.keys(stages).some((stage) => !(stage in goesOn));
    });
    const leaving = this.tenants?.part(this.tenants === divided?.link ? divided.tenants : []) ?? null;
    if (parting.length === 0) return leaving;
    return Promise.all([leaving, ...parting.map(([link]) => link.stop(PART_MS))]);
  }

  /**
   * Sends the topics of the next plan to the running threads.
   * @param {EngineHost} host
   * @param {UplinkMember[]} members
   */
  announce(host, members) {
    for (const [link, stages] of byLink(members)) link.announce(host, stages);
  }

  /**
   * Starts the threads that the current plan uses, and stops the others.
   * @param {EngineHost} host
   * @param {UplinkMember[]} members
   * @param {Divided | null} [divided]
   */
  async reconcile(host, members, divided = null) {
    this.#members = members;
    const wanted = byLink(members);
    const unused = [...this.links.keys()].filter((link) => !wanted.has(link));
    this.links = wanted;
    const before = this.tenants;
    this.tenants = divided?.link ?? null;
    await Promise.all([
      ...unused.map((link) => link.stop(0)),
      before !== this.tenants && before?.stop(0),
      divided?.link.serve(host, divided.tenants),
      ...[...wanted].map(([link, stages]) => link.serve(host, this.numberOf(link.id), stages))
    ]);
  }

  /** @param {number} timeoutMs */
  async stop(timeoutMs) {
    await Promise.all(
      [...this.links.keys(), ...(this.tenants ? [this.tenants] : [])].map((link) => link.stop(timeoutMs))
    );
  }

  /** @returns {boolean} true while a broker in use accepts records of at least one class */
  get anyConnected() {
    return [...this.links.keys()].some(({ state }) => anyConnected(state));
  }

  /** @returns {boolean} true while every broker in use accepts records */
  get allConnected() {
    return [...this.links.keys()].every(({ state }) => state.state === 'connected');
  }

  /** @returns {number} brokers in use */
  get size() {
    return this.links.size;
  }

  /** @returns {object[]} for the stats node and the admin API */
  view() {
    return [...this.links.keys()].map((link) => ({
      broker: link.id,
      name: link.name,
      window: link.window,
      ...(link.brokers && { brokers: link.brokers }),
      ...link.state
    }));
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
