'use strict';

const { join } = require('./lib/join');
const { choice, recordClass, text } = require('./lib/options');
const { toRecord } = require('./lib/record');

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

    this.on('input', (msg, _send, done) => {
      let record;
      try {
        record = toRecord(msg, { deviceId: deviceIdOf(msg), cls, seq: -1 });
      } catch (error) {
        return done(/** @type {Error} */ (error));
      }
      member.put(record, done);
    });
  }

  RED.nodes.registerType('seganet-ingest', Ingest);
};
