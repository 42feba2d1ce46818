'use strict';

// The login of "http in" nodes (HTTP Basic, RFC 7617). Node-RED's own checks each password in its thread: a hundred
// wrong ones at once stop everything else there, logins of devices included.

const crypto = require('crypto');
const { createRequire } = require('module');
const { networkOf } = require('../../nodes/lib/login/failed-attempts');
const { WorkQueue } = require('../../nodes/lib/login/work-queue');

/** Checks of one address, with those that wait. One check runs at a time. */
const MOST_OF_ADDRESS = 4;
const MOST_WAITING = 64;
const WITHIN_MS = 8000;

/** @param {string} name of a package of Node-RED */
const ofNodeRed = (name) => createRequire(require.resolve('node-red'))(name);

/** @param {string} password @param {string} hash @returns {Promise<boolean>} */
function matches(password, hash) {
  let bcrypt;
  try {
    bcrypt = ofNodeRed('@node-rs/bcrypt');
  } catch {
    bcrypt = ofNodeRed('bcryptjs');
  }
  return bcrypt.compare(password, hash);
}

/**
 * Returns Express middleware for Node-RED's setting `httpNodeAuth`.
 * @param {string} user
 * @param {string} hash bcrypt
 * @param {(password: string, hash: string) => Promise<boolean>} [compare]
 */
function nodeLogin(user, hash, compare = matches) {
  const secret = crypto.randomBytes(32);
  /** Keyed hash of the password that was right. @type {Buffer | null} */
  let accepted = null;
  const queue = new WorkQueue({ atOnce: () => 1, maxWaiting: MOST_WAITING });
  /** Checks by address. @type {Map<string, number>} */
  const checks = new Map();

  /** @param {string} password @param {string} network @returns {Promise<boolean | undefined>} undefined: not checked */
  async function isRight(password, network) {
    const tag = crypto.createHmac('sha256', secret).update(password).digest();
    if (accepted && crypto.timingSafeEqual(accepted, tag)) return true;
    const others = checks.get(network) ?? 0;
    if (others >= MOST_OF_ADDRESS) return undefined;
    checks.set(network, others + 1);
    try {
      const verdict = await queue.run(() => compare(password, hash), WITHIN_MS);
      if (verdict) accepted = tag;
      return verdict;
    } finally {
      const left = /** @type {number} */ (checks.get(network)) - 1;
      if (left > 0) checks.set(network, left);
      else checks.delete(network);
    }
  }

  /**
   * @param {import('http').IncomingMessage} request
   * @param {import('http').ServerResponse} response
   * @param {(error?: unknown) => void} next
   */
  return (request, response, next) => {
    // A browser asks without a login whether it may send one.
    if (request.method === 'OPTIONS') return next();
    const given = ofNodeRed('basic-auth')(request);
    if (given?.name !== user) return refuse(response, false);
    const { remoteAddress = '', remotePort = 0 } = request.socket;
    isRight(given.pass, networkOf(`${remoteAddress}:${remotePort}`)).then(
      (verdict) => (verdict ? next() : refuse(response, verdict)),
      next
    );
  };
}

/** @param {import('http').ServerResponse} response @param {boolean | undefined} verdict undefined: not checked */
function refuse(response, verdict) {
  if (verdict === undefined) {
    response.writeHead(503, { 'content-type': 'text/plain', 'retry-after': '5' });
    response.end('Too many logins at the same time.\n');
    return;
  }
  response.writeHead(401, {
    'content-type': 'text/plain',
    'www-authenticate': 'Basic realm="Authorization Required"'
  });
  response.end('Unauthorized\n');
}

exports.nodeLogin = nodeLogin;
