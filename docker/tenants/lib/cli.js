'use strict';
// The command line: finds the command, checks its options, prints help and errors.

const { CliError, EXIT, messageOf } = require('./base/errors');
const { homeOf } = require('./base/home');
const { MOST_EDITS, parseOptions, usageOf } = require('../../../nodes/lib/base/cli/command-line');
const { meant } = require('../../../nodes/lib/base/texts/meant');
const { page } = require('../../../nodes/lib/base/texts/page');
const { commands, operandsOf } = require('./commands');
const { driversOf } = require('./drivers');

/** @typedef {import('./commands').Command} Command */
/** @typedef {import('./commands').Option} Option */
/** @typedef {{ out: (text: string) => void, err: (text: string) => void, version: string }} Surroundings */

const PROGRAM = 'seganet-tenants';
const WIDTH = 22;
/** @type {Record<string, Option>} */
const COMMON = {
  json: { type: 'boolean', help: 'print one JSON object' },
  help: { type: 'boolean', short: 'h', help: '' }
};
const EXITS = `exit codes
  0  done                      1  not possible, or not done
  2  wrong usage               78 the tenants file or a variable is wrong`;

const wrong = usageOf(PROGRAM);

/** @param {Command[]} all */
function helpOfAll(all) {
  const rows = all.map(({ name, usage, summary }) => {
    const operands = usage.includes('\n')
      ? []
      : usage.split(' ').filter((word) => /^\[?[A-Z]+\]?$/.test(word));
    return `  ${[name, ...operands].join(' ').padEnd(WIDTH)}${summary}`;
  });
  return `${PROGRAM} <command> [options]

Keeps the tenants of a SegaNet gateway: programs that run only while they are needed, each with its own data and limits.

commands
${rows.join('\n')}

options
  ${'--json'.padEnd(WIDTH)}${COMMON.json.help}

  --help, --version           ${PROGRAM} <command> --help: help for one command

variables
  SEGANET_HOME              the gateway's folder; default ~/.seganet
  SEGANET_TENANTS           the tenants file; default tenants/tenants.json in SEGANET_HOME
  SEGANET_TENANTS_SOCKET    socket of the keeper; default tenants/keeper.sock in SEGANET_HOME
  SEGANET_TENANTS_ENGINE    driver of new tenants: process, docker, podman, kubernetes, or auto (default)

${EXITS}

What it does and why:
  ${page('use/tenants-keeper.md')}`;
}

/** @param {Command} command */
function helpOf({ name, summary, more, usage, options }) {
  if (usage.includes('\n')) return `${PROGRAM} ${name}: ${summary}.\n\n${usage}\n\n${EXITS}`;
  const rows = Object.entries(options).map(([option, { value, help = '' }]) => {
    const head = `--${option}${value ? ` ${value}` : ''}`;
    return `  ${head.padEnd(WIDTH)}${head.length >= WIDTH ? ' ' : ''}${help}`;
  });
  return `${[PROGRAM, name, usage].filter(Boolean).join(' ')}: ${summary}.${more ? `\n\n${more}` : ''}

options
${[...rows, `  ${'--json'.padEnd(WIDTH)}${COMMON.json.help}`].join('\n')}

${EXITS}`;
}

/** @param {Command} command @param {string[]} args */
function parse(command, args) {
  const { name, options } = command;
  const usageOfCommand = usageOf(`${PROGRAM} ${name}`);
  const { values, positionals: operands } = parseOptions(
    args,
    { ...COMMON, ...options },
    usageOfCommand,
    true
  );
  if (values.help) return { values, operands: [] };
  const [least, most] = operandsOf(command);
  if (operands.length < least) throw usageOfCommand(`An operand is missing: ${name} ${command.usage}.`);
  if (operands.length > most)
    throw usageOfCommand(`'${operands[most].slice(0, 64)}' is one operand too many.`);
  return { values, operands };
}

/**
 * Runs the command.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} exit code
 */
async function main(args, env, { out, err, version }) {
  let close = () => {};
  try {
    const all = commands();
    const [word, ...rest] = args;
    if (word === undefined) throw wrong('The command is missing.');
    if (word === '--version') return print(out, version);
    const wanted = word === 'help' ? rest[0] : word;
    if (wanted === undefined || wanted === '--help' || wanted === '-h') return print(out, helpOfAll(all));
    const command = all.find(({ name }) => name === wanted);
    if (!command) {
      const names = all.map(({ name }) => name);
      throw wrong(`There is no command '${wanted.slice(0, 64)}'.${meant(wanted, names, MOST_EDITS)}`);
    }
    const { values, operands } =
      word === 'help' ? { values: { help: true }, operands: [] } : parse(command, rest);
    if (values.help) return print(out, helpOf(command));
    const home = homeOf(env);
    const drivers = driversOf({ home, env });
    close = drivers.close;
    const line = (/** @type {string} */ text) => out(`${text}\n`);
    const note = (/** @type {string} */ text) => err(`${text}\n`);
    const code = await command.run({
      values,
      operands,
      env,
      home,
      isJson: Boolean(values.json),
      print: line,
      note,
      driver: drivers.get
    });
    return code ?? EXIT.OK;
  } catch (error) {
    err(`${PROGRAM}: ${messageOf(error)}\n`);
    return error instanceof CliError ? error.exitCode : EXIT.CANNOT;
  } finally {
    close();
  }
}

/** @param {(text: string) => void} out @param {string} text */
function print(out, text) {
  out(`${text}\n`);
  return EXIT.OK;
}

module.exports = { main };
