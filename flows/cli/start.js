'use strict';

const { ConfigError } = require('../launcher/config-error');
const { environmentOf, homeOf, settingsFileProblems } = require('./home-settings');

/**
 * Runs the gateway in this process. The process ends with the gateway, so this never resolves.
 * @param {import('./usage').Options} options
 * @returns {Promise<number>}
 */
function start({ home }) {
  const folder = homeOf(home);
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
