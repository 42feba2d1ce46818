'use strict';
// The settings by which a listener finds the tenant of a device. A rule is accepted only if every connection proves
// what the rule reads, or if the port itself belongs to a tenant.

const { NO_TENANT, TENANT, isTenant } = require('../base/tenant-id');
const { reachOf } = require('./overlay-offer');

/** @typedef {import('../base/tenant-id').TenantRule} TenantRule */

const tenantRows = /** @type {const} */ ({
  tenantFrom: { type: 'choice', values: ['none', 'user', 'certificate', 'psk', 'port'], default: 'none' },
  tenantName: {
    type: 'text',
    default: '',
    pattern: TENANT,
    shape: 'the name of a tenant: a to z, 0 to 9 and -, at most 32 characters'
  }
});

/**
 * @typedef {object} TenantValues
 * @property {string} tenantFrom
 * @property {string} tenantName
 * @property {string} login
 * @property {string} [clientCert]
 * @property {string} host
 * @property {string} [overlay]
 */

/**
 * @param {TenantValues} values
 * @returns {TenantRule}
 * @throws {Error} with a sentence
 */
function tenantRule({ tenantFrom, tenantName, login, clientCert = 'no', host, overlay }) {
  if (tenantFrom === 'none') return NO_TENANT;
  const isOpen = login === 'none' && clientCert !== 'required';
  if (tenantFrom === 'port') {
    if (!isTenant(tenantName)) {
      throw new Error('The name of the tenant is missing. Enter the tenant to which this port belongs.');
    }
    const reach = reachOf({ host, overlay });
    if (isOpen && reach) {
      throw new Error(
        `${reach}, any client that reaches this port could pose as a device of the tenant "${tenantName}". ` +
          'Choose a login in the node, or the address 127.0.0.1 without an overlay.'
      );
    }
    return { from: 'port', name: tenantName };
  }
  const trouble = missingProof(tenantFrom, login, clientCert, isOpen);
  if (trouble) throw new Error(trouble);
  return { from: /** @type {TenantRule['from']} */ (tenantFrom), name: '' };
}

/**
 * @param {string} tenantFrom
 * @param {string} login
 * @param {string} clientCert
 * @param {boolean} isOpen
 * @returns {string} a sentence, '' = every connection proves it
 */
function missingProof(tenantFrom, login, clientCert, isOpen) {
  if (tenantFrom === 'user') {
    if (!['passwords', 'flow', 'tokens'].includes(login)) {
      return 'The tenant can come from the user name only if the login checks it. Choose passwords, tokens or a login node.';
    }
    return clientCert === 'wanted'
      ? 'A certificate instead of the login has no user name, so its tenant would be unknown. Do not request certificates, or require them in addition.'
      : '';
  }
  if (tenantFrom === 'certificate') {
    const isCertificate = login === 'certificate' || (login === 'none' && !isOpen);
    return isCertificate
      ? ''
      : 'The tenant can come from the certificate only if the certificate is the login. Choose the login "client certificate".';
  }
  return login === 'psk' && clientCert === 'no'
    ? ''
    : 'The tenant can come from the identity only if every device logs in with a pre-shared key. Choose that login, and do not request certificates.';
}

/**
 * @param {TenantRule} rule
 * @returns {{ parted?: true, part?: string }} for the engine's source
 */
function partSettings({ from, name }) {
  return from === 'none' ? {} : { parted: true, ...(name && { part: name }) };
}

module.exports = { partSettings, tenantRows, tenantRule };
