'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('overlay');
const { Complaints } = require('./lib/base/complaints');
const { given } = require('./lib/base/node-config');
const { addEndpoints } = require('./lib/overlay/endpoints');
const { OverlayLink } = require('./lib/overlay/overlay-link');
const { overlayNodes } = require('./lib/overlay/overlay-nodes');
const { addServicesEndpoints } = require('./lib/overlay/services-endpoints');
const { noProgram, program, stateFolder } = require('./lib/overlay/locations');
const { joinProblem, parseOffers, schema } = require('./lib/overlay/settings');
const { readSettings } = require('./lib/settings/migrations');

/**
 * failure: why the node has no link.
 * @typedef {import('node-red').Node & { link?: OverlayLink | null, failure?: string }} OverlayNode
 */

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  addEndpoints(RED);
  addServicesEndpoints(RED);

  /**
   * @this {OverlayNode}
   * @param {import('node-red').NodeDef} config
   */
  function Overlay(config) {
    RED.nodes.createNode(this, config);
    this.link = null;
    overlayNodes.add(this);
    this.on('close', () => void overlayNodes.delete(this));
    const { values, problems } = readSettings({ ...config, ...given(this.credentials) }, schema);
    if (problems.length > 0) return fail(this, problems.join(' '));
    try {
      const offers = parseOffers(values.offers);
      const wrong = joinProblem(values);
      if (wrong) return fail(this, wrong);
      const { address: url, root, token, device, devices } = values;
      const file = values.program === 'start' ? program() : '';
      if (values.program === 'start' && !file) return fail(this, noProgram());
      const start = file ? { file, url, root, token, device, devices, offers } : null;
      const complaints = new Complaints((sentence) => this.warn(sentence));
      const link = new OverlayLink(stateFolder(values.folder), start, (sentence) =>
        complaints.tell(sentence, sentence)
      );
      this.link = link;
      link.open();
      this.on('close', (/** @type {() => void} */ done) => void link.close().finally(done));
    } catch (error) {
      fail(this, error instanceof Error ? error.message : String(error));
    }
  }

  RED.nodes.registerType('seganet-overlay', Overlay, { credentials: { token: { type: 'password' } } });
};

/**
 * Reports a failure. A config node has no status, so the nodes that use it repeat the sentence.
 * @param {OverlayNode} node
 * @param {string} sentence
 */
function fail(node, sentence) {
  node.failure = sentence;
  node.error(sentence);
}
