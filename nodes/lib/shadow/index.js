'use strict';
// Device shadows: what is desired of a device and what it reports, kept while it is away.

const { Complaints } = require('../base/complaints');
const { onRuntimeEvent } = require('../base/runtime-events');
const { controlOf } = require('./control');
const { addEndpoints } = require('./endpoints');
const { Refusal } = require('./refusal');
const { schema } = require('./settings');
const { ShadowThread } = require('./shadow-thread');
const { Shadows } = require('./shadows');

/** @typedef {import('../engine/host').EngineHost} EngineHost */
/** @typedef {import('../engine/join').EngineNode} EngineNode */

/** Of the engines that run. @type {Map<EngineHost, Shadows>} */
const allShadows = new Map();
/**
 * Gets each state of a thread. Weak: it must not keep the shadows of an engine that has closed, and with them the
 * engine.
 * @type {WeakMap<Shadows, Set<() => void>>}
 */
const watchers = new WeakMap();

/**
 * Returns the shadows of an engine, for as long as its node exists.
 * @param {EngineHost} host
 * @param {EngineNode} node of the engine
 * @param {import('node-red').NodeAPI} RED
 */
function shadowsOf(host, node, RED) {
  const known = allShadows.get(host);
  if (known) return known;
  const complaints = new Complaints((sentence) => node.warn(sentence));
  const warn = (/** @type {string} */ sentence, kind = sentence) => complaints.tell(kind, sentence);
  const { commands, deviceEvents, directory, engine } = host;
  /** @type {Set<() => void>} */
  const watching = new Set();
  const shadows = new Shadows({
    commands,
    deviceEvents,
    agents: (after, limit) => engine.agents?.(after, limit) ?? [],
    start: () =>
      new ShadowThread(
        directory,
        ({ reason }) => {
          if (reason) warn(reason);
          for (const show of watching) show();
        },
        (sentence) => warn(sentence, 'reader'),
        () => shadows.reopened()
      ),
    warn
  });
  allShadows.set(host, shadows);
  watchers.set(shadows, watching);
  const stops = [
    onRuntimeEvent(RED.events, 'flows:stopping', () => shadows.pause(), warn),
    onRuntimeEvent(RED.events, 'flows:started', () => shadows.begin(), warn)
  ];
  node.on('close', (/** @type {boolean} */ _removed, /** @type {() => void} */ done) => {
    for (const stop of stops) stop();
    allShadows.delete(host);
    void shadows.close().finally(done);
  });
  return shadows;
}

/** @param {Shadows} shadows @param {() => void} show called at each state @returns {() => void} ends that */
function watch(shadows, show) {
  const watching = watchers.get(shadows);
  watching?.add(show);
  return () => void watching?.delete(show);
}

module.exports = { Refusal, addEndpoints, allShadows, controlOf, schema, shadowsOf, watch };
