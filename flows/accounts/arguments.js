'use strict';
// The command line of the provider.

const path = require('node:path');
const { readOptions, usageOf } = require('../../nodes/lib/base/cli/command-line');
const { isLoopback } = require('../../nodes/lib/base/loopback');

const EXIT = { OK: 0, CANNOT: 1, USAGE: 2 };
const DEFAULT_PORT = 3000;
const LEAST_SECRET = 16;

const HELP = `npm run accounts -- --users FILE [options]

Runs an OpenID provider for the users of an OCF cloud, for one machine or a small site. A user logs in with a password on
its page, and gets an access code for a device. Enter the printed issuer, client id and secret in the ocf cloud node.

options
  --users FILE         users and passwords, as seganet-passwd creates them
  --store FILE         an SQLite file for keys, sessions and grants; without it they end with this process
  --host ADDRESS       default 127.0.0.1; another address needs TLS and SEGANET_ACCOUNTS_SECRET
  --port N             default ${DEFAULT_PORT}
  --issuer URL         address under which browsers and the cloud reach this server: https with --cert, else http;
                       default http://ADDRESS:PORT, with --cert https://ADDRESS:PORT
  --cert FILE          certificate chain for TLS, PEM
  --key FILE           its private key, PEM
  --client ID          client id of the cloud; default seganet-cloud
  --redirect URL       another page that may get codes, besides /code of this server; can be repeated
  --help

variables
  SEGANET_ACCOUNTS_SECRET   the client secret of the cloud, at least ${LEAST_SECRET} characters; without it, a new one is printed at
                            each start

exit codes
  0  ended by a signal           1  it could not start
  2  wrong usage

docs/use/ocf.md#users describes users of the cloud.`;

/**
 * @typedef {object} Options
 * @property {string} users
 * @property {string} store '' = memory only
 * @property {string} host
 * @property {number} port
 * @property {string} issuer '' = the address of the server
 * @property {{ cert: string, key: string } | null} tls files
 * @property {{ id: string, secret: string, redirectUris: string[] }} client secret '' = a new one
 */

const PROGRAM = {
  name: 'npm run accounts --',
  options: ['users', 'store', 'host', 'port', 'issuer', 'cert', 'key', 'client', 'redirect'],
  repeated: ['redirect']
};
const usage = usageOf(PROGRAM.name);

/**
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {Options | null} null: print the help
 * @throws {CliError}
 */
function readArguments(args, env = process.env) {
  const given = readOptions(PROGRAM, args);
  if (!given) return null;
  const [users, store, cert, key] = ['users', 'store', 'cert', 'key'].map((name) => given.text(name) ?? '');
  const host = given.text('host') ?? '127.0.0.1';
  const issuer = given.text('issuer') ?? '';
  const client = given.text('client') ?? 'seganet-cloud';
  const redirectUris = given.all('redirect');
  if (!users) throw usage('--users is missing. Create the file with seganet-passwd.');
  if (!cert !== !key) throw usage('--cert and --key belong together.');
  if (!/^[\w.-]{1,128}$/.test(client))
    throw usage('--client takes 1 to 128 letters, digits, dots and dashes.');
  const secret = env.SEGANET_ACCOUNTS_SECRET ?? '';
  if (secret && (secret.length < LEAST_SECRET || !/^[\x21-\x7e]+$/.test(secret))) {
    throw usage(
      `SEGANET_ACCOUNTS_SECRET must have at least ${LEAST_SECRET} printable characters without spaces.`
    );
  }
  if (issuer) checkIssuer(issuer, Boolean(cert));
  if (!isLoopback(host)) {
    if (!cert) throw usage(`On ${host}, passwords cross the network. Set --cert and --key.`);
    if (!secret) throw usage(`On ${host}, the client secret must be set: SEGANET_ACCOUNTS_SECRET.`);
    if (!issuer) throw usage(`On ${host}, the address for browsers must be set: --issuer.`);
  }
  for (const each of redirectUris) checkRedirect(each);
  return {
    users: path.resolve(users),
    store: store ? path.resolve(store) : '',
    host,
    port: given.whole('port', { least: 0, most: 65535, initial: DEFAULT_PORT }),
    // As browsers write it in the header Origin.
    issuer: issuer && new URL(issuer).origin,
    tls: cert ? { cert: path.resolve(cert), key: path.resolve(key) } : null,
    client: { id: client, secret, redirectUris }
  };
}

/** @param {string} text @param {boolean} hasTls */
function checkIssuer(text, hasTls) {
  const url = URL.parse(text);
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (!url || !isSafe || url.search || url.hash || url.username || url.pathname !== '/') {
    throw usage(
      '--issuer takes an address such as https://accounts.example, without a path; http only on loopback.'
    );
  }
  // The provider does not trust a proxy that ends TLS before it.
  if (hasTls && url.protocol === 'http:') {
    throw usage('With --cert, this server uses TLS: --issuer must begin with https.');
  }
  if (!hasTls && url.protocol === 'https:') {
    throw usage(
      'An --issuer with https needs TLS in this server, also behind a proxy. Set --cert and --key.'
    );
  }
}

/** @param {string} text */
function checkRedirect(text) {
  const url = URL.parse(text);
  if (!url || url.hash || !['https:', 'http:'].includes(url.protocol)) {
    throw usage(`--redirect takes an address that begins with https:// or http://, not '${text}'.`);
  }
}

module.exports = { EXIT, HELP, readArguments };
