'use strict';
// Finds the cloud of an uplink node: the link of its config node.

/**
 * @typedef {import('./broker-link').BrokerLink} BrokerLink
 *
 * @typedef {object} CloudKind
 * @property {string} type of the config node
 * @property {string} word for the status, such as broker
 * @property {string} noun for sentences, such as "uplink broker"
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {string} id of the config node
 * @param {import('./host').EngineHost} host
 * @param {CloudKind} kind
 * @returns {BrokerLink}
 * @throws {Error} with a sentence
 */
function claimLink(RED, node, id, host, { type, word, noun }) {
  const cloud =
    /** @type {import('node-red').Node & { link?: BrokerLink | null, failure?: string, shown?: string } | null} */ (
      id ? RED.nodes.getNode(id) : null
    );
  if (cloud?.type !== type) {
    throw trouble(`no ${word}`, `No ${noun} is chosen, or it is disabled. Choose one in the node.`);
  }
  const { link, failure, shown = `${word}: wrong setting` } = cloud;
  if (!link) {
    throw trouble(shown, `The ${noun} "${cloud.name || id}" has a wrong setting. ${failure}`);
  }
  if (!link.claim(host, node)) {
    throw trouble(
      `${word} in use`,
      `The ${noun} "${link.name}" already serves another engine, and a ${word} node serves only one. ` +
        `Create a second ${word} node for this engine.`
    );
  }
  node.on('close', () => link.release(node));
  return link;
}

/**
 * @param {string} shown for the canvas
 * @param {string} sentence
 */
function trouble(shown, sentence) {
  return Object.assign(new Error(sentence), { shown });
}

module.exports = { claimLink };
