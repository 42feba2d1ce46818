'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { askJson, isRunning } = require('./gateway-client');
const { homeOf } = require('./home-settings');
const { EXIT } = require('./usage');

const LOOK_MS = 500;
/** Devices in a handshake when the listeners closed may appear within this time. */
const SETTLE_MS = 1500;

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function drain({ home: given, rate, to, wait, json }, output) {
  const home = homeOf(given);
  workAsOwnerOf(home);
  if (!(await isRunning(home))) {
    output.note(`No gateway uses ${home}. Start it, or name its folder with --home.`);
    return EXIT.NOT_RUNNING;
  }
  const since = performance.now();
  await askJson(home, `/drain/start?${new URLSearchParams({ rate: String(rate), server: to })}`);
  let said = '';
  /** @type {number | null} */
  let emptySince = null;
  for (;;) {
    /** @type {Omit<import('../../nodes/lib/engine/handover').HandoverView, 'isOn'>} */
    const state = await askJson(home, '/drain');
    const now = performance.now();
    const isEmpty = state.devices === 0 && state.records === 0;
    emptySince = isEmpty ? (emptySince ?? now) : null;
    const isDone = emptySince !== null && now - emptySince >= SETTLE_MS;
    const isLate = now - since >= wait * 1000;
    const told = `${state.moved} devices have left, ${state.devices} are connected, ${state.records} records wait for the cloud`;
    if (!json && told !== said) output.note(told);
    said = told;
    if (isDone || isLate) {
      if (json) output.line(JSON.stringify({ home, done: isDone, ...state }));
      else
        output.line(
          isDone
            ? 'drained: nothing is left here. The gateway accepts no devices until it is started again.'
            : `not drained within ${wait} s; it goes on.`
        );
      return isDone ? EXIT.OK : EXIT.DEGRADED;
    }
    await sleep(LOOK_MS);
  }
}

exports.drain = drain;
