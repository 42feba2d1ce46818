'use strict';
// The input of a node. `done` is called exactly once for each message, and no message ends the process.

const { asError } = require('./guard');

/**
 * @typedef {(error?: Error) => void} Done must not throw
 * @typedef {(msg: any, send: (msg: any) => void, done: Done) => void} Take may throw; `done` then gets the error
 */

/**
 * @param {import('node-red').Node} node
 * @param {Take} take
 */
function onInput(node, take) {
  node.on('input', (msg, send, done) => {
    const finish = once(done, (error) => node.error(error));
    try {
      take(msg, send, finish);
    } catch (thrown) {
      finish(asError(thrown));
    }
  });
}

/**
 * @param {(error?: Error) => void} done of Node-RED
 * @param {(error: Error) => void} report gets an error whose message cannot be passed to a Catch node
 * @returns {Done}
 */
function once(done, report) {
  let isDone = false;
  return (error) => {
    if (isDone) return;
    isDone = true;
    try {
      done(error);
    } catch (thrown) {
      // Node-RED copies the message for Complete and Catch nodes, and a getter in it may throw.
      report(error ?? asError(thrown));
    }
  };
}

module.exports = { onInput };
