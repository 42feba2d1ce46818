'use strict';
// The gateway's folder and its settings file, gateway.env: lines of NAME=value, as systemd and Node read them.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseEnv } = require('node:util');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { readRegular } = require('../../nodes/lib/base/files/regular-file');
const { page } = require('../../nodes/lib/base/texts/page');
const { ConfigError } = require('../launcher/config-error');
const { readEnvironment } = require('../launcher/environment');
const { VARIABLES } = require('../launcher/variables');
const { EXIT } = require('./usage');

const SETTINGS_FILE = 'gateway.env';

/**
 * @param {string} given --home, '' = not given
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {string} absolute
 */
function homeOf(given, env = process.env) {
  return path.resolve(given || env.SEGANET_HOME?.trim() || path.join(os.homedir(), '.seganet'));
}

/**
 * Returns why a gateway must not start in this folder, '' = it may. The folder of --home exists: a gateway that created
 * it would run its demo in the wrong place. The default folder, and that of SEGANET_HOME, are created at the first
 * start, as by npm start.
 * @param {string} given --home, '' = not given
 * @returns {string} a sentence
 */
function missingHome(given) {
  const home = homeOf(given);
  if (!given || !isMissing(home)) return '';
  return `${home} does not exist. Correct the name, or create it: seganet-gateway init --home ${home}`;
}

/** True if there is no such folder; false also if this user cannot see it. @param {string} folder */
function isMissing(folder) {
  try {
    fs.statSync(folder);
    return false;
  } catch (error) {
    return ['ENOENT', 'ENOTDIR'].includes(String(/** @type {NodeJS.ErrnoException} */ (error).code));
  }
}

/**
 * Returns the environment of a gateway in this folder: gateway.env, and over it the environment.
 * @param {string} home
 * @param {NodeJS.ProcessEnv} [env] of the process; not changed
 * @returns {NodeJS.ProcessEnv}
 * @throws {CliError} if the file cannot be read
 */
function environmentOf(home, env = process.env) {
  const file = path.join(home, SETTINGS_FILE);
  /** @type {NodeJS.ProcessEnv} */
  let settings = {};
  try {
    if (fs.existsSync(file)) settings = Object.assign({}, ...linesOf(file).map((line) => parseEnv(line)));
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new CliError(
      `${file} cannot be read: ${message}. Run the command as the gateway's user.`,
      EXIT.CANNOT
    );
  }
  // An empty variable counts as unset.
  const set = Object.entries(env).filter(([name, value]) => value?.trim() || !(name in settings));
  return { ...settings, ...Object.fromEntries(set), SEGANET_HOME: home };
}

/**
 * Returns the lines of gateway.env, which are parsed one by one: a quote that is not closed, or a blank value, would
 * take the next line for its own.
 * @param {string} file
 */
const linesOf = (file) =>
  readRegular(file)
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/);

/** A comment or an empty line. */
const NOTHING = /^\s*(#.*)?$/;
const ENCLOSE = 'Enclose the value in quotes that it does not contain: \', " or `';
const SETTING = /^\s*(?:export\s+)?[A-Za-z_]\w*\s*=(.*)$/;

/**
 * Returns why Node would ignore a line or a part of it silently, as the rest of a sentence.
 * @param {string} line
 * @returns {string} '' if it would not
 */
function problemOf(line) {
  if (NOTHING.test(line)) return '';
  const [, value] = SETTING.exec(line) ?? [];
  if (value === undefined) return 'is not NAME=value. Correct it, or make it a comment with #';
  const [, quote, more] = /^\s*(['"`])(.*)$/.exec(value) ?? [];
  if (quote) {
    const end = more.indexOf(quote);
    if (end < 0) return `has no second ${quote}. Close the value`;
    return NOTHING.test(more.slice(end + 1)) ? '' : `has more behind the second ${quote}. ${ENCLOSE}`;
  }
  const hash = value.indexOf('#');
  return hash < 0 || /\s/.test(value.charAt(hash - 1)) ? '' : `would end before the #. ${ENCLOSE}`;
}

/**
 * Returns the lines of gateway.env that set nothing or only a part of their value, and whether others can read it.
 * @param {string} home
 * @returns {{ problems: string[], notes: string[] }} sentences
 */
function settingsFileProblems(home) {
  const file = path.join(home, SETTINGS_FILE);
  if (!fs.existsSync(file)) return { problems: [], notes: [] };
  const wrong = linesOf(file).flatMap((line, i) => {
    const problem = problemOf(line);
    return problem ? [`Line ${i + 1} of ${file} ${problem}.`] : [];
  });
  const isOpen = (fs.statSync(file).mode & 0o077) !== 0;
  return {
    problems: wrong,
    notes: isOpen
      ? [`${file} is accessible to other users, and may contain passwords. Run "chmod 600 ${file}".`]
      : []
  };
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @returns {{ values: Record<string, string>, problems: string[] }} values: the defaults if there are problems
 */
function settingsOf(env) {
  try {
    return { values: readEnvironment(env), problems: [] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const values = Object.fromEntries(
      VARIABLES.map(({ name, initial }) => [name, env[name]?.trim() || initial()])
    );
    return { values, problems: error.message.split('\n') };
  }
}

/**
 * Returns the first content of gateway.env: every variable, commented out unless it is set here.
 * @param {Record<string, string>} [set]
 */
function settingsTemplate(set = {}) {
  const plain = (/** @type {string} */ markdown) => markdown.replaceAll('`', '');
  const blocks = VARIABLES.filter(({ name }) => name !== 'SEGANET_HOME').map(
    ({ name, help, values, shown, initial }) => {
      const lines = [`# ${plain(help)}`];
      if (values) lines.push(`# Values: ${plain(values)}`);
      if (shown) lines.push(`# Default: ${plain(shown)}`);
      // Quotes keep a # of a value.
      const value = set[name] ?? (shown ? '' : initial());
      lines.push(`${name in set ? '' : '#'}${name}=${/[\s#'"$]/.test(value) ? `'${value}'` : value}`);
      return lines.join('\n');
    }
  );
  return `# Settings of the gateway, read at its start. Remove the # of a line to set it.
# A variable that is set in the environment wins. What each one means:
# ${page('reference/configuration.md')}
# Enclose a value with $, # or spaces in single quotes.

${blocks.join('\n\n')}
`;
}

module.exports = {
  SETTINGS_FILE,
  environmentOf,
  homeOf,
  missingHome,
  settingsFileProblems,
  settingsOf,
  settingsTemplate
};
