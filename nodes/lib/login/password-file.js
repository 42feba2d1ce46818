'use strict';
// The file of users and passwords: one `user:hash` per line. Blank lines and lines that begin with # are ignored.

const { MAX_DEVICE_BYTES } = require('../base/device-id');
const { parseHash } = require('./password-hash');

const MAX_USERS = 100000;
const MAX_FILE_BYTES = 32 << 20;
/** A user name may be a device id. */
const MAX_USER_BYTES = MAX_DEVICE_BYTES;
const MAX_PASSWORD_BYTES = 1024;

/**
 * @param {string} user
 * @returns {string} why it is not a valid user name, '' if it is
 */
function userProblem(user) {
  if (user === '') return 'is empty';
  if (Buffer.byteLength(user) > MAX_USER_BYTES) return `exceeds ${MAX_USER_BYTES} bytes`;
  if (/[\p{Cc}\uFFFD:]/u.test(user)) return 'contains a colon or control characters';
  if (user !== user.trim() || user.startsWith('#')) return 'begins or ends with a space, or begins with #';
  return '';
}

/**
 * @param {Buffer} password
 * @returns {string} why it is not a valid password, '' if it is
 */
function passwordProblem(password) {
  if (password.length === 0) return 'is empty';
  // HMAC pads its key with NULs (RFC 2104, 2), so scrypt cannot distinguish this password from one without them.
  if (password.at(-1) === 0) return 'ends with NUL';
  return password.length > MAX_PASSWORD_BYTES ? `exceeds ${MAX_PASSWORD_BYTES} bytes` : '';
}

/**
 * Parses the file. An invalid line affects one user only.
 * @param {string} text
 * @returns {{ users: Map<string, import('./password-hash').PasswordHash>, problems: string[] }}
 */
function parsePasswords(text) {
  /** @type {Map<string, import('./password-hash').PasswordHash>} */
  const users = new Map();
  /** @type {string[]} */
  const problems = [];
  for (const [index, raw] of text.split('\n').entries()) {
    const line = raw.replace(/\r$/, '');
    if (line.trim() === '' || line.startsWith('#')) continue;
    const at = line.indexOf(':');
    const user = line.slice(0, Math.max(at, 0));
    const hash = parseHash(line.slice(at + 1).trim());
    // The message never contains the line, which may be a plain-text password.
    const problem = at < 0 ? 'has no colon' : userProblem(user) && `names a user that ${userProblem(user)}`;
    if (problem) problems.push(`Line ${index + 1} ${problem}.`);
    else if (!hash) problems.push(`Line ${index + 1} has no password created by seganet-passwd.`);
    else if (users.has(user)) problems.push(`Line ${index + 1} repeats a user.`);
    else if (users.size === MAX_USERS) {
      problems.push(`Line ${index + 1} exceeds the limit of ${MAX_USERS} users.`);
      break;
    } else users.set(user, hash);
  }
  return { users, problems };
}

module.exports = { parsePasswords, userProblem, passwordProblem, MAX_FILE_BYTES, MAX_PASSWORD_BYTES };
