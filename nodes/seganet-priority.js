'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { toRecord } = require('./lib/base/record');
const { schema } = require('./lib/settings/priority');
const { parseRules } = require('./lib/settings/rules');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Priority(config) {
    RED.nodes.createNode(this, config);
    const member = join(RED, this, config, schema, ({ rules, rulesJson, defaultClass }) => ({
      kind: 'priority',
      settings: { rules: parseRules(rules, rulesJson), defaultClass }
    }));
    if (!member) return;

    onInput(this, (msg, send, done) => {
      const record = toRecord(msg);
      // Without the plan, the engine has no rules for this node, or those of the previous deploy.
      member.inlet.whenPlanned(() => {
        record.cls = member.host.engine.classify(
          member.stage,
          record.deviceId,
          record.topic,
          record.payload,
          record.cls
        );
        msg.priority = record.cls;
        send(msg);
        member.inlet.pass(record, done, msg);
      }, done);
    });
  }

  RED.nodes.registerType('seganet-priority', Priority);
};
