'use strict';

const { EXIT } = require('../../common/network-error');
const { prepareAll } = require('../prepare-paths');
const { prepare } = require('../path-steps-run');
const { readStatus } = require('../paths-status-file');
const { pathLine, qualityLines, stepLines, stepsAsJson, warningsOf } = require('./show');

/**
 * Returns the desired fates while a watch runs: an endpoint exists where its path is up.
 * @param {import('../paths-status-file').Status} status
 * @returns {(path: import('../path-selection').Path) => import('../desired-state').Fate}
 */
const fateIn = (status) => (path) => {
  const watched = status.paths.find(({ name }) => name === path.name);
  if (!watched) return 'there';
  return watched.state === 'up' ? 'there' : watched.endpointId === 0 ? 'gone' : 'kept';
};

/**
 * Computes the desired state while a watch runs: paths have the role that their quality gives them.
 * @param {import('../path-steps-run').Prepared} prepared
 * @param {import('../paths-status-file').Status} status
 */
function prepareIn(prepared, status) {
  const acting = (/** @type {import('../path-selection').Path} */ { name, role }) =>
    status.paths.find((watched) => watched.name === name && watched.role === role)?.actingRole ?? role;
  const paths = prepared.paths.map((path) => ({ ...path, role: acting(path) }));
  return prepare({ ...prepared, paths }, fateIn(status));
}

/**
 * @param {import('./usage').Options} options
 * @param {import('../../../base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function check(options, output) {
  const status = readStatus(options.stateDir);
  const { prepared, refusals } = await prepareAll(options);
  const { paths } = prepared;
  const { steps } = status ? prepareIn(prepared, status) : prepared;
  const isUp = !status || status.paths.every(({ state }) => state === 'up');
  const ok = steps.length === 0 && refusals.length === 0 && isUp;
  const warnings = warningsOf(prepared);
  if (options.json) {
    const watch = status?.paths ?? null;
    output.line(JSON.stringify({ ok, paths, steps: stepsAsJson(steps), warnings, refusals, watch }));
    return ok ? EXIT.OK : EXIT.NOT_OK;
  }
  for (const path of paths) output.line(pathLine(path));
  for (const refusal of refusals) output.line(`Not ok: ${refusal}`);
  for (const warning of warnings) output.line(`Warning: ${warning}`);
  for (const watched of status?.paths ?? []) {
    const { name, state, since, why } = watched;
    output.line(`${name}: ${state} since ${since}: ${why}`);
    for (const line of qualityLines(watched)) output.line(`${name}: ${line}`);
  }
  if (!status)
    output.line(
      'No watch is running: a path that fails silently keeps its endpoint (run seganet-paths watch).'
    );
  if (steps.length > 0) output.line('Not ok: apply would make these changes:');
  for (const line of stepLines(steps)) output.line(line);
  if (ok) output.line('ok: nothing to change.');
  return ok ? EXIT.OK : EXIT.NOT_OK;
}

module.exports = { check };
