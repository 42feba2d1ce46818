'use strict';
// What capabilities add to the engine. Each registers itself when the first of its node types is loaded
// (nodes/lib/capabilities.js). The core calls what is registered, and knows no capability by name.

/**
 * @typedef {object} Addition
 * @property {string} name of the capability
 * @property {() => any} [threads] loads the module with the classes of its threads
 * @property {import('../metrics').MetricsAddition} [metrics]
 * @property {import('../live/snapshot').MakeLiveAddition} [live]
 * @property {(host: any, rows: any[]) => void} [valueDetails] adds members to rows of last values of an engine, for a
 *   viewer that asks for details; called for each answer
 * @property {(host: import('./host').EngineHost, node: import('./join').EngineNode, RED: import('node-red').NodeAPI) =>
 *   unknown} [engine] called with each engine that has started
 * @property {() => import('../events/event-book').Fact[]} [facts] what lasts now, of the kinds that the event watch observes
 * @property {import('./connection-test-endpoint').ConnectionTest} [connectionTest]
 * @property {(host: string, RED: import('node-red').NodeAPI | null) => string} [exposure] why no listener may open at
 *   this address, a sentence; '' = it may; RED null = before the flows are loaded
 */

/** By name. @type {Map<string, Addition>} */
const registered = new Map();

/** Adds to what the capability of this name has registered before. @param {Addition} addition */
function register(addition) {
  registered.set(addition.name, { ...registered.get(addition.name), ...addition });
}

/**
 * @template {keyof Addition} K
 * @param {K} part
 * @returns {NonNullable<Addition[K]>[]} of all capabilities that have it
 */
function additions(part) {
  return [...registered.values()].flatMap(({ [part]: added }) => (added ? [added] : []));
}

/** @param {string} name @returns {any} the module with the classes of its threads */
function threadsOf(name) {
  return registered.get(name)?.threads?.();
}

module.exports = { additions, register, threadsOf };
