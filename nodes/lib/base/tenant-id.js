'use strict';
// The device id of a listener with a tenant rule: `tenant:device`. The tenant comes from what the connection proved,
// or from the listener itself, and never from what a device sends without proof. In topics, and inside the tenant, a
// device uses only its own name.

const { MAX_DEVICE_BYTES } = require('./device-id');

/** As in the tenants file. It contains neither : nor /. */
const TENANT = /^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/;

/**
 * @typedef {'none' | 'user' | 'certificate' | 'psk' | 'port'} TenantFrom
 *   user: what precedes the first / of the user name; certificate: the organization of the client certificate; psk:
 *   what precedes the first / of the identity; port: the listener's own tenant
 *
 * @typedef {object} TenantRule can be cloned into another thread
 * @property {TenantFrom} from
 * @property {string} name of the tenant, with `port`
 */

/** @type {TenantRule} */
const NO_TENANT = Object.freeze({ from: 'none', name: '' });

/** @param {unknown} name */
const isTenant = (name) => typeof name === 'string' && TENANT.test(name);

/**
 * @param {string} tenant
 * @param {string} device its name in the tenant
 * @returns {string} '' if the tenant is not valid, or the device id would be empty or too long
 */
function tenantId(tenant, device) {
  const id = `${tenant}:${device}`;
  return isTenant(tenant) && device !== '' && Buffer.byteLength(id) <= MAX_DEVICE_BYTES ? id : '';
}

/**
 * @param {string} proven a user name, identity or token name such as acme/pump-1
 * @returns {{ tenant: string, device: string }} tenant '' = the name has none
 */
function splitName(proven) {
  const at = proven.indexOf('/');
  const tenant = proven.slice(0, Math.max(at, 0));
  return isTenant(tenant) ? { tenant, device: proven.slice(at + 1) } : { tenant: '', device: proven };
}

/**
 * @param {TenantRule} rule
 * @param {object} proof what the connection proved
 * @param {string} [proof.device] absent: the user is the device
 * @param {string} [proof.user] the user name of the login
 * @param {string} [proof.organization] of the certificate
 * @returns {string} the device id; '' if the rule finds no tenant
 */
function idByRule({ from, name }, { device, user = '', organization = '' }) {
  const given = device ?? user;
  if (from === 'none') return given;
  if (from === 'port') return tenantId(name, given);
  if (from === 'certificate') return tenantId(organization, given);
  const proven = splitName(from === 'user' ? user : given);
  const isWhole = from === 'psk' || device === undefined;
  return tenantId(proven.tenant, isWhole ? proven.device : given);
}

module.exports = { NO_TENANT, TENANT, idByRule, isTenant, splitName, tenantId };
