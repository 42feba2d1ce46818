'use strict';

require('../native/node/needs-node');
require('./lib/capabilities').use('demand');
const { onInput } = require('./lib/base/message-input');
const { findHost, leaveInert } = require('./lib/engine/join');
const { readSettings } = require('./lib/settings/migrations');
const { Status } = require('./lib/base/status');
const { Way, addEndpoints, demandOf, demands, readQuestion, schema } = require('./lib/demand');

/** Asks if a message does not say who asks. */
const FLOW = 'flow';

/** @param {import('node-red').NodeAPI} RED */
module.exports = function (RED) {
  addEndpoints(RED, demands);

  /**
   * @this {import('node-red').Node}
   * @param {import('node-red').NodeDef} config
   */
  function OnDemand(config) {
    RED.nodes.createNode(this, config);
    const { values, problems, shown: why } = readSettings(config, schema);
    if (problems.length > 0) return leaveInert(this, why, problems.join(' '));
    let way;
    try {
      way = new Way(values);
    } catch (error) {
      return leaveInert(this, 'wrong setting', /** @type {Error} */ (error).message);
    }
    const { engine } = /** @type {{ engine?: string }} */ (/** @type {unknown} */ (config));
    const host = findHost(RED, this, engine);
    if (!host) return;
    const engineNode = /** @type {import('./lib/engine/join').EngineNode} */ (RED.nodes.getNode(host.id));
    const demand = demandOf(host, engineNode, RED);
    const status = new Status(this);
    const show = () => status.set(shown(demand.figures()));
    const leave = demand.join({
      way,
      changed: (view) => {
        show();
        this.send({ deviceId: view.device, payload: view });
      }
    });
    show();

    onInput(this, (msg, _send, done) => {
      const { deviceId: device, payload } = msg;
      const isObject = typeof payload === 'object' && payload !== null && !Array.isArray(payload);
      const question = readQuestion(isObject ? { device, ...payload } : payload, FLOW);
      demand.ask(question).then(() => {
        show();
        done();
      }, done);
    });
    this.on('close', () => {
      leave();
      status.close();
    });
  }

  RED.nodes.registerType('seganet-demand', OnDemand);
};

/**
 * @param {ReturnType<import('./lib/demand/demand').Demand['figures']>} figures of the engine
 * @returns {import('./lib/base/status').Shown}
 */
function shown({ questions, devices: { on, waiting, silent, refused, restoring } }) {
  if (questions === 0 && restoring + silent + refused === 0)
    return { fill: 'grey', shape: 'dot', text: 'no question' };
  const parts = [
    [questions, 'asked'],
    [on, 'on'],
    [waiting, 'waiting'],
    [silent, 'silent'],
    [refused, 'refused'],
    [restoring, 'to restore']
  ].flatMap(([count, word]) => (count ? [`${count} ${word}`] : []));
  const isFine = silent + refused + restoring === 0;
  return { fill: isFine ? 'green' : 'yellow', shape: 'dot', text: parts.join(' · ') };
}
