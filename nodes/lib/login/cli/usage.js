'use strict';
// The command line of seganet-passwd.

const { readCommandLine, usageOf } = require('../../base/cli/command-line');
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

const NAMED = ['The file', 'The name'];
const PROGRAM = {
  name: 'seganet-passwd',
  help: HELP,
  commands: {
    add: { operands: NAMED, options: ['cost', 'password-file'] },
    delete: { operands: NAMED },
    list: { operands: ['The file'] },
    check: { operands: NAMED, options: ['password-file'] },
    token: { operands: NAMED, options: ['devices'] }
  },
  // A password.
  isSecret: true
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

const [least, most] = LIMITS.ln;

/** @param {string[]} args */
const readArguments = (args) =>
  readCommandLine(PROGRAM, args, (given, [file, name = '']) => ({
    file,
    name,
    cost: given.whole('cost', { least, most, initial: DEFAULT_COST.ln }),
    passwordFile: given.text('password-file') ?? '',
    passwordFd: -1,
    devices: given.text('devices') ?? ''
  }));

module.exports = { EXIT, readArguments, usage: usageOf(PROGRAM.name) };
