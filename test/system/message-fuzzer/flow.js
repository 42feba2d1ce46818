'use strict';
// A flow with every node that has an input, read from the nodes' registrations in the editor: a new node is included
// automatically.

const path = require('node:path');
const { runPages } = require('../../fixtures/editor/dialogs');
const manifest = require('../../../package.json');

/**
 * A broker closes the connection at a rejected topic; proof of that takes minutes, and the uplink's own tests cover
 * it.
 */
const TOPICS = { topic: 'b/{class}', recordTopic: 'r/{class}' };

/**
 * @typedef {{ defaults: Record<string, { value: unknown, type?: string }>, category: string, inputs?: number, outputs?: number }} Definition
 * @typedef {{ id: string, type: string, [name: string]: any }} FlowNode
 */

/** @returns {Record<string, Definition>} by type */
function definitions() {
  /** @type {Record<string, Definition>} */
  const found = {};
  const RED = {
    _: () => '',
    nodes: {
      registerType: (/** @type {string} */ type, /** @type {Definition} */ each) => (found[type] = each)
    },
    events: { on: () => {} },
    utils: {}
  };
  runPages(Object.keys(manifest['node-red'].nodes), { RED, $: () => ({}) });
  return found;
}

/** @param {Definition} definition @returns {Record<string, unknown>} settings of a node directly from the palette */
function settingsOf({ defaults }) {
  return Object.fromEntries(Object.entries(defaults).map(([name, { value }]) => [name, value]));
}

/** Types whose output is no record. */
const MESSAGES = new Set([
  'seganet-unbatch',
  'seganet-series',
  'seganet-find',
  'seganet-command',
  'seganet-demand',
  'seganet-shadow',
  'seganet-login',
  'seganet-ocf-request'
]);
/** They read messages by the same code as an uplink node, and their records would not reach its broker. */
const LEFT_OUT = ['seganet-kafka-uplink', 'seganet-parquet-uplink'];

/** @returns {string[]} types that messages can be sent to */
function inputTypes() {
  return Object.entries(definitions()).flatMap(([type, { inputs = 0 }]) =>
    inputs > 0 && !LEFT_OUT.includes(type) ? [type] : []
  );
}

/**
 * Two engines: one whose log keeps accepted records, one without a log that is soon full.
 * @param {{ url: string, folder: string, version?: number }} options version changes the flow that a deploy sees
 * @returns {FlowNode[]}
 */
function makeFlow({ url, folder, version = 0 }) {
  const all = definitions();
  /** @type {FlowNode[]} */
  const flow = [{ id: 'tab', type: 'tab', label: 'fuzz' }];
  const engines = [
    { id: 'kept', acknowledge: 'safe', memoryMiB: '8', logDir: path.join(folder, 'log'), logMiB: '64' },
    { id: 'small', acknowledge: 'received', memoryMiB: '1' }
  ];
  for (const engine of engines) {
    const own = (/** @type {string} */ name) => `${engine.id}-${name}`;
    const make = (/** @type {string} */ type, /** @type {string} */ id, /** @type {object} */ more = {}) => {
      const settings = settingsOf(all[type]);
      if ('engine' in settings) settings.engine = engine.id;
      if ('broker' in settings) settings.broker = own('broker');
      const place = all[type].category === 'config' ? {} : { z: 'tab', x: 0, y: 0, wires: [] };
      flow.push({ id, type, ...place, ...settings, ...more });
    };
    make('seganet-engine', engine.id, { ...engine, workers: '1', gatewayId: `gw-${engine.id}` });
    make('seganet-uplink-broker', own('broker'), { url, clientId: `gw-${engine.id}`, groups: 'all' });
    make('seganet-batch', own('collect'), { wires: [[own('cloud')]], minDevices: '0', name: `v${version}` });
    make('seganet-uplink', own('cloud'), TOPICS);
    make('seganet-batch', own('dead-end'), { minDevices: '0', maxDelayMs: '50', wires: [['sink']] });
    for (const type of inputTypes()) {
      const isLast = (all[type].outputs ?? 0) === 0;
      const to = type === 'seganet-batch' ? own('cloud') : own('collect');
      const name = type.replace('seganet-', '');
      const isMessage = MESSAGES.has(type);
      make(type, own(name), {
        name: `v${version}`,
        wires: isLast ? [] : [[isMessage ? 'sink' : to]],
        ...(type === 'seganet-uplink' && TOPICS)
      });
      // The same by message wires.
      if (!isLast) make(type, own(`${name}-by-message`), { wires: [['sink', own('dead-end')]] });
    }
  }
  flow.push({ id: 'catch', type: 'catch', z: 'tab', x: 0, y: 0, scope: null, wires: [['sink']] });
  // A wire to a node that a Complete node waits for carries messages; here most wires shall be native.
  const ends = new Set(flow.flatMap(({ wires = [] }) => wires.flat()));
  const scope = flow
    .filter(({ id, type }) => type.startsWith('seganet-') && !ends.has(id))
    .map(({ id }) => id);
  flow.push({ id: 'complete', type: 'complete', z: 'tab', x: 0, y: 0, scope, wires: [['sink']] });
  flow.push({ id: 'sink', type: 'fuzz-sink', z: 'tab', x: 0, y: 0, wires: [], name: `v${version}` });
  return flow;
}

module.exports = { makeFlow, inputTypes };
