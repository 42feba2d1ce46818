'use strict';
// The login page of npm run cloud: the provider of flows/accounts, in this process, with the users alice and bob.

const fs = require('node:fs');
const path = require('node:path');
const { randomBytes } = require('node:crypto');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { PasswordVerifier } = require('../../../nodes/lib/login/password-verifier');

const HOST = '127.0.0.1';
const USERS = ['alice', 'bob'];
/** The passwords are random, so a higher cost protects nothing. */
const COST = { ln: 10, r: 8, p: 1 };

/**
 * @typedef {object} Login
 * @property {{ issuer: string, clientId: string, clientSecret: string, redirectUri: string }} client properties of the
 *   ocf cloud node
 * @property {{ user: string, password: string }[]} users
 * @property {() => Promise<void>} stop
 */

/**
 * Starts the provider. Passwords and the client secret are new at each start.
 * @param {object} parts
 * @param {string} parts.home
 * @param {number} parts.port
 * @param {(sentence: string) => void} parts.warn
 * @returns {Promise<Login>}
 * @throws {Error} with a sentence
 */
async function startLogin({ home, port, warn }) {
  const { startServer, Storage } = loadAccounts();
  const users = USERS.map((user) => ({ user, password: randomBytes(9).toString('base64url') }));
  const hashes = await Promise.all(users.map(({ password }) => hashPassword(Buffer.from(password), COST)));
  const file = path.join(home, 'users');
  fs.writeFileSync(file, users.map(({ user }, i) => `${user}:${hashes[i]}\n`).join(''), { mode: 0o600 });
  const passwords = new PasswordVerifier(file, { warn });
  const storage = new Storage(path.join(home, 'accounts.db'));
  const client = { id: 'seganet-cloud', secret: randomBytes(24).toString('base64url'), redirectUris: [] };
  const close = async () => {
    passwords.close();
    storage.close();
  };
  try {
    const parts = { host: HOST, port, issuer: '', tls: null, client, storage, passwords, warn };
    const { issuer, close: closeServer } = await startServer(parts);
    return {
      client: { issuer, clientId: client.id, clientSecret: client.secret, redirectUri: `${issuer}/code` },
      users,
      stop: async () => {
        await closeServer();
        await close();
      }
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The published package does not have the provider. */
function loadAccounts() {
  try {
    const { startServer } = require('../../accounts/server');
    const { Storage } = require('../../accounts/storage');
    return { startServer, Storage };
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error('The provider of users is missing. Run npm run cloud in a checkout, after npm install.', {
      cause: error
    });
  }
}

exports.startLogin = startLogin;
