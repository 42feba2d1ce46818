'use strict';
// Sends a notification as a mail, with nodemailer, which users who want mails install beside the gateway.

const { howToInstall } = require('../../base/texts/how-to-install');
const { isLoopback } = require('../../base/loopback');
const { Refused, TIMEOUT_MS } = require('./webhook');

/** @typedef {import('./notifier').Message} Message */
/** @typedef {{ to: string, from: string, smtp: string, user: string, password: string }} Mail */

const PACKAGE = 'nodemailer';
const VERSION = '10.6.1';

/**
 * @param {Mail} mail
 * @param {(name: string) => any} [load] for tests
 * @returns {any} a transport of nodemailer
 * @throws {Refused} if the package is missing
 */
function transportOf({ smtp, user, password }, load = require) {
  let nodemailer;
  try {
    nodemailer = load(PACKAGE);
  } catch {
    throw new Refused(`Mails need the package ${PACKAGE}: ${howToInstall(`${PACKAGE}@${VERSION}`)}.`);
  }
  const { protocol, hostname, port } = new URL(smtp);
  const secure = protocol === 'smtps:';
  const host = hostname.replace(/^\[|\]$/g, '');
  return nodemailer.createTransport({
    host,
    port: Number(port) || (secure ? 465 : 587),
    secure,
    // A password, and names of devices, stay off the network unless the server proves who it is.
    requireTLS: !secure && !isLoopback(host),
    ...(user && { auth: { user, pass: password } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true
  });
}

/**
 * @param {Mail} mail
 * @param {Message} message
 * @throws {Error} with a sentence; Refused: another attempt would fail, too
 */
async function send(mail, message) {
  const transport = transportOf(mail);
  try {
    await transport.sendMail({
      from: mail.from,
      to: mail.to,
      subject: `[${message.gateway}] ${message.sentence}`.replace(/\s+/g, ' ').slice(0, 200),
      text: textOf(message)
    });
  } catch (error) {
    throw explain(mail, error);
  } finally {
    transport.close();
  }
}

/** Connects and logs in, and sends nothing. @param {Mail} mail @throws {Error} with a sentence */
async function verify(mail) {
  const transport = transportOf(mail);
  try {
    await transport.verify();
  } catch (error) {
    throw explain(mail, error);
  } finally {
    transport.close();
  }
}

/** @param {Mail} mail @param {any} error of nodemailer */
function explain({ smtp }, { code = '', responseCode = 0, message }) {
  const { host } = new URL(smtp);
  const why = responseCode ? `answers ${responseCode}` : `cannot be used (${code || message})`;
  const sentence = `The mail server ${host} ${why}.`;
  // 5xx are permanent (RFC 5321, section 4.2.1), as is a login that is refused.
  return responseCode >= 500 || code === 'EAUTH' ? new Refused(sentence) : new Error(sentence);
}

/** @param {Message} message */
function textOf({ sentence, gateway, severity, kind, since, until, count }) {
  const time = (/** @type {number} */ at) => new Date(at).toISOString();
  return [
    sentence,
    '',
    `gateway: ${gateway}`,
    `severity: ${severity}`,
    `kind: ${kind}`,
    `since: ${time(since)}`,
    ...(until === null ? [] : [`until: ${time(until)}`]),
    `times: ${count}`,
    ''
  ].join('\n');
}

module.exports = { PACKAGE, VERSION, send, transportOf, verify };
