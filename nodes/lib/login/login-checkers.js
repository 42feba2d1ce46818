'use strict';
// The ways in which a listener identifies a device. Each returns the checkLogin of a stage.

const { PasswordVerifier } = require('./password-verifier');

/** @typedef {import('../engine/listening').ListenerParts} ListenerParts */

/**
 * @param {string} file
 * @param {'user' | 'clientId'} identity which one is the device id
 * @param {(sentence: string) => void} warn
 * @returns {Pick<ListenerParts, 'checkLogin' | 'endLogins'>}
 * @throws {Error} with a sentence if the file cannot be read
 */
function byPasswords(file, identity, warn) {
  const verifier = new PasswordVerifier(file, { warn });
  return {
    async checkLogin({ clientId, user, password, address }) {
      const isRight = await verifier.verify(user, password, address);
      if (isRight === undefined) return undefined;
      // An MQTT client may have no client id. It then has no device id either, and is refused.
      return isRight ? (identity === 'user' ? user : clientId) || null : null;
    },
    endLogins: () => verifier.close()
  };
}

/** @returns {Pick<ListenerParts, 'checkLogin'>} */
function byFlow() {
  return {
    async checkLogin(login, member) {
      return member.host.logins.ask(login, { protocol: member.protocol, nodeId: member.id });
    }
  };
}

/** Refuses every login. A certificate or pre-shared key identifies a device earlier, in the TLS handshake. */
function byCertificate() {
  return { checkLogin: async () => null };
}

module.exports = { byPasswords, byFlow, byCertificate };
