'use strict';
// Settings of an engine node for its events: which devices count, and who is notified.

const { KINDS, LANGUAGES, SEVERITIES } = require('../events/kinds');
const { asText } = require('../base/values');
const { parseOptions } = require('../base/options');
const { isLoopback } = require('../base/loopback');
const { schemaOf } = require('./rows');

/** Globs in the setting. */
const MAX_GLOBS = 100;
const ADDRESS = /^[^\s@,<>]+@[^\s@,<>]+$/;

const rows = /** @type {const} */ ({
  watchDevices: {
    type: 'text',
    default: '*',
    pattern: /^[^\0]{1,4096}$/,
    shape: 'globs of device ids, separated by commas, or off',
    variable: 'SEGANET_WATCH_DEVICES',
    help: 'Devices whose silence is an event: globs of device ids, separated by commas, or `off`.'
  },
  notifyUrl: {
    type: 'text',
    default: '',
    pattern: /^https?:\/\/[^\s/]\S*$/,
    shape: 'an address such as https://example.org/hook',
    variable: 'SEGANET_NOTIFY_URL',
    help: 'Address that gets each notification by POST, as JSON.'
  },
  notifyMailTo: {
    type: 'text',
    default: '',
    pattern: /^[^\s@,<>]+@[^\s@,<>]+(\s*,\s*[^\s@,<>]+@[^\s@,<>]+){0,19}$/,
    shape: '1 to 20 mail addresses, separated by commas',
    variable: 'SEGANET_NOTIFY_MAIL_TO',
    help: 'Mail addresses that get the notifications. Needs the package `nodemailer`.'
  },
  notifyMailFrom: {
    type: 'text',
    default: '',
    pattern: ADDRESS,
    shape: 'a mail address',
    variable: 'SEGANET_NOTIFY_MAIL_FROM',
    help: 'Sender of the mails.'
  },
  notifySmtp: {
    type: 'text',
    default: '',
    pattern: /^smtps?:\/\/[^\s/@]+\/?$/,
    shape: 'smtp://HOST:PORT or smtps://HOST:PORT',
    variable: 'SEGANET_NOTIFY_SMTP',
    help: 'Mail server: `smtp://HOST:587` with STARTTLS, or `smtps://HOST:465`.'
  },
  notifySeverity: {
    type: 'choice',
    values: SEVERITIES,
    default: 'warning',
    variable: 'SEGANET_NOTIFY_SEVERITY',
    help: 'Least severity of an event that is notified.'
  },
  notifyKinds: {
    type: 'text',
    default: '',
    pattern: new RegExp(`^(${Object.keys(KINDS).join('|')})(\\s*,\\s*(${Object.keys(KINDS).join('|')}))*$`),
    shape: `kinds of events, separated by commas: ${Object.keys(KINDS).join(', ')}`,
    variable: 'SEGANET_NOTIFY_KINDS',
    shown: 'all',
    help: `Kinds of events that are notified: ${Object.keys(KINDS)
      .map((kind) => `\`${kind}\``)
      .join(', ')}.`
  },
  notifyQuietS: {
    type: 'integer',
    min: 0,
    max: 86400,
    default: 300,
    unit: 's',
    variable: 'SEGANET_NOTIFY_QUIET_S',
    help: 'Time in which an event of the same kind and subject is not notified again.'
  },
  notifyEnded: {
    type: 'choice',
    values: ['yes', 'no'],
    default: 'yes',
    variable: 'SEGANET_NOTIFY_ENDED',
    help: 'Also notifies the end of an event.'
  },
  notifyLanguage: {
    type: 'choice',
    values: LANGUAGES,
    default: 'en-US',
    variable: 'SEGANET_NOTIFY_LANGUAGE',
    help: 'Language of the notifications.'
  }
});

/** Secrets, which are credentials of the node, or variables. */
const secretRows = /** @type {const} */ ({
  notifySecret: {
    type: 'secret',
    form: 'text',
    variable: 'SEGANET_NOTIFY_SECRET',
    help: 'Sent to `SEGANET_NOTIFY_URL` as `Authorization: Bearer SECRET`.'
  },
  notifySmtpUser: {
    type: 'text',
    form: 'text',
    default: '',
    variable: 'SEGANET_NOTIFY_SMTP_USERNAME',
    help: 'User name for the mail server.'
  },
  notifySmtpPassword: {
    type: 'secret',
    form: 'text',
    variable: 'SEGANET_NOTIFY_SMTP_PASSWORD',
    help: 'Password for the mail server.'
  }
});

const schema = schemaOf(rows);

/**
 * @typedef {object} Notifications
 * @property {string} url '' = no webhook
 * @property {string} secret
 * @property {{ to: string, from: string, smtp: string, user: string, password: string } | null} mail null = none
 * @property {import('../events/kinds').Severity} severity
 * @property {string[]} kinds [] = all
 * @property {number} quietMs
 * @property {boolean} ended
 * @property {typeof LANGUAGES[number]} language
 */

/** @param {unknown} value @returns {string[]} */
const listOf = (value) =>
  asText(value)
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);

/** @param {string} value @returns {string[]} globs */
function globsOf(value) {
  const globs = listOf(value);
  if (globs.length > MAX_GLOBS)
    throw new RangeError(`"watchDevices" has more than ${MAX_GLOBS} globs. Combine some with *.`);
  return globs.length === 1 && globs[0] === 'off' ? [] : globs;
}

/**
 * @param {{ [K in keyof typeof rows]: any }} values of the schema
 * @param {Record<string, string | undefined>} secrets of secretRows
 * @returns {Notifications | null} null = nobody is notified
 * @throws {RangeError} with a sentence, for settings that do not fit together
 */
function notificationsOf(values, secrets) {
  const { notifyUrl: url, notifyMailTo: to, notifyMailFrom: from, notifySmtp: smtp } = values;
  const { notifySecret: secret = '', notifySmtpUser: user = '', notifySmtpPassword: password = '' } = secrets;
  if (!url && !to) return null;
  if (url && !URL.canParse(url)) throw new RangeError(`The address of the webhook is not valid. Correct it.`);
  if (to && !(from && smtp))
    throw new RangeError(
      'Mails need a sender and a mail server (SEGANET_NOTIFY_MAIL_FROM, SEGANET_NOTIFY_SMTP). Set both.'
    );
  if (secret && url.startsWith('http:') && !isLoopback(new URL(url).hostname))
    throw new RangeError('The secret of the webhook would be sent unencrypted. Use an https: address.');
  return {
    url,
    secret,
    mail: to ? { to: listOf(to).join(', '), from, smtp, user, password } : null,
    severity: values.notifySeverity,
    kinds: listOf(values.notifyKinds),
    quietMs: values.notifyQuietS * 1000,
    ended: values.notifyEnded === 'yes',
    language: values.notifyLanguage
  };
}

/**
 * A wrong setting here must not keep an engine from carrying records, so it is a sentence.
 * @param {object} config of the engine node
 * @param {Record<string, string | undefined>} [credentials] of it; the variables of the secrets replace missing ones
 * @param {NodeJS.ProcessEnv} [env]
 * @returns {{ watchDevices: string[], notifications: Notifications | null,
 *   problem: string }} problem: '' = none
 */
function readNotifications(config, credentials = {}, env = process.env) {
  const secrets = Object.entries(secretRows).map(([name, { variable }]) => [
    name,
    credentials[name] || env[variable]
  ]);
  const { values, problems } = parseOptions(config, schema);
  try {
    if (problems.length > 0) throw new RangeError(problems.join(' '));
    const watchDevices = globsOf(values.watchDevices);
    return { watchDevices, notifications: notificationsOf(values, Object.fromEntries(secrets)), problem: '' };
  } catch (error) {
    return { watchDevices: ['*'], notifications: null, problem: /** @type {Error} */ (error).message };
  }
}

module.exports = { readNotifications, rows, secretRows };
