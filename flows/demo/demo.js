'use strict';

// Starts the demo's two child processes for the gateway: the cloud before Node-RED starts, the fleet once devices can
// connect.

const { fork } = require('child_process');
const path = require('path');

const DEMO_RULES = [{ topic: 'd/+/alarm', class: 1 }];

/** @typedef {import('child_process').ChildProcess} ChildProcess */

/**
 * @param {string} script
 * @param {string[]} args
 */
function start(script, args) {
  // The gateway's environment contains its secrets and settings, which the children do not need.
  const env = { PATH: process.env.PATH, HOME: process.env.HOME };
  return fork(path.join(__dirname, script), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env });
}

/**
 * Starts the demo cloud and waits until it listens.
 * @param {string} folder for the certificates
 * @param {(topic: string) => void} onFirst called when the first record has arrived
 * @returns {Promise<{ child: ChildProcess, settings: Record<string, string> }>} settings: environment variables
 */
function startCloud(folder, onFirst) {
  const child = start('cloud.js', [folder]);
  return new Promise((resolve, reject) => {
    child.on('message', (/** @type {{ url?: string, caFile?: string, first?: string }} */ message) => {
      if (message.first) onFirst(message.first);
      if (!message.url) return;
      const { url, caFile = '' } = message;
      // The demo's broker supports MQTT 3.1.1 only.
      const uplink = { SEGANET_UPLINK_URL: url, SEGANET_UPLINK_CA: caFile, SEGANET_UPLINK_PROTOCOL: '4' };
      resolve({ child, settings: uplink });
    });
    child.once('error', reject);
    child.once('exit', (code, signal) => reject(new Error(`it ended (${signal ?? `code ${code}`})`)));
  });
}

/**
 * @param {{ host: string, port: number }} listener where the gateway's devices connect
 * @param {(devices: number) => void} onConnected
 * @returns {ChildProcess}
 */
function startFleet({ host, port }, onConnected) {
  const child = start('fleet.js', ['--host', host, '--port', String(port)]);
  child.on('message', (/** @type {{ connected?: number }} */ { connected }) => {
    if (connected) onConnected(connected);
  });
  return child;
}

/** Ends a child of the demo: it exits when the channel closes. @param {ChildProcess | undefined} child */
function stop(child) {
  if (child?.connected) child.disconnect();
}

/** Packages of the demo's cloud, which an installed gateway does not have. */
const PACKAGES = ['aedes', 'selfsigned'];

/** @returns {string} why the demo cannot start, as a sentence; '' = it can */
function missing() {
  try {
    for (const name of PACKAGES) require.resolve(name);
    return '';
  } catch {
    return (
      'SEGANET_UPLINK_URL is not set, and the demo is only in a checkout. Set it to the cloud broker, for example ' +
      'mqtts://broker.example.org:8883, in the environment or in gateway.env.'
    );
  }
}

module.exports = { missing, startCloud, startFleet, stop, DEMO_RULES };
