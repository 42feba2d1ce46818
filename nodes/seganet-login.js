'use strict';

require('../native/node/needs-node');
const { FlowLogins } = require('./lib/login/flow-logins');
const { eachSecond } = require('./lib/base/timing/each-second');
const { onInput } = require('./lib/base/message-input');
const { findHost, leaveInert } = require('./lib/engine/join');
const { integer } = require('./lib/base/options');
const { readSettings } = require('./lib/settings/migrations');
const { Status } = require('./lib/base/status');

const schema = { timeoutMs: integer(100, 9000, 5000) };

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function Login(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    const { engine } = /** @type {{ engine?: string }} */ (/** @type {unknown} */ (config));
    const host = findHost(RED, this, engine);
    if (!host) return;
    const { logins } = host;
    if (logins.flow) {
      return leaveInert(
        this,
        'one too many',
        'This engine already has a login node. Wire to that node, or delete it.'
      );
    }

    const questions = new FlowLogins((msg) => this.send(/** @type {any} */ (msg)), values.timeoutMs);
    const ask = questions.ask.bind(questions);
    logins.flow = ask;
    const status = new Status(this);
    const endTicks = eachSecond(() => status.set(questions.shown()));
    onInput(this, (msg, _send, done) => {
      const problem = questions.answer(msg);
      done(problem ? new Error(problem) : undefined);
    });
    this.on('close', () => {
      endTicks();
      status.close();
      questions.close();
      if (logins.flow === ask) logins.flow = null;
    });
  }

  RED.nodes.registerType('seganet-login', Login);
};
