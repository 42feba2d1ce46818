'use strict';
// The systems that can be tested with the faults, by name.

const { BridgeSystem } = require('./bridge');
const { GatewaySystem } = require('./gateway');
const { NodeRedSystem } = require('./nodered');
const { ThroughFlowSystem } = require('./through-flow');

/**
 * isUnordered: a record whose message a deploy removed comes again behind later records of its device.
 *
 * @type {Record<string, {what: string, isOurs: boolean, isLying?: boolean, isUnordered?: boolean, env?: Record<string, string>, make: (options: any) => any}>}
 */
const systems = {
  gateway: { what: 'the SegaNet gateway', isOurs: true, make: (options) => new GatewaySystem(options) },
  'gateway-received': {
    what: 'the same, set to acknowledge at once: crashes must show losses',
    isOurs: true,
    env: { SEGANET_ACKNOWLEDGE: 'received' },
    make: (options) => new GatewaySystem(options)
  },
  'gateway-flow': {
    what: 'the same with a function and a delay node behind the devices, acknowledged when delivered',
    isOurs: true,
    isUnordered: true,
    make: (options) => new ThroughFlowSystem(options, 'delivered')
  },
  'gateway-flow-handed-over': {
    what: 'the same, acknowledged when handed over: crashes must show losses',
    isOurs: true,
    isUnordered: true,
    make: (options) => new ThroughFlowSystem(options, 'handedOver')
  },
  'gateway-lying-disk': {
    what: 'the same on a disk that reports writes it has not done: power cuts must show losses',
    isOurs: true,
    isLying: true,
    make: (options) => new GatewaySystem(options)
  },
  'mosquitto-bridge': {
    what: 'a mosquitto bridge with default persistence',
    isOurs: false,
    make: (options) => new BridgeSystem(options, [])
  },
  'mosquitto-bridge-1s': {
    what: 'the same with autosave_interval 1',
    isOurs: false,
    make: (options) => new BridgeSystem(options, ['autosave_interval 1'])
  },
  nodered: {
    what: "Node-RED's core MQTT nodes",
    isOurs: false,
    make: (options) => new NodeRedSystem(options)
  }
};

module.exports = { systems };
