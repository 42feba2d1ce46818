'use strict';
// Loads the PostgreSQL client, which the user installs, and finds the password.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { tlsOf } = require('./url');

const PACKAGE = 'pg';
const VERSION = '8.23.1';
/** Longest waits in ms, 0 = none: for a connection, and for the answer to a statement. */
const WAITS = { connectMs: 5000, answerMs: 15000 };
/** Silence of the server before the first probe of the connection. */
const KEEP_ALIVE_MS = 10000;
/** Numbers of types: int8 is a text in the client by default; times and counts here fit a number. */
const INT8 = 20;

/**
 * @param {() => any} [load] for tests
 * @returns {any} the module
 * @throws {Error} with a sentence
 */
function loadPg(load = () => require(PACKAGE)) {
  try {
    return load();
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
    const isMissing = code === 'MODULE_NOT_FOUND' && message.includes(`'${PACKAGE}'`);
    throw new Error(
      isMissing
        ? `A PostgreSQL store needs the package ${PACKAGE}, which is not installed. Install it in the same folder as the gateway: npm install ${PACKAGE}@${VERSION}.`
        : `The package ${PACKAGE} does not load (${message}). Install it again.`,
      { cause: error }
    );
  }
}

/**
 * Returns the password of PGPASSWORD, or of a line host:port:database:user:password in PGPASSFILE, else ~/.pgpass.
 * @param {import('./url').Address} address
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} '' = none
 */
function passwordOf({ host, port, database, user }, env = process.env) {
  if (env.PGPASSWORD) return env.PGPASSWORD;
  const file = env.PGPASSFILE || path.join(os.homedir(), '.pgpass');
  let lines;
  try {
    // As libpq: a file that others can read is not used.
    if ((fs.statSync(file).mode & 0o077) !== 0) return '';
    lines = fs.readFileSync(file, 'utf8').split(/\r?\n/);
  } catch {
    return '';
  }
  const wanted = [host, String(port), database, user];
  for (const line of lines) {
    if (line.startsWith('#')) continue;
    const fields = (line.match(/(\\.|[^:\\])+|(?<=:|^)(?=:|$)/g) ?? []).map((field) =>
      field.replace(/\\(.)/g, '$1')
    );
    if (fields.length === 5 && wanted.every((value, i) => fields[i] === '*' || fields[i] === value))
      return fields[4];
  }
  return '';
}

/**
 * @param {any} pg the module
 * @param {import('./url').Address} address
 * @param {string} password '' = of PGPASSWORD or PGPASSFILE
 * @param {{ connectMs: number, answerMs: number }} [waits] longest waits, 0 = none
 * @returns {any} a client that is not connected yet
 */
function newClient(pg, address, password, { connectMs, answerMs } = WAITS) {
  const { host, port, user, database } = address;
  return new pg.Client({
    host,
    port,
    user,
    database,
    password: async () => password || passwordOf(address),
    ssl: tlsOf(address),
    application_name: 'seganet-gateway',
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    // The default of the system is two hours, in which a listening connection may be dead.
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: {
      getTypeParser: (/** @type {number} */ type, /** @type {string} */ format) =>
        type === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(type, format)
    }
  });
}

module.exports = { loadPg, newClient, passwordOf };
