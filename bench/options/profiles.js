'use strict';
// Named loads: the devices' messages, and the requirement of such an application. `loadOptions` has additional options
// of loadgen (bench/loadgen).

/**
 * @typedef {object} LoadProfile
 * @property {string} title @property {string} what
 * @property {number[]} devices one run for each @property {number} rate messages per second of each device
 * @property {number} payload bytes, unless loadOptions has a range
 * @property {number} alarmEvery @property {number} [inflight]
 * @property {Record<string, string | number>} [loadOptions]
 * @property {{needMs?: number, ofClass?: number}} [need] required upper bound of the p99 of a class
 * @property {{from: number, seconds: number}} [outage] the cloud is down: from this fraction of the load on, for
 *          `seconds`
 */

/** @type {Record<string, LoadProfile>} */
const profiles = {
  'seganet-paper': {
    title: "the paper's experiment",
    what: 'a message from each device every 100 ms, 100 to 1,000 B; the paper reached 0.8 s at its largest number of devices',
    devices: [1, 16, 32, 64, 128, 256, 1000],
    rate: 10,
    payload: 550,
    alarmEvery: 0,
    loadOptions: { payload: '100-1000' },
    need: { needMs: 800, ofClass: 3 }
  },
  farm: {
    title: 'a farm of sensors',
    what: '1,000 sensors, 10 messages per second each, 200 B, 5 % alarms',
    devices: [1000],
    rate: 10,
    payload: 200,
    alarmEvery: 20
  },
  heart: {
    title: 'heart monitors',
    what: '64 devices with 50 messages per second of 100 B, like an ECG; 2 % class 1, 10 % class 2; alarms need less than 1 s',
    devices: [64],
    rate: 50,
    payload: 100,
    alarmEvery: 50,
    inflight: 256,
    loadOptions: { shares: '1:2,2:10,3:88' },
    need: { needMs: 1000, ofClass: 1 }
  },
  camera: {
    title: 'cameras',
    what: '16 devices with 10 pictures of 16 KB per second, 5 % alarms',
    devices: [16],
    rate: 10,
    payload: 16384,
    alarmEvery: 20,
    need: { needMs: 1000, ofClass: 1 }
  },
  burst: {
    title: 'bursts',
    what: '200 devices with 5 messages per second, and ten times as many for 1 s of every 5 s',
    devices: [200],
    rate: 5,
    payload: 200,
    alarmEvery: 20,
    inflight: 256,
    loadOptions: { burst: '5:1:10' },
    need: { needMs: 1000, ofClass: 1 }
  },
  outage: {
    title: 'an outage',
    what: 'the farm with 200 sensors; the cloud is down for 5 s in the middle; no record may be lost',
    devices: [200],
    rate: 10,
    payload: 200,
    alarmEvery: 20,
    inflight: 256,
    outage: { from: 0.4, seconds: 5 }
  },
  poisson: {
    title: 'random arrivals',
    what: 'the farm with 200 sensors that send at random times (Poisson) instead of a fixed period',
    devices: [200],
    rate: 10,
    payload: 200,
    alarmEvery: 20,
    loadOptions: { arrivals: 'poisson' },
    need: { needMs: 1000, ofClass: 1 }
  }
};

module.exports = { profiles };
