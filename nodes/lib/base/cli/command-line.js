'use strict';
// The command line of a program: its commands and options, its help, and what is wrong with the arguments that a user
// gave.

const { parseArgs } = require('node:util');
const { version } = require('../../../../package.json');
const { meant } = require('../texts/meant');
const { page } = require('../texts/page');
const { CliError } = require('./cli-error');

/** Exit code after a wrong command line. */
const USAGE = 2;
/** Of a misspelled command. */
const MOST_EDITS = 2;

/** @typedef {(message: string) => CliError} Usage makes the error for a wrong command line */
/** @typedef {import('node:util').ParseArgsConfig['options']} OptionSpecs */
/**
 * @typedef {object} Command
 * @property {string[]} [options] their names
 * @property {string[]} [operands] their names in the help and in errors, such as FILE; [FILE] may be missing, and
 *   after a last [NAME...] any number may follow
 * @property {string} [says] with this, the command has a help text of its own
 * @property {string} [more]
 *
 * @typedef {object} Options what a program without commands has
 * @property {string} name as a user enters it, such as npm run cloud --
 * @property {string[]} options their names
 * @property {string[]} [repeated] options that can be given several times
 *
 * @typedef {object} Program
 * @property {string} name
 * @property {Record<string, Command>} commands
 * @property {string[]} [flags] options without a value
 * @property {boolean} [isSecret] an argument may be a secret: no error repeats it
 * @property {string | Manual} help the text, or what it is made of
 *
 * @typedef {object} Manual
 * @property {string} purpose
 * @property {Record<string, string>} options lines of help, by the name of the option
 * @property {string} exits
 * @property {string[]} documents pages of the documentation
 */

/** @param {string} name of a program, or of a command of it @returns {Usage} */
const usageOf = (name) => (message) => new CliError(`${message} See ${name} --help.`, USAGE);

/** The options that a user gave. */
class Given {
  #values;
  #usage;

  /** @param {Record<string, unknown>} values @param {Usage} usage */
  constructor(values, usage) {
    this.#values = values;
    this.#usage = usage;
  }

  /** @param {string} name @returns {string | undefined} */
  text(name) {
    return /** @type {string | undefined} */ (this.#values[name]);
  }

  /** @param {string} name of an option that can be given several times @returns {string[]} */
  all(name) {
    return /** @type {string[] | undefined} */ (this.#values[name]) ?? [];
  }

  /** @param {string} name */
  flag(name) {
    return this.#values[name] === true;
  }

  /** @param {string} name @returns {string | undefined} never empty */
  folder(name) {
    const given = this.text(name);
    if (given === '' || given?.includes('\0')) throw this.#usage(`--${name} takes a folder.`);
    return given;
  }

  /** @param {string} name @param {{ least?: number, most: number, initial: number }} limits @returns {number} */
  whole(name, { least = 1, most, initial }) {
    const text = this.text(name) ?? String(initial);
    const number = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (number >= least && number <= most) return number;
    throw this.#usage(`--${name} takes a whole number from ${least} to ${most}.`);
  }
}

/** @param {Program} program @param {Manual} manual */
const help = ({ name, commands }, { purpose, options, exits, documents }) => `${name} <command> [options]

${purpose}

commands
${commandLines(commands).join('\n')}

options
${Object.values(options).join('\n')}

  --help, --version           ${name} <command> --help: help for one command

${exits}

What it does and why:
${documents.map((each) => `  ${page(each)}`).join('\n')}`;

/** @param {Record<string, Command>} commands @returns {string[]} */
function commandLines(commands) {
  const rows = Object.entries(commands).map(([command, { says, operands = [] }]) => ({
    head: [command, ...operands.filter((each) => !each.endsWith('...]'))].join(' '),
    says
  }));
  const width = Math.max(8, ...rows.map(({ head }) => head.length + 2));
  return rows.map(({ head, says }) => `  ${head.padEnd(width)}${says}`);
}

/** @param {Program} program @param {Manual} manual @param {string} command */
function helpOf({ name, commands }, { options, exits }, command) {
  const { says, more, options: names = [], operands = [] } = commands[command];
  return `${[name, command, '[options]', ...operands].join(' ')}: ${says}.
${more}

${names.map((option) => options[option]).join('\n')}

${exits}`;
}

/**
 * Parses options. Throws the error of `usage` for an unknown or incomplete option.
 * @param {string[]} args
 * @param {OptionSpecs} options
 * @param {Usage} usage
 * @param {boolean} [allowPositionals]
 * @returns {{ values: Record<string, any>, positionals: string[] }}
 */
function parseOptions(args, options, usage, allowPositionals = false) {
  try {
    return /** @type {any} */ (parseArgs({ args, options, allowPositionals, strict: true }));
  } catch (error) {
    throw usage(`${/** @type {Error} */ (error).message.split('. ')[0].replace(/\.$/, '')}.`);
  }
}

/**
 * @param {Command} command
 * @param {string[]} given
 * @param {boolean} isSecret
 * @param {Usage} usage
 */
function checkOperands({ operands = [] }, given, isSecret, usage) {
  const missing = operands[given.length];
  if (missing !== undefined && !missing.startsWith('[')) throw usage(`${missing} is missing.`);
  if (given.length <= operands.length || operands.at(-1)?.endsWith('...]')) return;
  throw usage(`${isSecret ? 'There' : `'${given[operands.length]}'`} is one argument too many.`);
}

/**
 * Reads the command line of a program with commands.
 * @template Input
 * @param {Program} program
 * @param {string[]} args
 * @param {(given: Given, operands: string[], command: string) => Input} toInput
 * @returns {{ command: string, text: string, options: Input | null }} options null: only print the text
 */
function readCommandLine(program, args, toInput) {
  const { name, commands, flags = [], isSecret = false, help: manual } = program;
  const usage = usageOf(name);
  if (args.length === 0) throw usage('The command is missing.');
  const [command, ...rest] = args;
  if (command === '--version') return { command, text: version, options: null };
  if (args.includes('--help') || args.includes('-h') || command === 'help') {
    if (typeof manual === 'string') return { command: 'help', text: manual, options: null };
    const topic = command === 'help' ? (rest[0] ?? '') : command;
    const text = Object.hasOwn(commands, topic) ? helpOf(program, manual, topic) : help(program, manual);
    return { command: 'help', text, options: null };
  }
  if (!Object.hasOwn(commands, command))
    throw usage(`There is no command '${command}'.${meant(command, Object.keys(commands), MOST_EDITS)}`);
  const names = commands[command].options ?? [];
  const specs = names.map((each) => [each, { type: flags.includes(each) ? 'boolean' : 'string' }]);
  const { values, positionals } = parseOptions(rest, Object.fromEntries(specs), usage, true);
  checkOperands(commands[command], positionals, isSecret, usage);
  return { command, text: '', options: toInput(new Given(values, usage), positionals, command) };
}

/**
 * Reads the command line of a program without commands and flags.
 * @param {Options} program
 * @param {string[]} args
 * @returns {Given | null} null: print the help
 */
function readOptions({ name, options, repeated = [] }, args) {
  const usage = usageOf(name);
  const specs = options.map((each) => [each, { type: 'string', multiple: repeated.includes(each) }]);
  /** @type {OptionSpecs} */
  const known = { help: { type: 'boolean', short: 'h' }, ...Object.fromEntries(specs) };
  const { values } = parseOptions(args, known, usage);
  return values.help ? null : new Given(values, usage);
}

module.exports = {
  MOST_EDITS,
  parseOptions,
  readCommandLine,
  readOptions,
  usageOf
};
