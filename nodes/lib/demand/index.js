'use strict';
// Monitoring on demand: questions such as "device X each 100 ms for 60 s".

const { Complaints } = require('../base/complaints');
const { onRuntimeEvent } = require('../base/runtime-events');
const { Demand } = require('./demand');
const { DemandStore } = require('./demand-store');
const { DemandThread } = require('./demand-thread');
const { addEndpoints } = require('./endpoints');
const { Refusal, readQuestion } = require('./request');
const { Way, schema } = require('./ways');

/** @typedef {import('../engine/host').EngineHost} EngineHost */
/** @typedef {import('../engine/join').EngineNode} EngineNode */

/** Of the engines that run. @type {Map<EngineHost, import('./demand').Demand>} */
const demands = new Map();

/**
 * Returns the questions of an engine, for as long as its node exists. They begin with the engine, because a device may
 * wait for its normal rate although its demand node was removed.
 * @param {EngineHost} host
 * @param {EngineNode} node of the engine
 * @param {import('node-red').NodeAPI} RED
 */
function demandOf(host, node, RED) {
  const known = demands.get(host);
  if (known) return known;
  const complaints = new Complaints((sentence) => node.warn(sentence));
  const warn = (/** @type {string} */ sentence) => complaints.tell(sentence, sentence);
  const { commands, readers, deviceEvents, directory } = host;
  const demand = new Demand({
    commands,
    readers,
    deviceEvents,
    store: new DemandStore(new DemandThread(directory, warn)),
    warn,
    unrestored: (device, reason) =>
      node.events?.book.happens({
        kind: 'device',
        engine: node.id,
        subject: device,
        key: 'deviceKeepsRate',
        params: { reason: reason.replace(/\.$/, '') || 'refused' }
      })
  });
  demands.set(host, demand);
  const stop = onRuntimeEvent(RED.events, 'flows:started', () => demand.begin(), warn);
  node.on('close', (/** @type {boolean} */ _removed, /** @type {() => void} */ done) => {
    stop();
    demands.delete(host);
    void demand.close().finally(done);
  });
  return demand;
}

module.exports = { Refusal, Way, addEndpoints, demandOf, demands, readQuestion, schema };
