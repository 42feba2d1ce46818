'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { workAsOwnerOf } = require('../../nodes/lib/base/cli/rights');
const { replaceFile } = require('../../nodes/lib/base/replace-file');
const { ConfigError } = require('../launcher/config-error');
const { prepareHome } = require('../launcher/home');
const { presetOf } = require('../launcher/presets');
const { SETTINGS_FILE, homeOf, settingsTemplate } = require('./home-settings');
const { EXIT } = require('./usage');

/** Files of a new folder, in the order of the report. */
const FILES = ['gateway.json', 'gateway_cred.json', 'credential-secret', SETTINGS_FILE, 'seganet-log'];

/**
 * @param {import('./usage').Options} options
 * @param {import('../../nodes/lib/base/cli/cli-output').Output} output
 * @returns {Promise<number>} the exit code
 */
async function init({ home: given, language, preset }, output) {
  process.umask(0o077);
  const home = homeOf(given);
  workAsOwnerOf(home);
  const before = new Set(FILES.filter((name) => fs.existsSync(path.join(home, name))));
  const settings = path.join(home, SETTINGS_FILE);
  const set = {
    ...(language && { SEGANET_LANGUAGE: language }),
    ...(preset && { SEGANET_PRESET: preset })
  };
  if (before.has(SETTINGS_FILE) && Object.keys(set).length > 0) {
    const lines = Object.entries(set).map(([name, value]) => `${name}=${value}`);
    throw new CliError(
      `${settings} exists already. Set ${lines.join(' and ')} in it: the next start changes the flow, unless you have changed it.`,
      EXIT.CANNOT
    );
  }
  try {
    // An existing flow is not touched, not even by an update of the shipped one: that is for the start.
    if (!before.has('gateway.json')) prepareHome(home, language || undefined, presetOf(preset).flow);
    if (!before.has(SETTINGS_FILE)) replaceFile(settings, settingsTemplate(set));
    if (!before.has('seganet-log')) fs.mkdirSync(path.join(home, 'seganet-log'), { mode: 0o700 });
  } catch (error) {
    if (error instanceof ConfigError) throw new CliError(error.message, EXIT.CANNOT);
    const { message } = /** @type {Error} */ (error);
    throw new CliError(
      `${home} cannot be set up: ${message}. Choose a folder that this user can write to.`,
      EXIT.CANNOT
    );
  }
  for (const name of FILES) {
    const file = path.join(home, name);
    if (before.has(name)) output.line(`kept     ${file}`);
    else if (fs.existsSync(file)) output.line(`created  ${file}`);
  }
  output.line('');
  const names = preset === 'cluster' ? 'SEGANET_UPLINK_URL and SEGANET_KAFKA_BROKERS' : 'SEGANET_UPLINK_URL';
  output.line(`Set ${names} in ${settings}, then run:`);
  const option = given ? ` --home ${home}` : '';
  output.line(`  seganet-gateway check${option} && seganet-gateway start${option}`);
  return EXIT.OK;
}

exports.init = init;
