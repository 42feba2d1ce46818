'use strict';
// Checks what an uplink broker connects to.

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/**
 * @param {string} url
 * @returns {{ url: string, warning: string }}
 * @throws {Error} with a sentence
 */
function brokerAddress(url) {
  const example = 'Give an address such as mqtts://broker.example.com:8883.';
  if (!url) throw new Error(`The uplink broker has no address. ${example}`);
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new Error(`"${url}" is no address. ${example}`);
  }
  if (parsed.username || parsed.password) {
    throw new Error(
      'The address holds a user name or password. Move them to the fields for them: those are stored apart.'
    );
  }
  if (!['mqtts:', 'mqtt:'].includes(parsed.protocol) || !parsed.hostname) {
    throw new Error(`"${url}" is not an MQTT address. ${example}`);
  }
  const open = parsed.protocol === 'mqtt:' && !LOOPBACK.test(parsed.hostname);
  const warning = open
    ? `The uplink to ${parsed.host} is not encrypted. Use mqtts:// outside of this machine.`
    : '';
  return { url, warning };
}

/**
 * @param {string} id of the tls-config node, '' for none
 * @param {any} node core tls-config node
 * @returns {object} options of tls.connect(); empty = the system's certificate authorities
 * @throws {Error} with a sentence
 */
function tlsOptions(id, node) {
  if (!id) return {};
  if (typeof node?.addTLSOptions !== 'function') {
    throw new Error(
      'The TLS node of the uplink broker is missing or disabled. Choose another one in the broker node.'
    );
  }
  if (node.valid === false) {
    throw new Error(
      `The TLS node "${node.name || id}" cannot be used: its files could not be read. Correct it there.`
    );
  }
  return node.addTLSOptions({});
}

module.exports = { brokerAddress, tlsOptions };
