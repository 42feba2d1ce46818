'use strict';

const { TenantError } = require('../base/errors');

/**
 * Replaces a driver that cannot be created, for example without a kubeconfig: its tenants have failed, and the others
 * still work.
 * @param {string} name
 * @param {string} problem a sentence
 * @returns {import('../drivers/driver').Driver}
 */
function unusableDriver(name, problem) {
  const refuse = async () => {
    throw new TenantError('failed', problem);
  };
  return {
    name,
    problem,
    // Nothing runs that could be isolated; only this driver never isolates.
    isIsolated: name !== 'process',
    canPause: false,
    check: refuse,
    create: refuse,
    start: refuse,
    stop: refuse,
    pause: refuse,
    unpause: refuse,
    inspect: refuse,
    ended: refuse,
    address: refuse,
    memory: refuse,
    logs: refuse,
    remove: refuse,
    close: () => {}
  };
}

module.exports = { unusableDriver };
