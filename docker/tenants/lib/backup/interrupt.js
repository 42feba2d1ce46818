'use strict';
// The end of a command by a signal: what it has made is removed first.

const os = require('node:os');
const { CliError } = require('../base/errors');

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Turns the first signal into an error. A second one ends the process at once.
 * @returns {{ signal: AbortSignal, close: () => void }} signal: its reason is a CliError with the exit code of a
 *   program that the signal ended
 */
function onInterrupt() {
  const controller = new AbortController();
  const listeners = SIGNALS.map((name) => {
    const listener = () => {
      close();
      const exitCode = 128 + os.constants.signals[name];
      controller.abort(new CliError(`${name} has ended the command. Nothing was changed.`, exitCode));
    };
    process.on(name, listener);
    return { name, listener };
  });
  const close = () => {
    for (const { name, listener } of listeners) process.off(name, listener);
  };
  return { signal: controller.signal, close };
}

/**
 * Resolves or rejects as the promise does, or rejects with the signal's reason.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal} [signal]
 * @returns {Promise<T>}
 */
function unlessAborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

/**
 * Throws the signal's reason, also if the signal came during work that did not let others run.
 * @param {AbortSignal} [signal]
 */
async function refuseAborted(signal) {
  if (!signal) return;
  await new Promise((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

module.exports = { onInterrupt, refuseAborted, unlessAborted };
