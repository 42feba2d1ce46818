'use strict';
// The address of a PostgreSQL store, such as postgres://user@host:5432/database?sslmode=verify-full.

const fs = require('node:fs');
const { isLoopback } = require('../base/loopback');

const DEFAULT_PORT = 5432;
/** A pair has two or three. */
const MOST_HOSTS = 8;
const PARAMETERS = new Set(['host', 'user', 'sslmode', 'sslrootcert', 'sslcert', 'sslkey']);
/** allow and prefer are missing: they fall back to no encryption when an attacker on the path asks for it. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full'];

/**
 * @typedef {object} Address
 * @property {string} host a name, an address, or the absolute folder of a Unix socket
 * @property {number} port
 * @property {string} user
 * @property {string} database
 * @property {string} mode of TLS
 * @property {boolean} isLocal on this machine
 * @property {Record<'ca' | 'cert' | 'key', string>} files '' = none
 * @property {string} shown the address without parameters, for messages
 */

/** @param {string} text */
function isPostgresUrl(text) {
  return /^postgres(ql)?:/i.test(text);
}

/**
 * @param {string} text
 * @returns {Address}
 * @throws {RangeError} with a sentence
 */
function parsePostgresUrl(text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !isPostgresUrl(text)) {
    throw new RangeError('The database must have an address such as postgres://user@host/database.');
  }
  if (url.password) {
    throw new RangeError(
      'The address of the database must not contain the password. Enter it in its own field, or set PGPASSWORD or PGPASSFILE.'
    );
  }
  const { searchParams: given } = url;
  for (const name of given.keys()) {
    if (!PARAMETERS.has(name) || given.getAll(name).length > 1) {
      throw new RangeError(
        `The address of the database may have the parameters ${[...PARAMETERS].join(', ')}, each once, not ${name}.`
      );
    }
  }
  const host = given.get('host') || decoded(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const user = given.get('user') || decoded(url.username);
  const database = decoded(url.pathname.slice(1));
  if (!host || !user || !database || database.includes('/') || /[,\s\0]/.test(`${host}${user}${database}`)) {
    throw new RangeError(
      'The address of the database must name one host, a user and a database: postgres://user@host/database.'
    );
  }
  const isLocal = host.startsWith('/') || isLoopback(host);
  const mode = given.get('sslmode') || (isLocal ? 'disable' : 'verify-full');
  if (!MODES.includes(mode)) {
    throw new RangeError(`sslmode must be ${MODES.slice(0, -1).join(', ')} or ${MODES.at(-1)}, not ${mode}.`);
  }
  const [ca, cert, key] = ['sslrootcert', 'sslcert', 'sslkey'].map((name) => given.get(name) ?? '');
  const port = Number(url.port || DEFAULT_PORT);
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const shown = `postgres://${user}@${shownHost}:${port}/${database}`;
  return { host, port, user, database, mode, isLocal, files: { ca, cert, key }, shown };
}

/**
 * Reads an address with several servers, of which one can be written at a time, as libpq has them:
 * postgres://user@host1:5432,host2/database.
 * @param {string} text
 * @returns {Address[]} in this order
 * @throws {RangeError} with a sentence
 */
function parsePostgresUrls(text) {
  const [, begin, hosts, end] = /^([^/]*\/\/(?:[^@/?]*@)?)([^/?@]*)(.*)$/.exec(text) ?? ['', text, '', ''];
  const list = hosts.split(',');
  if (list.length > MOST_HOSTS) {
    throw new RangeError(`The address may name ${MOST_HOSTS} servers, not ${list.length}.`);
  }
  return list.map((host) => parsePostgresUrl(`${begin}${host}${end}`));
}

/** @param {string} text @returns {string} '' if it is malformed */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return '';
  }
}

/**
 * Returns the TLS options of a connection. Certificates are read at each connection, so that they can be renewed.
 * @param {Address} address
 * @returns {false | import('node:tls').ConnectionOptions}
 */
function tlsOf({ host, mode, files }) {
  if (mode === 'disable' || host.startsWith('/')) return false;
  const read = (/** @type {string} */ file) => (file ? fs.readFileSync(file) : undefined);
  const [ca, cert, key] = [read(files.ca), read(files.cert), read(files.key)];
  // As libpq: who names a certificate authority wants it to be checked.
  const checked = mode === 'require' && ca ? 'verify-ca' : mode;
  return {
    host,
    minVersion: 'TLSv1.2',
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    rejectUnauthorized: checked !== 'require',
    ...(checked === 'verify-ca' && { checkServerIdentity: () => undefined })
  };
}

module.exports = { isPostgresUrl, parsePostgresUrl, parsePostgresUrls, tlsOf };
