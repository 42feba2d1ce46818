'use strict';

// A gateway with an editor, for tests of what its port answers.

const path = require('path');
const { run, temporaryFolder, cleanEnvironment } = require('./process');

/** Longest time until the editor listens, on a machine with much other work. */
const START_MS = 60000;
/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const LOGIN = { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH };

/**
 * @param {Record<string, string>} [env]
 * @returns {Promise<{ editor: string, gateway: ReturnType<typeof run> }>} editor: its address, which ends with /
 */
async function startGateway(env) {
  const gateway = run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: path.join(temporaryFolder(), 'home'),
      SEGANET_GATEWAY_ID: 'gw-test',
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      SEGANET_WORKERS: '1',
      ...env
    })
  });
  const [, editor] = await gateway.says(/editor: (http:\/\/127\.0\.0\.1:\d+\/)/, START_MS);
  return { editor, gateway };
}

module.exports = { LOGIN, startGateway };
