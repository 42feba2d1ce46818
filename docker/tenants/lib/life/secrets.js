'use strict';
// The password with which the front logs in at a tenant. The tenant gets only its hash.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');

/** Logins in each tenant: the front delivers records, the keeper checks whether it is ready. */
const FRONT = 'front';
const KEEPER = 'keeper';
/** Cost of the hash. The password is random, so a higher cost would protect nothing. */
const COST = { ln: 10, r: 8, p: 1 };
const PASSWORD = /^[\w-]{32}$/;

/** @param {string} password @returns {string} in the form of seganet-passwd */
function hashOf(password) {
  const { ln, r, p } = COST;
  const salt = crypto.randomBytes(16);
  const hash = crypto.scryptSync(password, salt, 32, { N: 2 ** ln, r, p });
  const base64 = (/** @type {Buffer} */ bytes) => bytes.toString('base64').replace(/=+$/, '');
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;
}

/** @param {string} file @returns {string} '' if there is none */
function read(file) {
  try {
    return fs.readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

/**
 * Makes the password of a tenant, once.
 * @param {string} folder state folder of the tenant
 * @returns {{ password: string, folder: string, file: string }} folder and file: what the tenant may read, users
 *   and hashes
 */
function secretsOf(folder) {
  const clear = path.join(folder, 'password');
  const shown = path.join(folder, 'secrets');
  const file = path.join(shown, 'passwords');
  let password = read(clear);
  if (!PASSWORD.test(password) || !fs.existsSync(file)) {
    password = crypto.randomBytes(24).toString('base64url');
    fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
    fs.mkdirSync(shown, { recursive: true, mode: 0o700 });
    const lines = [FRONT, KEEPER].map((user) => `${user}:${hashOf(password)}\n`);
    replaceFile(file, lines.join(''), 0o600);
    replaceFile(clear, `${password}\n`, 0o600);
  }
  return { password, folder: shown, file };
}

module.exports = { secretsOf, FRONT, KEEPER };
