'use strict';
// Edits of the shipped flow as a user makes them on the canvas: delete, disable, break, re-point, rewire. Each is a
// pure function from one flow to the next, by name.

/**
 * @typedef {Record<string, any>} FlowNode
 * @typedef {FlowNode[]} Flow
 *
 * @typedef {object} Edit
 * @property {(flow: Flow) => Flow} apply
 * @property {boolean | null} serves true if devices must be served after it on an otherwise whole flow; null = either
 *  is allowed
 */

const UPLINK = 'seganet-uplink-1';
const BROKER = 'seganet-broker-1';
const SECOND_BROKER = 'seganet-broker-second';

/** @param {Flow} flow @param {string} id @param {object} properties @returns {Flow} */
const change = (flow, id, properties) =>
  flow.map((node) => (node.id === id ? { ...node, ...properties } : node));

/** @param {Flow} flow @param {string} id @returns {Flow} as the editor deletes: with the wires to it */
const remove = (flow, id) =>
  flow
    .filter((node) => node.id !== id)
    .map((node) =>
      node.wires
        ? {
            ...node,
            wires: node.wires.map((/** @type {string[]} */ port) => port.filter((to) => to !== id))
          }
        : node
    );

/** Nodes that no record depends on. */
const BESIDE = [
  'seganet-c-path',
  'seganet-c-look',
  'seganet-c-stats',
  'seganet-tap-1',
  'seganet-debug-1',
  'seganet-debug-2',
  'seganet-stats-1'
];
/** Nodes that every record needs to reach the cloud. */
const ON_THE_WAY = ['seganet-devices-1', 'seganet-priority-1', 'seganet-batch-1', UPLINK, 'seganet-engine-1'];

/**
 * A setting that its node refuses. An uplink node whose broker or topic is wrong keeps its records, as during an outage
 * of the broker; a node before it that cannot work closes its devices.
 * @type {[string, string, object, boolean][]} name, node, change, served
 */
const BROKEN = [
  ['broker-url', BROKER, { url: 'mqtts:/broker.example.com' }, true],
  ['broker-port', BROKER, { url: 'mqtt://127.0.0.1:1' }, true],
  ['broker-window', BROKER, { inflight: 'many' }, true],
  ['topic', UPLINK, { topic: 'gw/#' }, true],
  ['record-topic', UPLINK, { recordTopic: 'a/{foo}' }, true],
  ['no-broker', UPLINK, { broker: '' }, true],
  ['rules', 'seganet-priority-1', { rulesJson: '[{"topic":"a/#/b","class":1}]' }, false],
  ['batch-bytes', 'seganet-batch-1', { maxBytes: '-1' }, false],
  ['devices-port', 'seganet-devices-1', { port: '77777' }, false],
  ['engine-memory', 'seganet-engine-1', { memoryMiB: 'much' }, false],
  ['batch-engine', 'seganet-batch-1', { engine: '' }, false]
];

/** Another valid setting. @type {[string, string, object][]} */
const CHANGED = [
  ['batch-size', 'seganet-batch-1', { maxBytes: '2048' }],
  ['batch-off', 'seganet-batch-1', { mode: 'off' }],
  ['keep-alive', BROKER, { keepalive: '31' }],
  ['tap-rate', 'seganet-tap-1', { everyN: '10' }],
  ['name', 'seganet-devices-1', { name: 'other devices' }],
  ['engine-name', 'seganet-engine-1', { name: 'other engine' }]
];

/** @param {Flow} flow @returns {Flow} with a second broker node for the same cloud */
function withSecondBroker(flow) {
  const first = flow.find(({ id }) => id === BROKER);
  if (!first || flow.some(({ id }) => id === SECOND_BROKER)) return flow;
  return [...flow, { ...first, id: SECOND_BROKER, name: 'second', clientId: 'gw-history-second' }];
}

/** @param {Flow} flow with its uplink node @returns {FlowNode} another one with the same settings */
const copyOfUplink = (flow) => ({ ...flow.find(({ id }) => id === UPLINK), id: 'seganet-uplink-copy' });

/** @param {Flow} flow @returns {string} id of the copy if the first uplink node was deleted */
const uplinkOf = (flow) =>
  flow.some(({ id }) => id === 'seganet-uplink-copy') ? 'seganet-uplink-copy' : UPLINK;

/** @param {Flow} flow @param {string} from @param {string} to @returns {Flow} with the wires to another node */
const rewire = (flow, from, to) =>
  flow.map((node) =>
    node.wires
      ? {
          ...node,
          wires: node.wires.map((/** @type {string[]} */ port) => port.map((id) => (id === from ? to : id)))
        }
      : node
  );

const COPY = 'copy the uplink and delete the first';

/** @type {Record<string, Edit>} */
const EDITS = {
  ...Object.fromEntries(
    BESIDE.map((id) => [`delete ${id}`, { apply: (flow) => remove(flow, id), serves: true }])
  ),
  ...Object.fromEntries(
    BESIDE.map((id) => [`disable ${id}`, { apply: (flow) => change(flow, id, { d: true }), serves: true }])
  ),
  ...Object.fromEntries(
    ON_THE_WAY.map((id) => [`delete ${id}`, { apply: (flow) => remove(flow, id), serves: false }])
  ),
  ...Object.fromEntries(
    ON_THE_WAY.map((id) => [
      `disable ${id}`,
      { apply: (flow) => change(flow, id, { d: true }), serves: false }
    ])
  ),
  [`delete ${BROKER}`]: { apply: (flow) => remove(flow, BROKER), serves: true },
  [`disable ${BROKER}`]: { apply: (flow) => change(flow, BROKER, { d: true }), serves: true },
  ...Object.fromEntries(
    BROKEN.map(([name, id, wrong, serves]) => [
      `break ${name}`,
      { apply: (flow) => change(flow, id, wrong), serves }
    ])
  ),
  ...Object.fromEntries(
    CHANGED.map(([name, id, other]) => [
      `change ${name}`,
      { apply: (flow) => change(flow, id, other), serves: true }
    ])
  ),
  're-point the uplink': {
    apply: (flow) => change(withSecondBroker(flow), UPLINK, { broker: SECOND_BROKER }),
    serves: true
  },
  [COPY]: {
    apply: (flow) => {
      if (!flow.some(({ id }) => id === UPLINK)) return flow;
      const copy = copyOfUplink(flow);
      const wired = change(flow, 'seganet-batch-1', { wires: [[UPLINK]] });
      return [...remove(rewire(wired, UPLINK, copy.id), UPLINK), copy];
    },
    serves: true
  },
  'wire past the batch node': {
    apply: (flow) => change(flow, 'seganet-priority-1', { wires: [[uplinkOf(flow), 'seganet-tap-1']] }),
    serves: true
  },
  'unwire the uplink': {
    apply: (flow) => change(flow, 'seganet-batch-1', { wires: [[]] }),
    serves: false
  },
  'unwire the devices': {
    apply: (flow) => change(flow, 'seganet-devices-1', { wires: [[]] }),
    serves: false
  },
  'disable the tab': {
    apply: (flow) => change(flow, 'seganet-tab', { disabled: true }),
    serves: false
  },
  // Node-RED starts nothing while a type is missing, or continues with the previous flow: its choice by kind of deploy.
  'add a node of an unknown type': {
    apply: (flow) => [
      ...flow.filter(({ type }) => type !== 'seganet-not-installed'),
      { id: 'unknown-1', type: 'seganet-not-installed', z: 'seganet-tab', x: 80, y: 560, wires: [] }
    ],
    serves: null
  }
};

module.exports = { COPY, EDITS, copyOfUplink };
