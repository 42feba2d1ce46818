'use strict';
// Who may see the pages of a tenant: a user of the password file whose name begins with the tenant's, such as
// acme/alice, at the address of that tenant, such as acme.localhost. So each tenant's pages are an origin of their own
// (RFC 6454), and a browser keeps their cookies, storage and scripts apart.

const net = require('node:net');

/** Longest value of the header; names and passwords are far shorter. */
const MAX_HEADER = 1024;
const LABEL = /^([a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?)\./;
const SAFE = ['GET', 'HEAD', 'OPTIONS'];

/**
 * @typedef {import('node:http').IncomingMessage} Request
 * @typedef {{ tenant: string, user: string }} Guest user: without the name of the tenant
 * @typedef {{ status: number, sentence: string, headers?: Record<string, string> }} Refusal
 * @typedef {Pick<import('../../login/password-verifier').PasswordVerifier, 'verify'>} Verifier
 */

/**
 * @param {Request} request
 * @param {Verifier} verifier
 * @returns {Promise<Guest | Refusal>}
 */
async function whoIs(request, verifier) {
  const tenant = tenantOf(request.headers.host ?? '');
  if (!tenant) {
    const sentence = 'The address must begin with the name of a tenant, as in http://acme.localhost/.';
    return { status: 421, sentence };
  }
  if (isForeign(request)) return { status: 403, sentence: 'The request comes from a page of another site.' };
  const given = credentialsOf(request.headers.authorization ?? '');
  const { remoteAddress = '', remotePort = 0 } = request.socket;
  // A user of another tenant costs as much as a wrong password, and looks the same.
  const ask = {
    status: 401,
    sentence: `Log in with a user name that begins with ${tenant}/.`,
    headers: { 'www-authenticate': `Basic realm="${tenant}", charset="UTF-8"` }
  };
  if (!given) return ask;
  const verdict = await verifier.verify(given.user, given.password, `${remoteAddress}:${remotePort}`);
  if (verdict === undefined) {
    return { status: 503, sentence: 'Too many logins at the same time.', headers: { 'retry-after': '5' } };
  }
  const isOfTenant = given.user.startsWith(`${tenant}/`) && given.user.length > tenant.length + 1;
  return verdict && isOfTenant ? { tenant, user: given.user.slice(tenant.length + 1) } : ask;
}

/** @param {string} host header @returns {string} name in the first label, '' = none */
function tenantOf(host) {
  if (net.isIP(host.replace(/:\d*$/, ''))) return '';
  return LABEL.exec(host.toLowerCase())?.[1] ?? '';
}

/**
 * True if a page of another site makes the browser change something, or open a WebSocket, with the password that it
 * knows for this one.
 * @param {Request} request
 */
function isForeign({ method = '', headers: { origin, host, upgrade } }) {
  if (origin === undefined || (SAFE.includes(method) && !upgrade)) return false;
  try {
    return new URL(origin).host !== host?.toLowerCase();
  } catch {
    return true;
  }
}

/** @param {string} header @returns {{ user: string, password: Buffer } | null} of HTTP Basic (RFC 7617) */
function credentialsOf(header) {
  const [, base64 = ''] = /^basic +([a-z0-9+/=]+)$/i.exec(header.slice(0, MAX_HEADER + 1)) ?? [];
  if (!base64 || header.length > MAX_HEADER) return null;
  const bytes = Buffer.from(base64, 'base64');
  const end = bytes.indexOf(':');
  return end < 0 ? null : { user: bytes.toString('utf8', 0, end), password: bytes.subarray(end + 1) };
}

module.exports = { whoIs, tenantOf };
