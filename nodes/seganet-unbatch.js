'use strict';

require('../native/node/needs-node');
const path = require('node:path');
const { asError } = require('./lib/base/guard');
const { onInput } = require('./lib/base/message-input');
const { nodeIds } = require('./lib/base/node-config');
const { END, KEY, whenEnded } = require('./lib/engine/deliveries');
const { leaveInert } = require('./lib/engine/join');
const { choice, integer, text } = require('./lib/base/options');
const { readSettings } = require('./lib/settings/migrations');

/** In the user folder: the keys that were remembered at the last orderly end. */
const FOLDER = 'seganet-unbatch';

const schema = {
  window: integer(1, 1000000, 10000),
  lanes: integer(1, 100000, 1000),
  historySuffix: text('/history'),
  gatewayTopic: text(''),
  copies: choice(/** @type {const} */ (['batches', 'records']), 'batches')
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Unbatch(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    // Loaded for the first node of this type: most gateways have none, because it is for the receiving side.
    const { GatewayTopics } = require('./lib/unbatch/gateway-topics');
    const { isInFlow } = require('./lib/unbatch/leftovers');
    const { RunningUnbatch } = require('./lib/unbatch/running-unbatch');
    /** @type {InstanceType<typeof GatewayTopics>} */
    let topics;
    try {
      topics = new GatewayTopics(values.gatewayTopic, values.historySuffix);
    } catch (error) {
      return leaveInert(this, why, asError(error).message);
    }
    const running = new RunningUnbatch({
      node: this,
      settings: values,
      topics,
      file: keysFile(RED, this.id),
      ids: nodeIds(RED),
      newId: RED.util.generateId,
      watch: (msg, begin) =>
        whenEnded(msg, () => {
          const ended = begin();
          return (end) => ended(end === END.DELIVERED);
        }),
      // The symbol survives nodes that give a message another id, such as split.
      inherited: ({ _msgid, [KEY]: followed }) => ({ _msgid, ...(followed && { [KEY]: followed }) })
    });
    onInput(this, (msg, send, done) => running.take(msg, send, done));
    this.on('close', (/** @type {boolean} */ removed, /** @type {() => void} */ done) => {
      // Node-RED removes a node that is only disabled, too; that one is still in the flow.
      running.close(removed && !isInFlow(this.id, nodeIds(RED)));
      done();
    });
  }

  RED.nodes.registerType('seganet-unbatch', Unbatch);
};

/** @param {import('node-red').NodeAPI} RED @param {string} id @returns {string} '' = there is no user folder */
function keysFile({ settings }, id) {
  const { userDir } = /** @type {{ userDir?: string }} */ (settings);
  return userDir ? path.join(userDir, FOLDER, `${encodeURIComponent(id)}.json`) : '';
}
