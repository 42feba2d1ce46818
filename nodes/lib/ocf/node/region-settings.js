'use strict';
// The settings of an ocf cloud node that is a region of a cloud with several gateways.

const { LOCAL_HOST } = require('../../base/local-host');
const { configOf } = require('../../base/node-config');
const { isTopicName } = require('../../kafka/settings/kafka-names');
const { integer, text } = require('../../base/options');
const { offerOf } = require('../../settings/overlay-offer');
const { refusePfx, tlsFiles, tlsOptions } = require('../../settings/broker-options');
const { claimedOptions } = require('../../kafka/source/cluster-of');
const { parseAddress } = require('../regions/links/address');
const { LinkSecrets, parseNames } = require('../regions/links/peers');

const ADDRESS = /^coaps\+tcp:\/\/(\[[0-9a-f:.]+\]|[0-9a-z._-]{1,253})(:\d{1,5})?$/;
const MOST_NAMES = 64;

const schema = {
  // '': the gateway is the only one of its cloud.
  regionAddress: text('', ADDRESS, 'an address in lower case such as coaps+tcp://gateway-1.example:5685'),
  regionHost: text('0.0.0.0', LOCAL_HOST.pattern, LOCAL_HOST.shape),
  // -1: that of the address.
  regionPort: integer(1, 65535, -1),
  regionOverlay: text(''),
  regionTls: text(''),
  regionPeers: text(''),
  regionKafka: text(''),
  regionTopic: text('seganet.ocf.presence')
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Values */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {Values} values
 * @param {string} gateway id
 * @returns {import('../regions/running-region').RegionSettings | null} null: it is no region
 * @throws {Error} with a sentence
 */
function regionSettings(RED, node, values, gateway) {
  const {
    regionAddress: own,
    regionHost: host,
    regionPort,
    regionOverlay: overlay,
    regionTls,
    regionKafka,
    regionTopic: topic
  } = values;
  if (own === '') return null;
  const address = parseAddress(own);
  if (!address) {
    throw new Error(`The address of the region, ${own}, has no valid host or port. Correct it.`);
  }
  if (!regionTls) {
    throw new Error(
      'The region has no TLS node. Choose one with the certificate of this gateway and the authority of the others.'
    );
  }
  if (!isTopicName(topic)) {
    throw new Error(
      `The topic of the regions, "${topic}", is not the name of a Kafka topic. Use letters, digits, dot, underscore and hyphen.`
    );
  }
  const names = parseNames(values.regionPeers);
  if (names.length > MOST_NAMES) throw new Error(`There are more than ${MOST_NAMES} names of regions.`);
  const secrets = linkSecrets(RED, node, regionTls);
  const cluster = claimedOptions(RED, regionKafka);
  const clientId = `${(cluster.clientId || gateway).replace(/\s/g, '_')}-region`;
  const port = regionPort > 0 ? regionPort : address.port;
  const link = overlay ? overlayOf(RED, overlay) : null;
  const offer = offerOf(RED, node, { overlay, overlayName: '' }, 'ocf-region');
  // Loaded only for a cloud with regions.
  const { kafkaLog } = require('../regions/running-region');
  return {
    own,
    listen: { host, port },
    ...(link && { place: link.place.bind(link) }),
    ...(offer && { offer: atAddress(offer, address.port) }),
    secrets,
    names,
    openLog: kafkaLog({ cluster, clientId, topic, ci: own })
  };
}

/**
 * @param {import('../../settings/overlay-offer').OfferPlace} offer
 * @param {number} offered port in the overlay
 * @returns {import('../../settings/overlay-offer').OfferPlace}
 */
const atAddress = (offer, offered) => (place) => offer({ ...place, offered });

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {string} id of the overlay network by which the other regions are reached
 * @throws {Error} with a sentence
 */
function overlayOf(RED, id) {
  const network = /** @type {import('../../../seganet-overlay').OverlayNode | null} */ (
    RED.nodes.getNode(id)
  );
  if (!network?.link)
    throw new Error('The overlay network of the regions is missing, disabled or not started.');
  return network.link;
}

/** @param {import('node-red').NodeAPI} RED @param {import('node-red').Node} node @param {string} id of a TLS node */
function linkSecrets(RED, node, id) {
  const tlsNode = /** @type {any} */ (RED.nodes.getNode(id));
  refusePfx(tlsNode);
  const files = tlsFiles(configOf(RED, id), (name) => RED.util.evaluateNodeProperty(name, 'env', node, {}));
  const { ca, cert, key, passphrase } = /** @type {any} */ (tlsOptions(id, tlsNode, 'regions', files));
  const secrets = new LinkSecrets({ contents: { ca, cert, key, passphrase }, files });
  secrets.read();
  return secrets;
}

module.exports = { schema, regionSettings };
