'use strict';

// A gateway with its demo, for tests and pictures of the editor.

const { run, temporaryFolder, cleanEnvironment } = require('../../runtime/process');

/**
 * Starts it and waits until records arrive in the cloud.
 * @param {Record<string, string>} [env]
 */
async function startDemo(env) {
  const gateway = run(process.execPath, ['flows/launcher/start.js'], {
    env: cleanEnvironment({
      SEGANET_HOME: `${temporaryFolder()}/home`,
      SEGANET_GATEWAY_ID: 'demo',
      SEGANET_MQTT_PORT: '0',
      SEGANET_EDITOR_PORT: '0',
      ...env
    })
  });
  const [, url] = await gateway.says(/editor: (\S+)/);
  await gateway.says(/demo cloud: the first record/);
  return { url, gateway };
}

module.exports = { startDemo };
