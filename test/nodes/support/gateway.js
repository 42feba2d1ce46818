'use strict';
// Loads seganet nodes into the test helper, with the parts in memory.

const helper = require('node-red-node-test-helper');
const { eventually } = require('../../../bench/harness/net');
const { replaceModules } = require('../../../nodes/lib/engine/modules');
const fake = require('./fake-parts');

const names = [
  'engine',
  'uplink-broker',
  'mqtt-devices',
  'coap-devices',
  'login',
  'http-devices',
  'mqtt-source',
  'ingest',
  'priority',
  'filter',
  'batch',
  'uplink',
  'tap',
  'stats',
  'unbatch',
  'command'
];
const junction = require('@node-red/nodes/core/common/05-junction.js');
const modules = names.map((name) => require(`../../../nodes/seganet-${name}`));

const tab = { id: 'tab', type: 'tab', label: 'test' };
const engine = { id: 'engine', type: 'seganet-engine', gatewayId: 'gw1', fastPath: 'auto' };
const broker = { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' };

/** A node on the canvas; without x and y Node-RED takes it for a config node. */
function node(id, type, properties = {}, ...wires) {
  const short = type === 'helper' || !names.includes(type) ? type : `seganet-${type}`;
  return {
    id,
    type: short,
    z: 'tab',
    engine: 'engine',
    x: 10,
    y: 10,
    wires: wires.length ? [wires] : [],
    ...properties
  };
}

async function load(flow, credentials = {}, more = []) {
  fake.reset();
  replaceModules(fake.parts);
  const ready = new Promise((resolve) => helper._events.once('flows:started', resolve));
  await helper.load([...modules, ...more], flow, credentials);
  await ready;
}

/** Deploys, and waits until the flows have started. The helper's own function fails after 300 ms. */
helper.setFlows = async (/** @type {any} */ flow, /** @type {any} */ type) => {
  let hasStarted = false;
  helper._events.once('flows:started', () => (hasStarted = true));
  await helper._redNodes.setFlows(flow, {}, type);
  await until(() => hasStarted, 'the start of the flows');
};

/** Ends the flows. The cloud acknowledges held records so that the engine need not wait for it. */
async function unload() {
  for (const { held } of fake.engines) held.length = 0;
  await helper.unload();
  replaceModules();
}

/** Collects messages at a helper node. */
function inbox(id) {
  const messages = [];
  helper.getNode(id).on('input', (msg) => messages.push(msg));
  return messages;
}

/** Waits for a condition; fails after ten seconds. */
const until = (condition, what = String(condition)) =>
  eventually(condition, { timeoutMs: 10000, everyMs: 5, what });

/** Resolves with the error that the node's message ended in, undefined when it was done. */
function outcomeOf(id, msg) {
  const target = helper.getNode(id);
  return new Promise((resolve) => {
    target._complete = (_msg, error) => resolve(error);
    target.receive(msg);
  });
}

/** The status that a node showed last. */
function shown(id) {
  const target = helper.getNode(id);
  const calls = target.status.getCalls().filter(({ thisValue }) => thisValue === target);
  return calls.at(-1)?.args[0];
}

/** Errors that nodes logged, as [node id, text]. */
function errors() {
  return logged(helper.log().ERROR);
}

/** @returns {[string, string][]} node id and sentence of each warning since the flow was loaded */
function warnings() {
  return logged(helper.log().WARN);
}

/** @param {number} wanted level of the log @returns {[string, string][]} */
function logged(wanted) {
  const entries = helper.log().args.map(([entry]) => entry);
  return entries
    .filter(({ level }) => level === wanted)
    .map(({ id, msg }) => [id, String(msg.message ?? msg)]);
}

module.exports = {
  helper,
  modules,
  junction,
  tab,
  engine,
  broker,
  node,
  load,
  unload,
  inbox,
  until,
  outcomeOf,
  errors,
  warnings,
  shown,
  ...fake
};
