'use strict';
// The help and the options of a command with subcommands.

const { parseArgs } = require('node:util');
const { version } = require('../../../../package.json');

/** @typedef {{ says: string, more: string, options: string[] }} Command */
/**
 * @typedef {object} Manual
 * @property {string} name @property {string} purpose @property {Record<string, string>} options lines of help @property {string[]} flags options without a value
 * @property {Record<string, Command>} commands @property {string} exits @property {string} documents
 * @property {(message: string) => Error} usage makes the error for a wrong command line
 */
/**
 * values null: only print the text.
 * @typedef {{ command: string, text: string, values: Record<string, string | boolean | undefined> | null }} Read
 */

/** @param {Manual} manual */
const help = ({ name, purpose, options, commands, exits, documents }) => `${name} <command> [options]

${purpose}

commands
${Object.entries(commands)
  .map(([command, { says }]) => `  ${command.padEnd(8)}${says}`)
  .join('\n')}

options
${Object.values(options).join('\n')}

  --help, --version           ${name} <command> --help: help for one command

${exits}

What it does and why: ${documents} in the package.`;

/** @param {Manual} manual @param {string} command */
function helpOf({ name, options, commands, exits }, command) {
  const { says, more, options: names } = commands[command];
  return `${name} ${command} [options]: ${says}.
${more}

${names.map((option) => options[option]).join('\n')}

${exits}`;
}

/** @param {Manual} manual @param {string[]} args @param {string[]} names @returns {Record<string, string | boolean | undefined>} */
function parse({ flags, usage }, args, names) {
  const specs = names.map((name) => [name, { type: flags.includes(name) ? 'boolean' : 'string' }]);
  const options = /** @type {import('node:util').ParseArgsConfig['options']} */ (Object.fromEntries(specs));
  try {
    return /** @type {any} */ (parseArgs({ args, options, strict: true }).values);
  } catch (error) {
    throw usage(`${/** @type {Error} */ (error).message.split('. ')[0].replace(/\.$/, '')}.`);
  }
}

/** @param {Manual} manual @param {string[]} args of the command line @returns {Read} */
function readCommandLine(manual, args) {
  if (args.length === 0) throw manual.usage('The command is missing.');
  const [command, ...rest] = args;
  if (command === '--version') return { command, text: version, values: null };
  const isHelp = args.includes('--help') || args.includes('-h') || command === 'help';
  const topic = Object.keys(manual.commands).find(
    (name) => name === command || (command === 'help' && name === rest[0])
  );
  if (isHelp) return { command: 'help', text: topic ? helpOf(manual, topic) : help(manual), values: null };
  if (!topic) throw manual.usage(`There is no command '${command}'.`);
  return { command: topic, text: '', values: parse(manual, rest, manual.commands[topic].options) };
}

module.exports = { readCommandLine };
