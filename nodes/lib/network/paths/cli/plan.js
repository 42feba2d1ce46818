'use strict';

const { EXIT } = require('../../common/network-error');
const { prepareAll } = require('../prepare-paths');
const { pathLine, stepLines, stepsAsJson, warningsOf } = require('./show');

/**
 * @param {import('./usage').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function plan(options, output) {
  const { prepared, refusals } = await prepareAll(options);
  const { paths, steps } = prepared;
  const warnings = warningsOf(prepared);
  if (options.json) {
    output.line(JSON.stringify({ paths, steps: stepsAsJson(steps), warnings, refusals }));
    return EXIT.OK;
  }
  for (const path of paths) output.line(`# ${pathLine(path)}`);
  for (const refusal of refusals) output.line(`# apply would refuse: ${refusal}`);
  for (const warning of warnings) output.line(`# Warning: ${warning}`);
  output.line('');
  if (steps.length === 0) output.line('# Nothing to do.');
  for (const line of stepLines(steps)) output.line(line);
  return EXIT.OK;
}

module.exports = { plan };
