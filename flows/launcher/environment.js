'use strict';

// Reads and checks the gateway's configuration, which is in environment variables (variables.js).

const crypto = require('crypto');
const fs = require('fs');
const { isLoopback } = require('../../nodes/lib/base/loopback');
const {
  readNotifications,
  rows: notificationRows,
  secretRows
} = require('../../nodes/lib/settings/notifications');
const { exposureProblem } = require('../../nodes/lib/tenants/exposure');
const { ConfigError } = require('./config-error');
const { deviceProblems } = require('./device-problems');
const { passwordsOfTenant } = require('./front-guard');
const { presetOf, presetProblems } = require('./presets');
const { profileOf } = require('./profiles');
const { unknownNames } = require('./unknown-names');
const { VARIABLES } = require('./variables');

/** @typedef {Record<string, string>} Values */

/** Node-RED would look such a value up a second time. */
const REFERENCE = /^\$(\{[^}]+\}|\([^)]+\))$/;

/**
 * Checks of values that only make sense together.
 * @param {Values} values
 * @param {NodeJS.ProcessEnv} env
 * @returns {string[]}
 */
function problemsTogether(values, env) {
  return [
    ...editorProblems(values, passwordsOfTenant(env) !== ''),
    ...deviceProblems(values),
    ...certificateProblems(values),
    ...presetProblems(values),
    ...uplinkProblems(values),
    ...logProblems(values),
    ...notificationProblems(values),
    ...exposureProblems(values, env)
  ];
}

/** @param {Values} values @param {boolean} isTenant @returns {string[]} */
function editorProblems(values, isTenant) {
  const user = values.SEGANET_ADMIN_USER;
  const hash = values.SEGANET_ADMIN_PASSWORD_HASH;
  if (Boolean(user) !== Boolean(hash)) {
    return ['SEGANET_ADMIN_USER and SEGANET_ADMIN_PASSWORD_HASH belong together: set both or neither.'];
  }
  if (values.SEGANET_METRICS_TOKEN && !user) {
    return [
      'SEGANET_METRICS_TOKEN would protect nothing, because the editor has no password. Set SEGANET_ADMIN_USER and SEGANET_ADMIN_PASSWORD_HASH, or unset it.'
    ];
  }
  if (hash && !/^\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}$/.test(hash)) {
    return [
      'SEGANET_ADMIN_PASSWORD_HASH is not a bcrypt hash. Create one with "npx node-red admin hash-pw", and quote it, because it contains "$".'
    ];
  }
  // A tenant in a container answers only to its front.
  const isGuarded = isTenant || isLoopback(values.SEGANET_EDITOR_HOST);
  if (values.SEGANET_EDITOR_PORT !== 'off' && !isGuarded && !user) {
    return [
      `SEGANET_EDITOR_HOST ${values.SEGANET_EDITOR_HOST} would open the editor to the network without a password, and any client that ` +
        'reaches the editor can run any program here. Set SEGANET_ADMIN_USER and SEGANET_ADMIN_PASSWORD_HASH, or ' +
        'leave it on 127.0.0.1 and reach it through "ssh -L 1880:127.0.0.1:1880".'
    ];
  }
  return statusProblems(values);
}

/** @param {Values} values @returns {string[]} */
function statusProblems({ SEGANET_STATUS_PORT: port, SEGANET_STATUS_HOST: host, ...values }) {
  if (port === 'off') return [];
  if (values.SEGANET_EDITOR_PORT === 'off') {
    return [
      "SEGANET_STATUS_PORT needs the editor's HTTP server, which checks the login, but SEGANET_EDITOR_PORT is off. Set a port for the editor; it may stay on 127.0.0.1."
    ];
  }
  if (!isLoopback(host) && !values.SEGANET_ADMIN_USER) {
    return [
      `SEGANET_STATUS_HOST ${host} would open the status page to the network without a password. Set SEGANET_ADMIN_USER and SEGANET_ADMIN_PASSWORD_HASH, or leave it on 127.0.0.1.`
    ];
  }
  return [];
}

/**
 * Addresses where tenants in containers would find a port.
 * @param {Values} values
 * @param {NodeJS.ProcessEnv} env
 * @returns {string[]}
 */
function exposureProblems(values, { SEGANET_TENANTS_SUBNETS }) {
  const names = [
    'SEGANET_DEVICE_HOST',
    ...(values.SEGANET_EDITOR_PORT === 'off' ? [] : ['SEGANET_EDITOR_HOST']),
    ...(values.SEGANET_STATUS_PORT === 'off' ? [] : ['SEGANET_STATUS_HOST'])
  ];
  return names.flatMap((name) => {
    const problem = exposureProblem(values[name], { env: { ...values, SEGANET_TENANTS_SUBNETS } });
    return problem ? [`${name}: ${problem}`] : [];
  });
}

/** @param {Values} values @returns {string[]} */
function uplinkProblems({ SEGANET_BATCH_FORMAT: format, SEGANET_SPARKPLUG_GROUP: group }) {
  if (format !== 'sparkplug' || group) return [];
  return ['SEGANET_BATCH_FORMAT sparkplug needs a group id of Sparkplug. Set SEGANET_SPARKPLUG_GROUP.'];
}

