'use strict';
// The standard way in Node-RED: a local mosquitto for the devices, core nodes mqtt in → mqtt out (QoS 1) to the cloud.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../../../bench/harness/child');
const { startMosquitto } = require('../../../../bench/harness/cloud');
const { root } = require('../../../../bench/harness/gateway');
const { waitForPort } = require('../../../../bench/harness/net');
const { ProcessSystem } = require('./process');

/** @param {string} id @param {number} port */
const broker = (id, port) => ({
  id,
  type: 'mqtt-broker',
  broker: '127.0.0.1',
  port: String(port),
  clientid: `nodered-${id}`,
  protocolVersion: '4',
  keepalive: '60',
  // A persistent session, so that messages wait for Node-RED while it is away.
  cleansession: false,
  autoConnect: true,
  usetls: false
});

class NodeRedSystem extends ProcessSystem {
  prepare() {
    const settings = {
      httpAdminRoot: false,
      httpNodeRoot: false,
      userDir: this.home,
      flowFile: path.join(this.home, 'flows.json'),
      credentialSecret: false,
      mqttReconnectTime: 1000,
      telemetry: { enabled: false, updateNotification: false },
      externalModules: { autoInstall: false }
    };
    fs.writeFileSync(path.join(this.home, 'settings.js'), `module.exports = ${JSON.stringify(settings)};\n`);
    const wire = { z: 'tab', qos: '1', datatype: 'buffer' };
    const flow = [
      { id: 'tab', type: 'tab', label: 'history' },
      broker('local', this.devicePort),
      broker('cloud', this.uplinkPort),
      { ...wire, id: 'in', type: 'mqtt in', topic: 'd/#', broker: 'local', inputs: 0, wires: [['out']] },
      { ...wire, id: 'out', type: 'mqtt out', topic: '', retain: '', broker: 'cloud', wires: [] }
    ];
    fs.writeFileSync(path.join(this.home, 'flows.json'), JSON.stringify(flow));
  }

  spawn() {
    const persistence = ['persistence true', `persistence_location ${this.home}/`];
    const lines = [
      'log_dest stderr',
      'log_type subscribe',
      ...persistence,
      `listener ${this.devicePort} 127.0.0.1`
    ];
    const local = startMosquitto(this.home, 'local', lines);
    const args = [path.join(root, 'node_modules/node-red/red.js'), '-s', path.join(this.home, 'settings.js')];
    return [local, new Child(process.execPath, args, { name: 'node-red', cwd: root })];
  }

  async ready(timeoutMs = 30000) {
    const [local, nodeRed] = this.children;
    await waitForPort(this.devicePort, '127.0.0.1', timeoutMs, () => Boolean(local.exit));
    if (this.incarnation > 1) return;
    await local.until((output) => output.includes('nodered-local'), timeoutMs);
    await nodeRed.until(
      (output) => /\[mqtt-broker:.*\] Connected.*\n[^]*\[mqtt-broker:.*\] Connected/.test(output),
      timeoutMs
    );
  }
}

module.exports = { NodeRedSystem };
