'use strict';

const { eventually } = require('../../../bench/harness/net');

/** @typedef {InstanceType<typeof import('../../fixtures/gateway/palette').NodeRed>} NodeRed */

/**
 * The namespace has no route except to itself, like a machine that starts before its network.
 * @param {NodeRed} nodeRed
 */
async function withoutRoute(nodeRed) {
  const resources = [{ url: 'coap://192.0.2.7/x', mode: 'observe', intervalS: '60', device: '', class: '' }];
  await nodeRed.deploy([
    { id: 'tab', type: 'tab', label: 'no route' },
    { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'received' },
    {
      id: 'far',
      type: 'seganet-coap-observe',
      z: 'tab',
      x: 0,
      y: 0,
      engine: 'engine',
      resources,
      wires: [['show']]
    },
    { id: 'show', type: 'debug', z: 'tab', x: 0, y: 0, wires: [] }
  ]);
  await eventually(() => /no route to host/.test(nodeRed.statuses.get('far')?.text ?? ''), {
    what: 'the status names the reason'
  });
}

module.exports = { withoutRoute };
