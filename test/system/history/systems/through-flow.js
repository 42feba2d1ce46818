'use strict';
// The gateway with a function node and a delay node between its devices and its priority node, so that every record is
// a message for a while. Its devices are acknowledged as the option says.

const fs = require('node:fs');
const path = require('node:path');
const { GatewaySystem } = require('./gateway');

/** Time that a record spends in the delay node. */
const DELAY_S = '0.15';

class ThroughFlowSystem extends GatewaySystem {
  #acknowledgeMessages;

  /**
   * @param {ConstructorParameters<typeof GatewaySystem>[0]} options
   * @param {'delivered' | 'handedOver'} acknowledgeMessages
   */
  constructor(options, acknowledgeMessages) {
    super(options);
    this.#acknowledgeMessages = acknowledgeMessages;
  }

  prepare() {
    super.prepare();
    const file = path.join(this.home, 'gateway.json');
    /** @type {Record<string, any>[]} */
    const flow = JSON.parse(fs.readFileSync(file, 'utf8'));
    const devices = flow.find(({ type }) => type === 'seganet-mqtt-devices');
    if (!devices) throw new Error('the flow has no mqtt devices node');
    const next = devices.wires;
    Object.assign(devices, {
      wires: [['function']],
      acknowledgeMessages: this.#acknowledgeMessages,
      deliveryTimeoutS: '20'
    });
    const node = (/** @type {object} */ more) => ({ z: devices.z, name: '', x: 10, y: 10, ...more });
    const func = { id: 'function', type: 'function', func: 'return msg;', outputs: 1, timeout: 0, noerr: 0 };
    const code = { initialize: '', finalize: '', libs: [] };
    const delay = {
      id: 'delay',
      type: 'delay',
      pauseType: 'delay',
      timeout: DELAY_S,
      timeoutUnits: 'seconds'
    };
    const rate = { rate: '1', nbRateUnits: '1', rateUnits: 'second', drop: false, outputs: 1 };
    const random = { randomFirst: '1', randomLast: '5', randomUnits: 'seconds', allowrate: false };
    flow.push(
      node({ ...func, ...code, wires: [['delay']] }),
      node({ ...delay, ...rate, ...random, wires: next })
    );
    fs.writeFileSync(file, JSON.stringify(flow, null, 4), { mode: 0o600, flush: true });
  }
}

module.exports = { ThroughFlowSystem };
