'use strict';
// The command line of seganet-passwd.

const { CliError } = require('../../base/cli/cli-error');
const { parseOptions, readCommand } = require('../../base/cli/usage');
const { DEFAULT_COST, LIMITS } = require('../password-hash');

const EXIT = { OK: 0, NO: 1, USAGE: 2, CANNOT: 3 };

const HELP = `seganet-passwd <command> [options] <file> [<name>]

Maintains the file of users and passwords that devices use to log in to a SegaNet gateway. The gateway reads the file
again when it changes. Passwords are stored as scrypt hashes.

commands
  add FILE USER      adds a user or changes its password; creates the file (mode 600) if there is none
                       --cost N          each step doubles the cost of a guess and of a login: ${LIMITS.ln.join(' to ')}, default ${DEFAULT_COST.ln}
  delete FILE NAME   deletes a user, or a token with all its lines
  list FILE          lists the users, or the tokens and their devices, and the invalid lines
  check FILE USER    checks a user's password
  token FILE NAME    creates a token for devices that post over HTTP, shows it once, and stores its SHA-256; the previous
                     token of NAME becomes invalid
                       --devices GLOB    devices that the token may send records for, such as pump-*; default: those of
                                         the previous token, else NAME

  The command prompts for the password and does not echo it. Without a terminal, it reads the password from standard input,
  up to the first line break; --password-file PATH reads it from a file. There is no option for the password itself, because
  other users would see it in ps.

  --help, --version

exit codes
  0  done; the password is right      1  the password is wrong, there is no such user, or a line is invalid
  2  wrong usage                      3  the file cannot be read or written`;

/** @type {Record<string, { names: number, options: NonNullable<import('node:util').ParseArgsConfig['options']> }>} */
const SPECS = {
  add: { names: 1, options: { cost: { type: 'string' }, 'password-file': { type: 'string' } } },
  delete: { names: 1, options: {} },
  list: { names: 0, options: {} },
  check: { names: 1, options: { 'password-file': { type: 'string' } } },
  token: { names: 1, options: { devices: { type: 'string' } } }
};

/**
 * @typedef {object} Input
 * @property {string} file
 * @property {string} name
 * @property {number} cost
 * @property {string} passwordFile
 * @property {number} passwordFd descriptor of it, -1 = none
 * @property {string} devices
 */

/** @param {string} message */
const usage = (message) => new CliError(`${message} See seganet-passwd --help.`, EXIT.USAGE);

/**
 * @param {string[]} args
 * @returns {{ command: string, text: string, options: Input | null }} options null: only print the text
 */
function readArguments(args) {
  const { command, rest, text: shown } = readCommand(args, { help: HELP, commands: SPECS, usage });
  if (shown !== '') return { command, text: shown, options: null };
  const { names, options } = SPECS[command];
  const { values, positionals } = parseOptions(rest, options, usage, true);
  if (positionals.length === 0) throw usage('The file is missing.');
  if (positionals.length <= names) throw usage('The name is missing.');
  // The message does not repeat the argument, which may be a password.
  if (positionals.length > names + 1) throw usage('There is one argument too many.');
  const [file, name = ''] = positionals;
  const text = (/** @type {string} */ option) => String(values[option] ?? '');
  const cost = values.cost === undefined ? DEFAULT_COST.ln : Number(values.cost);
  const [least, most] = LIMITS.ln;
  if (!Number.isInteger(cost) || cost < least || cost > most) {
    throw usage(`--cost takes a whole number from ${least} to ${most}.`);
  }
  const input = {
    file,
    name,
    cost,
    passwordFile: text('password-file'),
    passwordFd: -1,
    devices: text('devices')
  };
  return { command, text: '', options: input };
}

module.exports = { EXIT, readArguments, usage };
