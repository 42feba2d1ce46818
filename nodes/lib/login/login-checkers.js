'use strict';
// How a listener finds out who somebody is. Each is a checkLogin of a stage.

const { Verifier } = require('./password-verifier');

/** @typedef {import('../engine/listening').ListenerParts} ListenerParts */

/**
 * @param {string} file
 * @param {'user' | 'clientId'} identity what the device is called
 * @param {(sentence: string) => void} warn
 * @returns {Pick<ListenerParts, 'checkLogin' | 'endLogins'>}
 * @throws {Error} with a sentence when the file cannot be read
 */
function byPasswords(file, identity, warn) {
  const verifier = new Verifier(file, { warn });
  return {
    async checkLogin({ clientId, user, password, address }) {
      const isRight = await verifier.verify(user, password, address);
      if (isRight === undefined) return undefined;
      // MQTT 3.1.1 with clean session 0 may come without a client id: then it is no device.
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

/** Certificates and pre-shared keys have said who it is before; whoever asks here has neither. */
function byCertificate() {
  return { checkLogin: async () => null };
}

module.exports = { byPasswords, byFlow, byCertificate };
