'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { choice, recordClass, text } = require('./lib/base/options');
const { toRecord } = require('./lib/base/record');

const schema = {
  deviceId: text('deviceId'),
  deviceIdType: choice(/** @type {const} */ (['msg', 'str', 'env']), 'msg'),
  class: recordClass(0)
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Ingest(config) {
    RED.nodes.createNode(this, config);
    /** @type {(msg: import('node-red').NodeMessage) => unknown} */
    let deviceIdOf = () => undefined;
    let cls = 0;
    const member = join(RED, this, config, schema, ({ deviceId, deviceIdType, class: chosen }) => {
      deviceIdOf = (msg) => RED.util.evaluateNodeProperty(deviceId, deviceIdType, this, msg);
      cls = chosen;
      return { kind: 'ingest', settings: {} };
    });
    if (!member) return;

    onInput(this, (msg, _send, done) =>
      member.inlet.put(toRecord(msg, { deviceId: deviceIdOf(msg), cls, seq: -1 }), done, { msg })
    );
  }

  RED.nodes.registerType('seganet-ingest', Ingest);
};
