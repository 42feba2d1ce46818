'use strict';
// The flows of the two gateways that npm run overlay starts.

const path = require('node:path');

const TAB = 'tab';
const ENGINE = 'engine';
const OVERLAY = 'overlay';

/**
 * The overlay network, whose node the gateway starts, and its peers.
 * @param {string} home
 * @param {import('./services').Invitation} invitation
 * @param {string} [offers]
 * @returns {Record<string, any>[]}
 */
function overlayNodes(home, { url, root, token }, offers = '') {
  return [
    {
      id: OVERLAY,
      type: 'seganet-overlay',
      version: 1,
      name: 'plant',
      program: 'start',
      folder: path.join(home, 'overlay'),
      address: url,
      root,
      token,
      offers
    },
    {
      z: TAB,
      id: 'peers',
      type: 'seganet-overlay-peers',
      version: 1,
      overlay: OVERLAY,
      x: 130,
      y: 180,
      wires: [['events']]
    },
    {
      z: TAB,
      id: 'events',
      type: 'debug',
      name: 'peers',
      active: true,
      tosidebar: true,
      complete: 'true',
      targetType: 'full',
      x: 310,
      y: 180,
      wires: []
    }
  ];
}

/**
 * @param {object} parts
 * @param {string} parts.home
 * @param {number} parts.port for devices
 * @param {import('./services').Invitation} parts.invitation
 * @returns {Record<string, any>[]}
 */
function gatewayFlow({ home, port, invitation }) {
  const place = { z: TAB, engine: ENGINE };
  return [
    { id: TAB, type: 'tab', label: 'gw' },
    { id: ENGINE, type: 'seganet-engine', version: 1, workers: '1', logDir: path.join(home, 'log') },
    ...overlayNodes(home, invitation),
    {
      id: 'broker',
      type: 'seganet-uplink-broker',
      version: 1,
      name: "hub's broker",
      url: 'mqtt://hub:1883',
      overlay: OVERLAY,
      protocolVersion: '4',
      clientId: 'gw',
      groups: 'all',
      reconnectMinMs: '100',
      reconnectMaxMs: '1000'
    },
    {
      ...place,
      id: 'devices',
      type: 'seganet-mqtt-devices',
      version: 2,
      port: String(port),
      x: 130,
      y: 100,
      wires: [['uplink']]
    },
    {
      ...place,
      id: 'uplink',
      type: 'seganet-uplink',
      version: 1,
      broker: 'broker',
      x: 310,
      y: 100,
      wires: []
    }
  ];
}

/**
 * @param {object} parts
 * @param {string} parts.home
 * @param {number} parts.brokerPort on hub's loopback
 * @param {import('./services').Invitation} parts.invitation
 * @returns {Record<string, any>[]}
 */
function hubFlow({ home, brokerPort, invitation }) {
  return [
    { id: TAB, type: 'tab', label: 'hub' },
    ...overlayNodes(home, invitation, `broker=tcp/1883@127.0.0.1:${brokerPort}`)
  ];
}

module.exports = { gatewayFlow, hubFlow };
