'use strict';

const { isLoopback } = require('../../nodes/lib/base/loopback');
const { FrontGuard, passwordsOfTenant } = require('./front-guard');
const loopbackGuard = require('./loopback-guard');

/** @type {InstanceType<typeof FrontGuard> | null} */
let frontGuard = null;

/**
 * Returns what protects an editor without a password, one object for requests and WebSockets.
 * @param {string} host where it listens
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Pick<InstanceType<typeof FrontGuard>, 'guardRequests' | 'guardUpgrades'>}
 */
function guardOf(host, env = process.env) {
  const file = passwordsOfTenant(env);
  if (isLoopback(host) || file === '') return loopbackGuard;
  frontGuard ??= new FrontGuard(file, (sentence) => process.stderr.write(`${sentence}\n`));
  return frontGuard;
}

exports.guardOf = guardOf;
