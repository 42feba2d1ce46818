'use strict';
// The file of users and passwords: `user:hash` a line, blank lines and those that begin with # skipped.

const { parseHash } = require('./password-hash');

const MAX_USERS = 100000;
const MAX_FILE_BYTES = 32 << 20;
/** A user may be a device, and its id has no more. */
const MAX_USER_BYTES = 256;
const MAX_PASSWORD_BYTES = 1024;

/**
 * @param {string} user
 * @returns {string} why it is no user name, '' when it is one
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
 * @returns {string} why it is no password, '' when it is one
 */
function passwordProblem(password) {
  if (password.length === 0) return 'is empty';
  // HMAC fills its key up with NULs (RFC 2104, 2), so scrypt takes such a password for the one without them.
  if (password.at(-1) === 0) return 'ends with NUL';
  return password.length > MAX_PASSWORD_BYTES ? `exceeds ${MAX_PASSWORD_BYTES} bytes` : '';
}

/**
 * A line that cannot be used keeps one user out, not all.
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
    // Never the line itself: it may hold a password that somebody has written there.
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
