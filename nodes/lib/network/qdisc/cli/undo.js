'use strict';

const { inspect } = require('../inspect-qdisc');
const { interfaceOf } = require('../prepare-qdisc');
const { comesBack } = require('../restore-qdisc');
const { locked, makeDirectory } = require('../qdisc-state');
const { EXIT } = require('../../common/network-error');
const { undoChange } = require('../undo-qdisc');
const { needRights } = require('../../common/rights');
const { stepLines, stepsAsJson } = require('./show');

/**
 * @param {import('../prepare-qdisc').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function undo(options, output) {
  needRights('undo');
  const name = await interfaceOf(options);
  makeDirectory(options.stateDir);
  const { done, left, state } = await locked(options.stateDir, name, async () =>
    undoChange(await inspect(name), options.stateDir, options.force)
  );
  const lost =
    state && left === '' && !comesBack(state.before) ? `${state.before.kind} ${state.before.handle}` : '';
  if (options.json) {
    output.line(
      JSON.stringify({ interface: name, undone: state !== null, steps: stepsAsJson(done), left, lost })
    );
    return EXIT.OK;
  }
  for (const line of stepLines(done)) output.line(line);
  if (lost !== '')
    await output.note(
      `seganet-net: Warning: the queue '${lost}' existed before apply and cannot be restored; set it up again.`
    );
  if (left !== '') output.line(`${name}: the queue '${left}' was set up after apply and was left unchanged.`);
  else output.line(state ? `${name}: restored to its state before apply.` : `${name}: nothing to undo.`);
  return EXIT.OK;
}

module.exports = { undo };
