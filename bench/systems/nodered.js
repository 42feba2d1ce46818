'use strict';

const { Child } = require('../harness/child');
const { root } = require('../harness/gateway');
const { freePort } = require('../harness/net');
const { assemble, temporary } = require('../harness/assemble');
const { needsMosquitto } = require('../harness/lacking');
const { startLocalBroker } = require('../harness/local-broker');
const { writeNodeRed } = require('../harness/nodered');

/**
 * @param {import('./index').Context} context @param {import('../harness/local-broker').Keeping} keeping
 * @returns {Promise<import('./index').System>}
 */
async function start(context, keeping) {
  const { cloud, datatype } = context;
  const folder = temporary();
  const port = await freePort();
  const uiPort = await freePort();
  const sessions = keeping !== 'memory';
  const [command, ...args] = writeNodeRed(folder, { uiPort, localPort: port, cloud, datatype, sessions });
  return assemble({
    port,
    folder,
    parts: ['mosquitto', 'node-red'],
    launch: async (started) => {
      started(await startLocalBroker(folder, port, context, keeping));
      started(new Child(command, args, { ...context, cwd: root, name: 'node-red' }));
    },
    ready: async ([local]) => {
      await local.until((output) => output.includes('nodered-in'), 30000);
      await cloud.waitForClient(/^nodered-out$/);
    }
  });
}

/** @type {import('./index').Adapter[]} */
module.exports = [
  {
    name: 'nodered',
    title: 'Node-RED core nodes and mosquitto',
    what: "A local mosquitto and Node-RED's core nodes mqtt in → mqtt out, which pass Buffers (their cheapest setting).",
    lacking: needsMosquitto,
    start: (context) => start(context, 'memory')
  },
  {
    name: 'nodered-persistent',
    title: 'Node-RED core nodes and mosquitto, persistent',
    what: 'The same with persistent sessions, and mosquitto saves everything every second.',
    lacking: needsMosquitto,
    start: (context) => start(context, 'saved')
  }
];
