'use strict';
// The status of an mqtt source node.

const { rate } = require('../../base/status');
const { shortReason } = require('../../base/texts/short-reasons');

/**
 * @param {{ state: string, why: { code: string, reason: string } | null, waits: boolean } | null} source
 * @param {import('../../engine/figures/meter').StageRate} rates
 * @param {import('../../../../native/index.js').EngineStats} stats
 * @param {import('../../engine/member').Member} member
 * @returns {import('../../base/status').Shown}
 */
function shown(source, rates, stats, member) {
  const { state = 'stopped', why = null, waits = false } = source ?? {};
  if (state === 'connected') {
    const trouble = member.host.waitsFor(stats);
    if (trouble) return { fill: 'red', shape: 'ring', text: `waiting: ${trouble}` };
    if (waits) return { fill: 'yellow', shape: 'ring', text: `slowed · ${rate(rates.recordsIn)}/s` };
    return {
      fill: 'green',
      shape: 'dot',
      text: `connected · ${rate(rates.recordsIn)}/s${member.carriage()}`
    };
  }
  if (state === 'connecting') return { fill: 'yellow', shape: 'ring', text: 'connecting' };
  if (state === 'stopped') return { fill: 'grey', shape: 'ring', text: 'stopped' };
  return { fill: 'red', shape: 'ring', text: troubleOf(state, why) };
}

/** @param {string} state @param {{ code: string, reason: string } | null} why */
function troubleOf(state, why) {
  const words = shortReason(why?.code ?? '');
  if (words) return words;
  if (state === 'refused') return why?.reason ?? 'refused';
  return `disconnected${why?.code ? `: ${why.code}` : ''}`;
}

exports.shown = shown;
