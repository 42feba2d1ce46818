'use strict';
// The settings by which a listener is offered to the peers of an overlay.

const { isLoopback } = require('../base/loopback');

const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const offerRows = /** @type {const} */ ({
  overlay: { type: 'text', default: '' },
  overlayName: {
    type: 'text',
    default: '',
    pattern: NAME,
    shape: 'a name such as devices: a to z, 0 to 9 and -, at most 63 characters'
  }
});

/** Addresses of a listener that is reached at every address of the machine, with the one that the offer leads to. */
const EVERY = new Map([
  ['', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1']
]);

/**
 * @typedef {{ host: string, port: number, network: 'tcp' | 'udp', offered?: number }} Place of an open listener; offered:
 *   its port in the overlay, default: the same
 * @typedef {(place: Place) => () => Promise<void>} OfferPlace offers an open listener; the returned function withdraws
 *   it
 */

/**
 * Returns what offers a listener by an overlay network.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node the listener's
 * @param {{ overlay: string, overlayName: string }} values
 * @param {string} protocol the beginning of the service's name, if the node gives none
 * @returns {OfferPlace | undefined} undefined: it is not offered
 */
function offerOf(RED, node, { overlay, overlayName }, protocol) {
  if (!overlay) return undefined;
  const network = /** @type {import('../../seganet-overlay').OverlayNode | null} */ (
    RED.nodes.getNode(overlay)
  );
  const link = network?.link;
  if (!link) {
    // Devices of this network's own are not to wait for an overlay.
    node.error(
      'The overlay network of this listener is missing, disabled or not started, so no peer of the overlay can reach it.'
    );
    return undefined;
  }
  return ({ host, port, network: kind, offered = port }) => {
    // CoAP over UDP and over TCP may have the same port.
    const kindName = protocol === 'coap' && kind === 'tcp' ? 'coap-tcp' : protocol;
    const name = overlayName || `${kindName}-${offered}`;
    const target = targetOf(host, port);
    return link.offer({ name, network: kind, port: offered, target }, (problem) => {
      if (problem) node.warn(`The overlay does not offer the service "${name}": ${problem}`);
    });
  };
}

/** @param {string} host @param {number} port @returns {string} where the listener is reached on this machine */
function targetOf(host, port) {
  const near = EVERY.get(host) ?? host;
  return near.includes(':') ? `[${near}]:${port}` : `${near}:${port}`;
}

/**
 * Returns who reaches a listener beyond this machine.
 * @param {{ host: string, overlay?: string }} values
 * @returns {string} for a sentence, such as "On 0.0.0.0", '' = nobody
 */
function reachOf({ host, overlay }) {
  if (!isLoopback(host)) return `On ${host}`;
  return overlay ? 'By the overlay' : '';
}

module.exports = { offerOf, offerRows, reachOf, targetOf };
