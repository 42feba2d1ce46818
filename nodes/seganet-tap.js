'use strict';

require('../native/node/needs-node');
const { onInput } = require('./lib/base/message-input');
const { join } = require('./lib/engine/join');
const { integer } = require('./lib/base/options');
const { toRecord } = require('./lib/base/record');
const { Sampler } = require('./lib/base/sampler');

const schema = { everyN: integer(0, 1000000, 100), perSecond: integer(0, 100000, 10) };

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Tap(config) {
    RED.nodes.createNode(this, config);
    let sampler = new Sampler(0, 0);
    const member = join(RED, this, config, schema, (settings) => {
      sampler = new Sampler(settings.everyN, settings.perSecond);
      return { kind: 'tap', settings };
    });
    if (!member) return;

    onInput(this, (msg, send, done) => {
      if (!sampler.pass()) return done();
      // A tap also accepts a batch or a message without a device, but only a record can continue natively.
      if (!member.route?.next.length) {
        send(msg);
        member.inlet.passMessage();
        return done();
      }
      const record = toRecord(msg);
      send(msg);
      member.inlet.pass(record, done, msg);
    });
  }

  RED.nodes.registerType('seganet-tap', Tap);
};
