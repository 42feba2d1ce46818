'use strict';
// How a tenant of the driver `process` is started from a backup.

const fs = require('node:fs');
const path = require('node:path');
const { environmentOf } = require('../drivers/environment');
const { secretsOf } = require('../life/secrets');
const { COPY_VARIABLE } = require('./drafts');
const { namespaceOptions, startOffline } = require('./offline');

/** The gateway of this package: what runs without a command. */
const GATEWAY = path.join(__dirname, '..', '..', '..', '..', 'flows', 'launcher', 'start.js');
const HOST = '127.0.0.1';
const PASSED = ['PATH', 'LANG', 'LC_ALL', 'TZ'];

/**
 * @param {{ state: string }} home
 * @returns {import('./restore').StartOffline | null} null: this system allows no network namespace
 */
function processStarter({ state }) {
  if (!namespaceOptions()) return null;
  return (spec, folder) => {
    const { file } = secretsOf(path.join(state, spec.name));
    const passed = PASSED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
    const env = {
      ...Object.fromEntries(passed),
      ...environmentOf(spec, { host: HOST, data: folder, passwords: file }),
      [COPY_VARIABLE]: folder
    };
    const command =
      spec.command.length > 0 ? spec.command : [process.execPath, '--max-semi-space-size=1', GATEWAY];
    const { uid, gid } = fs.statSync(folder);
    const isOther = process.getuid?.() === 0 && uid !== 0;
    const port = spec.port || spec.http || spec.tcp;
    return startOffline({ command, env, port, ...(isOther && { uid, gid }) }, folder);
  };
}

module.exports = { processStarter };
