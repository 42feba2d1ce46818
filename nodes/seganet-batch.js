'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { thresholds } = require('./lib/unbatch/thresholds');
const { schema } = require('./lib/settings/batch');
const { toRecord } = require('./lib/base/record');
const { rate } = require('./lib/base/status');

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Batch(config) {
    RED.nodes.createNode(this, config);
    const member = join(RED, this, config, schema, (settings, { gatewayId }) => ({
      kind: 'batch',
      settings: { ...thresholds(settings, gatewayId), patienceMs: settings.patience, immediateClass: 1 },
      shown
    }));
    if (!member) return;

    onInput(this, (msg, _send, done) => {
      if (msg.flush === true) {
        member.host.engine.flush(member.stage);
        return done();
      }
      member.inlet.put(toRecord(msg), done, { msg });
    });
  }

  RED.nodes.registerType('seganet-batch', Batch);
};

/** @type {NonNullable<import('./lib/engine/member').Stage['shown']>} */
function shown(rates, stats, member) {
  const { waitMs = [] } = stats.stages.find(({ id }) => id === member.stage) ?? {};
  const longest = Math.max(0, ...waitMs);
  const waits = longest > 0 ? ` · waits ≤ ${longest / 1000} s` : '';
  const text = `${rate(rates.recordsIn)}/s in ${rate(rates.batches)} batches/s${waits}${member.carriage()}`;
  return { fill: rates.recordsIn > 0 ? 'green' : 'grey', shape: 'dot', text };
}
