'use strict';
// The command line of seganet-accounts.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { CliError } = require('../../base/cli/cli-error');
const { parseOptions, readCommand } = require('../../base/cli/usage');
const { page } = require('../../base/texts/page');
const { MOST_MINUTES } = require('../cloud/access-codes');
const { isPostgresUrl } = require('../store/postgres-url');
const { MOST_DAYS } = require('../cloud/user-tokens');

const EXIT = { OK: 0, NO: 1, USAGE: 2, CANNOT: 3 };
const DEFAULT_MINUTES = 10;
const DEFAULT_DAYS = 90;

const HELP = `seganet-accounts <command> [options] [<name> ...]

Manages the users and devices of the OCF cloud of a SegaNet gateway. The gateway may run meanwhile: it notices changes
within some seconds.

commands
  code USER           prints an access code with which one device can sign up as this user; creates the user if necessary
                        --minutes N       time in which the code is valid: 1 to ${MOST_MINUTES}, default ${DEFAULT_MINUTES}
  token USER          prints a token with which this user reaches devices over HTTP; creates the user if necessary
                        --days N          time in which the token is valid: 1 to ${MOST_DAYS}, default ${DEFAULT_DAYS}
                      a cloud with an issuer also takes the access tokens of its users, without this command
  tokens [USER]       lists the valid tokens for HTTP, or those of one user: id, user, end
  revoke ID           revokes the token for HTTP with this id
  users               lists the users: name, number of devices, id, and the issuer of each if there is a provider
  devices [USER]      lists the devices, or those of one user: id, user, links, name
  share DEVICE USER RIGHTS
                      shares a device with another user: r (read), rw (read and write), or none
  groups [USER]       lists the groups, or those of one user: id, name, owner, members, devices
  group create USER NAME
                      makes a group that the user owns, and prints its id
  group add|remove GROUP USER
                      makes a user a member without an invitation, or removes a member with the devices shared by it
  group share GROUP DEVICE RIGHTS
                      shares a device of a member with the group: r, rw or none
  group delete GROUP  deletes a group
  delete DEVICE|USER  deletes a device with its tokens, links and shares, or a user with all devices; a deleted device is
                      disconnected, and must sign up again with a new code

options
  --issuer URL        USER is the user with this id (claim sub) at the provider with this issuer, as in the ocf cloud node;
                      without it, code and token are for a user of access codes alone, and other commands prefer one
  --store FILE|URL    the database of accounts: a file, or postgres://user@host/database, with the password in PGPASSWORD
                      or PGPASSFILE; default: the ocf.db in SEGANET_HOME (else ~/.seganet) or in one of its log folders
  --json              users, devices, tokens, groups: print one JSON object

  --help, --version

exit codes
  0  done                      1  there is no such user, device, token or group, or a limit is reached
  2  wrong usage               3  the database is missing, or cannot be read or written

What it does and why:
  ${page('use/ocf.md')}`;

/** Least and most names after each command. @type {Record<string, [number, number]>} */
const NAMES = {
  code: [1, 1],
  token: [1, 1],
  tokens: [0, 1],
  revoke: [1, 1],
  users: [0, 0],
  devices: [0, 1],
  share: [3, 3],
  groups: [0, 1],
  group: [2, 4],
  delete: [1, 1]
};
/** Commands that name a user. */
const OF_USER = new Set(['code', 'token', 'tokens', 'devices', 'share', 'groups', 'group', 'delete']);
const ISSUER = /^https?:\/\/[^\s?#@]{1,1000}$/;
const LISTS = new Set(['users', 'devices', 'tokens', 'groups']);

/** @typedef {{ names: string[], store: string, issuer: string, minutes: number, days: number, json: boolean }} Input issuer: '' = none */

/** @param {string} message */
const usage = (message) => new CliError(`${message} See seganet-accounts --help.`, EXIT.USAGE);

/**
 * Returns the only database of accounts in the gateway's folder: ocf.db, or seganet-log/<engine id>/ocf.db, where a
 * cloud without a file of its own has it.
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} absolute; ocf.db in the folder if there is none
 * @throws {CliError} that names them if there are several
 */
function defaultStore(env = process.env) {
  const home = path.resolve(env.SEGANET_HOME?.trim() || path.join(os.homedir(), '.seganet'));
  const logs = env.SEGANET_LOG_DIR?.trim() || path.join(home, 'seganet-log');
  const folders = [home, logs, ...foldersIn(logs)];
  const found = [...new Set(folders.map((folder) => path.resolve(folder, 'ocf.db')))].filter((file) =>
    fs.existsSync(file)
  );
  if (found.length > 1) {
    throw usage(`There are several databases: ${found.join(', ')}. Choose one with --store.`);
  }
  return found[0] ?? path.join(home, 'ocf.db');
}

/** @param {string} folder @returns {string[]} the folders in it, none if it cannot be read */
function foldersIn(folder) {
  try {
    const entries = fs.readdirSync(folder, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
  } catch {
    return [];
  }
}

/**
 * @param {string[]} args
 * @returns {{ command: string, text: string, options: Input | null }} options null: only print the text
 */
function readArguments(args) {
  const { command, rest, text } = readCommand(args, { help: HELP, commands: NAMES, usage });
  if (text !== '') return { command, text, options: null };
  /** @type {NonNullable<import('node:util').ParseArgsConfig['options']>} */
  const specs = { store: { type: 'string' } };
  if (command === 'code') specs.minutes = { type: 'string' };
  if (command === 'token') specs.days = { type: 'string' };
  if (OF_USER.has(command)) specs.issuer = { type: 'string' };
  if (LISTS.has(command)) specs.json = { type: 'boolean' };
  const { values, positionals } = parseOptions(rest, specs, usage, true);
  const [least, most] = NAMES[command];
  if (positionals.length < least)
    throw usage(
      `'${command}' needs ${least === 1 ? 'a name' : least === 2 ? 'more arguments' : 'three names'}.`
    );
  if (positionals.length > most) throw usage(`'${positionals[most]}' is one argument too many.`);
  const minutes = wholeNumber('minutes', values.minutes, MOST_MINUTES, DEFAULT_MINUTES);
  const days = wholeNumber('days', values.days, MOST_DAYS, DEFAULT_DAYS);
  const given = values.store === undefined ? defaultStore() : String(values.store);
  const store = isPostgresUrl(given) ? given : path.resolve(given);
  const json = values.json === true;
  const issuer = values.issuer === undefined ? '' : String(values.issuer);
  if (values.issuer !== undefined && !ISSUER.test(issuer)) {
    throw usage('--issuer takes the address of a provider, such as https://accounts.example.');
  }
  return { command, text: '', options: { names: positionals, store, issuer, minutes, days, json } };
}

/** @param {string} name @param {unknown} value @param {number} most @param {number} fallback @returns {number} */
function wholeNumber(name, value, most, fallback) {
  const number = value === undefined ? fallback : Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw usage(`--${name} takes a whole number from 1 to ${most}.`);
}

module.exports = { EXIT, readArguments, usage };
