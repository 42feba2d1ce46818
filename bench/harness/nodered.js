'use strict';
// Node-RED's core nodes mqtt in → mqtt out (TLS, QoS 1) with their default settings.

const fs = require('node:fs');
const path = require('node:path');
const { root } = require('./gateway');

/**
 * @param {string} folder user folder of this Node-RED
 * @param {{uiPort: number, localPort: number, cloud: import('./cloud').Cloud, datatype: string,
 *          sessions: boolean}} options sessions: persistent on both sides, so that the local broker keeps messages
 *          while Node-RED is down
 * @returns {string[]} the command
 */
function writeNodeRed(folder, { uiPort, localPort, cloud, datatype, sessions }) {
  const settings = {
    uiHost: '127.0.0.1',
    uiPort,
    // Headless like the gateway: no editor, no admin API.
    httpAdminRoot: false,
    httpNodeRoot: false,
    userDir: folder,
    flowFile: path.join(folder, 'flows.json'),
    credentialSecret: false,
    telemetry: { enabled: false, updateNotification: false },
    externalModules: { autoInstall: false },
    logging: { console: { level: 'info', metrics: false, audit: false } }
  };
  fs.writeFileSync(path.join(folder, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
  const broker = {
    type: 'mqtt-broker',
    protocolVersion: '4',
    keepalive: '60',
    cleansession: !sessions,
    autoConnect: true
  };
  const flow = [
    { id: 'tab', type: 'tab', label: 'bench' },
    {
      ...broker,
      id: 'local',
      broker: '127.0.0.1',
      port: String(localPort),
      clientid: 'nodered-in',
      usetls: false
    },
    {
      ...broker,
      id: 'cloud',
      broker: cloud.host,
      port: String(cloud.tlsPort),
      clientid: 'nodered-out',
      usetls: true,
      tls: 'tls'
    },
    {
      id: 'tls',
      type: 'tls-config',
      cert: '',
      key: '',
      ca: cloud.files.ca,
      servername: '',
      verifyservercert: true
    },
    {
      id: 'in',
      type: 'mqtt in',
      z: 'tab',
      topic: 'd/#',
      qos: '1',
      datatype,
      broker: 'local',
      inputs: 0,
      wires: [['out']]
    },
    { id: 'out', type: 'mqtt out', z: 'tab', topic: '', qos: '1', retain: '', broker: 'cloud', wires: [] }
  ];
  fs.writeFileSync(path.join(folder, 'flows.json'), JSON.stringify(flow));
  return [...nodeRedRuntime(), require.resolve('node-red/red.js'), '-s', path.join(folder, 'settings.js')];
}

/** Returns the command of a Node for Node-RED 5, which needs 22.9; with an older Node, the repository's launcher. */
function nodeRedRuntime() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const enough = major > 22 || (major === 22 && minor >= 9);
  const launcher = 'native/node/run.js';
  if (enough) return [process.execPath];
  if (fs.existsSync(path.join(root, launcher))) return [process.execPath, launcher];
  throw new Error(`Node-RED 5 needs Node 22.9 or newer; this is ${process.version}.`);
}

/** @returns {string} */
function nodeRedVersion() {
  return JSON.parse(fs.readFileSync(require.resolve('node-red/package.json'), 'utf8')).version;
}

module.exports = { writeNodeRed, nodeRedVersion };
