'use strict';

const { needRights } = require('../../common/rights');
const { EXIT } = require('../../common/network-error');
const { change } = require('../path-steps-run');
const { prepareAll, refuse } = require('../prepare-paths');
const { locked } = require('../paths-state');
const { pathLine, stepLines, stepsAsJson, warningsOf } = require('./show');

/**
 * @param {import('./usage').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function apply(options, output) {
  needRights('apply', 'routes and MPTCP endpoints');
  const prepared = await locked(options.stateDir, async () => {
    const all = await prepareAll(options);
    refuse(all.refusals, options.force);
    await change(all.prepared, options.stateDir);
    return all.prepared;
  });
  const { paths, steps } = prepared;
  const warnings = warningsOf(prepared);
  if (options.json) {
    output.line(JSON.stringify({ changed: steps.length > 0, paths, steps: stepsAsJson(steps), warnings }));
    return EXIT.OK;
  }
  for (const warning of warnings) await output.note(`seganet-paths: Warning: ${warning}`);
  for (const line of stepLines(steps)) output.line(line);
  for (const path of paths) output.line(pathLine(path));
  output.line(steps.length > 0 ? 'Applied.' : 'Already set up. Nothing to do.');
  return EXIT.OK;
}

module.exports = { apply };
