'use strict';
// The ways in which a listener identifies a device. Each returns the checkLogin of a stage.

const path = require('node:path');
const { NO_TENANT, idByRule } = require('../base/tenant-id');
const { Users, addUse } = require('./files-in-use');
const { PasswordVerifier } = require('./password-verifier');

/**
 * @typedef {import('../engine/listening').ListenerParts} ListenerParts
 * @typedef {import('../base/tenant-id').TenantRule} TenantRule
 */

/**
 * @param {string} file
 * @param {'user' | 'clientId'} identity which one is the device id
 * @param {(sentence: string) => void} warn
 * @param {TenantRule} [rule]
 * @param {string} [node] name of the listener
 * @returns {Pick<ListenerParts, 'checkLogin' | 'endLogins'>}
 * @throws {Error} with a sentence if the file cannot be read
 */
function byPasswords(file, identity, warn, rule = NO_TENANT, node = '') {
  const verifier = new PasswordVerifier(file, { warn });
  const users = new Users();
  const use = {
    file: path.resolve(file),
    node,
    hasTenants: rule.from === 'user',
    refresh: () => verifier.refresh(),
    end: (/** @type {string} */ name) => users.end(name)
  };
  const endUse = addUse(use);
  return {
    async checkLogin({ clientId, user, password, address }, member) {
      const isRight = await verifier.verify(user, password, address);
      if (isRight === undefined) return undefined;
      if (!isRight || typeof user !== 'string') return null;
      // An MQTT client may have no client id. It then has no device id either, and is refused.
      const device = idByRule(rule, identity === 'user' ? { user } : { user, device: clientId }) || null;
      if (device !== null) users.add(user, device, member.host.engine);
      return device;
    },
    endLogins: () => {
      endUse();
      verifier.close();
    }
  };
}

/**
 * @param {TenantRule} [rule]
 * @returns {Pick<ListenerParts, 'checkLogin'>}
 */
function byFlow(rule = NO_TENANT) {
  return {
    async checkLogin(login, member) {
      const device = await member.host.logins.ask(login, { protocol: member.protocol, nodeId: member.id });
      // The flow confirmed the user, too.
      return typeof device === 'string' ? idByRule(rule, { device, user: login.user ?? '' }) || null : device;
    }
  };
}

/** Refuses every login. A certificate or pre-shared key identifies a device earlier, in the TLS handshake. */
function byCertificate() {
  return { checkLogin: async () => null };
}

module.exports = { byPasswords, byFlow, byCertificate };
