'use strict';

const fs = require('node:fs');
const { needRights } = require('../../common/rights');
const { EXIT } = require('../../common/network-error');
const { undo: undoAll } = require('../path-steps-run');
const { hintSocket, locked } = require('../paths-state');
const { removeStatus } = require('../paths-status-file');
const { DESIRED } = require('../sysctls');
const { stepLines, stepsAsJson } = require('./show');

/**
 * @param {import('./usage').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function undo(options, output) {
  needRights('undo', 'routes and MPTCP endpoints');
  const { done, left, unknown } = await locked(options.stateDir, async () => {
    const undone = await undoAll(options.stateDir);
    removeStatus(options.stateDir);
    // Left over from a watch that was killed.
    fs.rmSync(hintSocket(options.stateDir), { force: true });
    return undone;
  });
  if (options.json) {
    output.line(JSON.stringify({ undone: done.length > 0, steps: stepsAsJson(done), left, unknown }));
    return EXIT.OK;
  }
  for (const line of stepLines(done)) output.line(line);
  for (const what of left) output.line(`Left alone: ${what}.`);
  if (unknown) {
    const names = DESIRED.map(({ name }) => `net.mptcp.${name}`).join(', ');
    await output.note(
      `seganet-paths: Warning: the file of apply is missing, so ${names} and the subflow limit keep their current values. A restart restores the kernel's defaults.`
    );
  }
  output.line(done.length > 0 ? 'Everything that seganet-paths set up was removed.' : 'Nothing to undo.');
  return EXIT.OK;
}

module.exports = { undo };
