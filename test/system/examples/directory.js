'use strict';
// The example of the directory: a question about a device that has just sent its first value.

const { eventually } = require('../../../bench/harness/net');

/**
 * @param {{ nodeRed: any, idOf: (type: string, name?: string) => string }} context
 * @param {(topic: string, payload: string, options: object) => Promise<unknown>} publish as a device
 */
async function runDirectory({ nodeRed, idOf }, publish) {
  await publish('d/th-105', '{"temperature":21.5}', { clientId: 'th-105' });
  // The thing of a new device is made within a second.
  const isAnswered = async () => {
    await nodeRed.inject(idOf('inject', 'temperature of room 105'));
    const shown = nodeRed.shows('answer', /21.5.*th-105/s, 2000);
    return (await Promise.allSettled([shown]))[0].status === 'fulfilled';
  };
  await eventually(isAnswered, { timeoutMs: 60000, what: 'an answer' });
}

module.exports = { runDirectory };
