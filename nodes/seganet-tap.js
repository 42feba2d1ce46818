'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { choice, integer } = require('./lib/base/options');
const { toRecord } = require('./lib/base/record');
const { Sampler } = require('./lib/base/sampler');

const schema = {
  everyN: integer(0, 1000000, 100),
  perSecond: integer(0, 100000, 10),
  // A node that has no such property sends bytes.
  payload: choice(['raw', 'json'], 'raw')
};

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Tap(config) {
    RED.nodes.createNode(this, config);
    let sampler = new Sampler(0, 0);
    const member = join(RED, this, config, schema, ({ payload, ...settings }) => {
      sampler = new Sampler(settings.everyN, settings.perSecond);
      return { kind: 'tap', settings, ...(payload === 'json' && { shape: decodeJson }) };
    });
    if (!member) return;
    const { shape } = member;

    onInput(this, (msg, send, done) => {
      if (!sampler.pass()) return done();
      // A tap also accepts a batch or a message without a device, but only a record can continue natively.
      if (!member.route?.next.length) {
        shape?.(msg);
        send(msg);
        member.inlet.passMessage();
        return done();
      }
      const record = toRecord(msg);
      shape?.(msg);
      send(msg);
      member.inlet.pass(record, done, msg);
    });
  }

  RED.nodes.registerType('seganet-tap', Tap);
};

/**
 * Replaces the bytes of a payload by its value, if they are JSON. A batch of lines stays as it is.
 * @param {Record<string, any>} msg
 */
function decodeJson(msg) {
  if (!Buffer.isBuffer(msg.payload)) return;
  try {
    msg.payload = JSON.parse(msg.payload.toString('utf8'));
  } catch {
    // Other bytes.
  }
}
