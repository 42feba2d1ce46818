'use strict';
// npm run accounts: an OpenID provider for the users of an OCF cloud. See --help.

const fs = require('node:fs');
const { randomBytes } = require('node:crypto');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { PasswordVerifier } = require('../../nodes/lib/login/password-verifier');
const { SIGNALS, stopWithParent } = require('../launcher/together');
const { EXIT, HELP, readArguments } = require('./arguments');
const { startServer } = require('./server');
const { Storage } = require('./storage');

/** @typedef {import('./arguments').Options} Options */

/** @param {string} text */
const print = (text) => process.stdout.write(`${text}\n`);
/** @param {string} sentence */
const warn = (sentence) => void process.stderr.write(`${sentence}\n`);

/**
 * @template T
 * @param {() => T} open
 * @returns {T}
 * @throws {CliError}
 */
function opened(open) {
  try {
    return open();
  } catch (error) {
    throw new CliError(/** @type {Error} */ (error).message, EXIT.CANNOT);
  }
}

/** @param {Options} options */
async function start(options) {
  const { host, port, issuer, tls, users, store, client } = options;
  const passwords = opened(() => new PasswordVerifier(users, { warn }));
  const storage = opened(() => new Storage(store));
  const secret = client.secret || randomBytes(24).toString('base64url');
  const files = tls && opened(() => ({ cert: fs.readFileSync(tls.cert), key: fs.readFileSync(tls.key) }));
  const parts = { host, port, issuer, tls: files, client: { ...client, secret }, storage, passwords, warn };
  const server = await startServer(parts).catch((error) => {
    const isTaken = error.code === 'EADDRINUSE';
    const remedy = isTaken ? `Port ${port} is taken. Choose another one with --port.` : error.message;
    throw new CliError(remedy, EXIT.CANNOT);
  });
  print(`The provider is ready. Ctrl-C ends it.

  log in         ${server.issuer}/
  issuer         ${server.issuer}
  client id      ${client.id}
  client secret  ${client.secret ? 'of SEGANET_ACCOUNTS_SECRET' : secret}
  redirect URI   ${server.issuer}/code`);
  return async () => {
    await server.close();
    passwords.close();
    storage.close();
  };
}

async function main() {
  try {
    const options = readArguments(process.argv.slice(2));
    if (!options) return print(HELP);
    // Programs that this process might start must not see it.
    delete process.env.SEGANET_ACCOUNTS_SECRET;
    process.umask(0o077);
    stopWithParent();
    const stop = await start(options);
    let isEnding = false;
    for (const signal of SIGNALS) {
      process.on(signal, async () => {
        if (isEnding) return;
        isEnding = true;
        await stop();
        process.exit(EXIT.OK);
      });
    }
  } catch (error) {
    warn(/** @type {Error} */ (error).message);
    process.exit(error instanceof CliError ? error.exitCode : EXIT.CANNOT);
  }
}

if (require.main === module) main();
