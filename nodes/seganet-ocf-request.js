'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('ocf');
const { eachSecond } = require('./lib/base/timing/each-second');
const { onInput } = require('./lib/base/message-input');
const { flag, integer, text } = require('./lib/base/options');
const { Status } = require('./lib/base/status');
const { leaveInert } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { cloudOf, follow } = require('./lib/ocf/node/clouds');
const { Requesting } = require('./lib/ocf/request/requesting');

const schema = {
  cloud: text(''),
  timeoutMs: integer(100, 300000, 10000),
  observe: flag(false)
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function OcfRequest(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const { cloud: id } = values;
    if (!id) return leaveInert(this, 'no cloud', 'No ocf cloud node is chosen. Choose one in the node.');
    const requesting = new Requesting({
      cloud: () => cloudOf(id),
      settings: values,
      copy: (msg) => ({ ...RED.util.cloneMessage(msg), _msgid: RED.util.generateId() }),
      send: (msg) => this.send(msg),
      report: (error, msg) => this.error(error, msg)
    });
    const unfollow = follow(id, (cloud) => requesting.follow(cloud));
    const status = new Status(this);
    const show = () => status.set(shown(Boolean(cloudOf(id)), requesting));
    const endTicks = eachSecond(show);
    onInput(this, (msg, send, done) => requesting.take(msg, send, done));
    this.on('close', () => {
      unfollow();
      requesting.close();
      endTicks();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-ocf-request', OcfRequest);
};

/**
 * @param {boolean} isOpen
 * @param {{ open: number, relations: number }} counts
 * @returns {import('./lib/base/status').Shown}
 */
function shown(isOpen, { open, relations }) {
  if (!isOpen) return { fill: 'yellow', shape: 'ring', text: 'cloud not open' };
  return { fill: 'green', shape: 'dot', text: `${open} open · ${relations} observed` };
}
