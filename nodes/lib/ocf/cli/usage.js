'use strict';
// The command line of seganet-accounts.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { readCommandLine, usageOf } = require('../../base/cli/command-line');
const { page } = require('../../base/texts/page');
const { MOST_MINUTES } = require('../cloud/access-codes');
const { isPostgresUrl } = require('../../postgres/url');
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

const PROGRAM = {
  name: 'seganet-accounts',
  help: HELP,
  commands: {
    code: { operands: ['USER'], options: ['store', 'issuer', 'minutes'] },
    token: { operands: ['USER'], options: ['store', 'issuer', 'days'] },
    tokens: { operands: ['[USER]'], options: ['store', 'issuer', 'json'] },
    revoke: { operands: ['ID'], options: ['store'] },
    users: { options: ['store', 'json'] },
    devices: { operands: ['[USER]'], options: ['store', 'issuer', 'json'] },
    share: { operands: ['DEVICE', 'USER', 'RIGHTS'], options: ['store', 'issuer'] },
    groups: { operands: ['[USER]'], options: ['store', 'issuer', 'json'] },
    group: {
      operands: ['create, add, remove, share or delete', 'GROUP or USER', '[DEVICE]', '[RIGHTS]'],
      options: ['store', 'issuer']
    },
    delete: { operands: ['DEVICE or USER'], options: ['store', 'issuer'] }
  },
  flags: ['json']
};
const ISSUER = /^https?:\/\/[^\s?#@]{1,1000}$/;

/** @typedef {{ names: string[], store: string, issuer: string, minutes: number, days: number, json: boolean }} Input issuer: '' = none */

const usage = usageOf(PROGRAM.name);

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

/** @param {string[]} args */
const readArguments = (args) =>
  readCommandLine(PROGRAM, args, (given, names) => {
    const minutes = given.whole('minutes', { most: MOST_MINUTES, initial: DEFAULT_MINUTES });
    const days = given.whole('days', { most: MOST_DAYS, initial: DEFAULT_DAYS });
    const place = given.text('store') ?? defaultStore();
    const store = isPostgresUrl(place) ? place : path.resolve(place);
    const issuer = given.text('issuer');
    if (issuer !== undefined && !ISSUER.test(issuer)) {
      throw usage('--issuer takes the address of a provider, such as https://accounts.example.');
    }
    return { names, store, issuer: issuer ?? '', minutes, days, json: given.flag('json') };
  });

module.exports = { EXIT, readArguments, usage };
