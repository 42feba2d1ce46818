'use strict';
// The life of a demo that has a command of its own: its options, its ports, and its end, with Ctrl-C or when a part
// ends.

const { CliError } = require('../../../nodes/lib/base/cli/cli-error');
const { readOptions, usageOf } = require('../../../nodes/lib/base/cli/command-line');
const { SIGNALS, stopWithParent } = require('../../launcher/together');
const { isFree } = require('../gateway');

const EXIT = { OK: 0, CANNOT: 1, USAGE: 2 };
const MOST_PORT = 65535;

/** @param {string} text */
const print = (text) => process.stdout.write(`${text}\n`);

/** Prints a sentence with the time. @param {string} sentence */
const say = (sentence) => print(`${new Date().toTimeString().slice(0, 8)} ${sentence}`);

/**
 * Reads options that are whole numbers from 1.
 * @template {Record<string, { most?: number, fallback: number }>} Specs
 * @param {string[]} args
 * @param {Specs} specs by the name of the option; without `most`, it is a port, and all ports differ
 * @param {string} command such as npm run cloud --
 * @returns {{ [Name in keyof Specs]: number } | null} null: print the help
 * @throws {CliError}
 */
function readNumbers(args, specs, command) {
  const names = Object.keys(specs);
  const given = readOptions({ name: command, options: names }, args);
  if (!given) return null;
  const numbers = names.map((name) => {
    const { most = MOST_PORT, fallback } = specs[name];
    return given.whole(name, { most, initial: fallback });
  });
  const ports = names.filter((name) => specs[name].most === undefined);
  if (new Set(ports.map((name) => numbers[names.indexOf(name)])).size < ports.length) {
    const listed = ports.map((name) => `--${name}`);
    throw usageOf(command)(`${listed.slice(0, -1).join(', ')} and ${listed.at(-1)} must differ.`);
  }
  return /** @type {any} */ (Object.fromEntries(names.map((name, i) => [name, numbers[i]])));
}

/**
 * @param {Record<string, number>} ports by their options, such as --port
 * @throws {CliError}
 */
async function checkPorts(ports) {
  for (const [option, port] of Object.entries(ports)) {
    if (await isFree(port)) continue;
    throw new CliError(
      `Port ${port} is taken, perhaps by another gateway. End that program, or choose another port with ${option}.`,
      EXIT.CANNOT
    );
  }
}

/**
 * @typedef {object} Life
 * @property {(stop: () => unknown) => void} onEnd adds what must be done at the end, the last one first
 * @property {(error: Error) => void} fail ends the demo, because a part of it ended
 */

/**
 * Runs a demo until Ctrl-C, and ends this process.
 * @template Options
 * @param {object} demo
 * @param {(args: string[]) => Options | null} demo.readArguments null: print the help
 * @param {string} demo.help
 * @param {(options: Options, life: Life) => Promise<void>} demo.start starts all, and tells the user what there is
 */
async function runDemo({ readArguments, help, start }) {
  /** @type {(() => unknown)[]} */
  const endings = [];
  let isEnding = false;

  /** @param {number} code */
  async function end(code) {
    if (isEnding) return;
    isEnding = true;
    for (const ending of endings.reverse()) {
      try {
        await ending();
      } catch (error) {
        process.stderr.write(`${/** @type {Error} */ (error).message}\n`);
      }
    }
    process.exit(code);
  }

  /** @param {Error} error */
  function fail(error) {
    if (isEnding) return;
    process.stderr.write(`${error.message}\n`);
    end(error instanceof CliError ? error.exitCode : EXIT.CANNOT);
  }

  /** @param {() => unknown} ending */
  function onEnd(ending) {
    if (isEnding) ending();
    else endings.push(ending);
  }

  try {
    const options = readArguments(process.argv.slice(2));
    if (!options) return print(help);
    process.umask(0o077);
    stopWithParent();
    for (const signal of SIGNALS) process.on(signal, () => end(EXIT.OK));
    await start(options, { onEnd, fail });
  } catch (error) {
    fail(/** @type {Error} */ (error));
  }
}

module.exports = { EXIT, checkPorts, print, readNumbers, runDemo, say };
