'use strict';

const { ConfigError } = require('../launcher/config-error');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { environmentOf, homeOf, missingHome, settingsFileProblems } = require('./home-settings');
const { EXIT } = require('./usage');

/**
 * Runs the gateway in this process. The process ends with the gateway, so this never resolves.
 * @param {import('./usage').Options} options
 * @returns {Promise<number>}
 */
function start({ home }) {
  const folder = homeOf(home);
  const missing = missingHome(home);
  if (missing) throw new CliError(missing, EXIT.CONFIG);
  Object.assign(process.env, environmentOf(folder));
  // The launcher reads its own arguments, and has none here.
  process.argv = process.argv.slice(0, 2);
  const launcher = require('../launcher/start');
  const { problems } = settingsFileProblems(folder);
  if (problems.length > 0) launcher.fail(new ConfigError(problems));
  launcher.main().catch(launcher.fail);
  return new Promise(() => {});
}

exports.start = start;
