'use strict';
// Listeners on Node-RED's own events.

/**
 * Adds a listener that cannot throw into Node-RED. Node-RED emits its events during a deploy. An exception there aborts
 * the deploy and leaves the flows stopped, for every later deploy too.
 * @param {import('node:events').EventEmitter} events RED.events
 * @param {string} name
 * @param {(...args: any[]) => void} listener
 * @param {(sentence: string) => void} report gets what the listener threw
 * @returns {() => void} removes the listener
 */
function onRuntimeEvent(events, name, listener, report) {
  const guarded = (/** @type {any[]} */ ...args) => {
    try {
      listener(...args);
    } catch (error) {
      report(
        `The handler of the Node-RED event "${name}" failed (${error instanceof Error ? error.message : error}). ` +
          'Please report this as a bug of SegaNet Gateway.'
      );
    }
  };
  events.on(name, guarded);
  return () => void events.off(name, guarded);
}

exports.onRuntimeEvent = onRuntimeEvent;