/** @param {Values} values @returns {string[]} */
function notificationProblems(values) {
  const rows = Object.entries({ ...notificationRows, ...secretRows });
  const config = Object.fromEntries(rows.map(([name, { variable }]) => [name, values[variable]]));
  const { problem } = readNotifications(config, config, {});
  return problem ? [problem] : [];
}

/** @param {Values} values @returns {string[]} */
function logProblems({ SEGANET_LOG_DIR: folder }) {
  try {
    if (!folder || fs.statSync(folder).isDirectory()) return [];
  } catch (error) {
    // It may not exist yet. Other errors are those of the log.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOTDIR') return [];
  }
  return [`SEGANET_LOG_DIR names ${folder}, which is no folder. Set a folder; it may not exist yet.`];
}

/** @param {Values} values @returns {string[]} */
function certificateProblems(values) {
  const { SEGANET_UPLINK_CA: ca, SEGANET_UPLINK_CERT: cert, SEGANET_UPLINK_KEY: key } = values;
  if (Boolean(cert) !== Boolean(key)) {
    return ['SEGANET_UPLINK_CERT and SEGANET_UPLINK_KEY belong together: set both or neither.'];
  }
  const problems = [
    ca && certificateProblem('SEGANET_UPLINK_CA', ca),
    cert && certificateProblem('SEGANET_UPLINK_CERT', cert)
  ];
  if (cert && !problems[1]) {
    try {
      const own = new crypto.X509Certificate(fs.readFileSync(cert));
      if (!own.checkPrivateKey(crypto.createPrivateKey(fs.readFileSync(key)))) {
        problems.push(
          'SEGANET_UPLINK_KEY is not the key of the certificate in SEGANET_UPLINK_CERT. Set both to files of the same pair.'
        );
      }
    } catch {
      problems.push(
        `SEGANET_UPLINK_KEY names ${key}, which is not an unencrypted PEM key. Remove its passphrase or set another file.`
      );
    }
  }
  return problems.filter((problem) => problem !== '' && problem !== undefined);
}

/** @param {string} name @param {string} file @returns {string} */
function certificateProblem(name, file) {
  try {
    new crypto.X509Certificate(fs.readFileSync(file));
    return '';
  } catch {
    return `${name} names ${file}, which contains no PEM certificate (-----BEGIN CERTIFICATE-----). Set another file.`;
  }
}

/**
 * The values of all variables: what is set, else the default of the preset or of the profile. An empty value counts as
 * not set, except where the variable says otherwise.
 * @param {NodeJS.ProcessEnv} env
 * @returns {Values}
 * @throws {ConfigError} with one sentence for every variable that cannot be used
 */
function readEnvironment(env) {
  /** @type {Values} */
  const values = {};
  /** @type {string[]} */
  const problems = unknownNames(
    env,
    VARIABLES.map(({ name }) => name)
  );
  const defaults = {
    ...profileOf((env.SEGANET_PROFILE ?? '').trim()).variables,
    ...presetOf(env.SEGANET_PRESET).variables
  };
  for (const { name, initial: usual, check, ifEmpty } of VARIABLES) {
    const set = env[name];
    const initial = () => defaults[name] ?? usual();
    try {
      if (set !== undefined && set.trim() === '') {
        if (ifEmpty) throw new Error(ifEmpty);
        values[name] = initial();
      } else if (set !== undefined && REFERENCE.test(set.trim())) {
        throw new Error(
          'contains a reference to another variable that was not expanded; write the value itself'
        );
      } else values[name] = set === undefined ? initial() : check(set);
    } catch (error) {
      problems.push(`${name} ${/** @type {Error} */ (error).message}.`);
      values[name] = initial();
    }
  }
  if (problems.length === 0) problems.push(...problemsTogether(values, env));
  if (problems.length > 0) throw new ConfigError(problems);
  return values;
}

/** Checks the environment and writes the defaults into it, so that every `${SEGANET_…}` of the flow resolves. */
function applyEnvironment(env = process.env) {
  const values = readEnvironment(env);
  for (const { name, ifEmpty } of VARIABLES) {
    // What must not be empty stays unset: it is read again by settings.js.
    if (values[name] || !ifEmpty) env[name] = values[name];
  }
  return values;
}

/** The table for `--help`. */
function helpTable() {
  const plain = (/** @type {string} */ markdown) => markdown.replaceAll('`', '');
  const shown = VARIABLES.map((variable) => plain(variable.shown ?? (variable.initial() || 'none')));
  const names = Math.max(...VARIABLES.map(({ name }) => name.length));
  const defaults = Math.max(...shown.map((each) => each.length));
  return VARIABLES.map(
    ({ name, help }, i) => `  ${name.padEnd(names)}  ${shown[i].padEnd(defaults)}  ${plain(help)}`
  ).join('\n');
}

module.exports = { VARIABLES, readEnvironment, applyEnvironment, helpTable };
