'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { parseFilter, schema } = require('./lib/settings/filter');
const { toRecord } = require('./lib/base/record');
const { rate } = require('./lib/base/status');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Filter(config) {
    RED.nodes.createNode(this, config);
    let hasWindows = false;
    const member = join(RED, this, config, schema, (values) => {
      hasWindows = values.mode === 'window';
      return { kind: 'filter', settings: parseFilter(values), shown };
    });
    if (!member) return;

    // The stage decides, because it knows what passed before, and sends what passes.
    onInput(this, (msg, _send, done) => {
      if (hasWindows && msg.flush === true) {
        member.host.engine.flush(member.stage);
        return done();
      }
      member.inlet.put(toRecord(msg), done, { msg });
    });
  }

  RED.nodes.registerType('seganet-filter', Filter);
};

/** @type {NonNullable<import('./lib/engine/member').Stage['shown']>} */
function shown({ recordsIn, filtered, copiesDropped }, _stats, member) {
  const dropped = copiesDropped > 0;
  const text = dropped
    ? `${rate(copiesDropped)}/s copies dropped`
    : `${rate(recordsIn)}/s, ${rate(filtered)}/s filtered${member.carriage()}`;
  return {
    fill: dropped ? 'yellow' : recordsIn > 0 ? 'green' : 'grey',
    shape: dropped ? 'ring' : 'dot',
    text
  };
}
