'use strict';
// The status of an http devices node.

const { rate } = require('../../base/status');

/**
 * @param {{ port: number, trouble: string, connections: number, isLocked: boolean }} server trouble: why it does not
 *   listen; isLocked: the token file has no token, so every request is refused
 * @param {import('../../engine/figures/meter').StageRate} rates
 * @param {import('../../../../native/index.js').EngineStats} stats
 * @param {import('../../engine/member').Member} member
 * @returns {import('../../base/status').Shown}
 */
function shown({ port, trouble, connections, isLocked }, rates, stats, member) {
  if (trouble) return { fill: 'red', shape: 'ring', text: trouble };
  if (!port) return { fill: 'yellow', shape: 'ring', text: 'opening' };
  if (isLocked) return { fill: 'red', shape: 'ring', text: 'no usable token in the token file' };
  const waits = member.host.waitsFor(stats);
  if (waits) return { fill: 'red', shape: 'ring', text: `waiting: ${waits}` };
  const figures = `${connections} connections · ${rate(rates.recordsIn)}/s`;
  if (stats.slowed) return { fill: 'yellow', shape: 'ring', text: `full · ${figures}` };
  return { fill: 'green', shape: 'dot', text: `${port} · ${figures}` };
}

exports.shown = shown;
