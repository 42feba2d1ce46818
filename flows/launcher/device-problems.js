'use strict';

// Checks settings of the device listener that depend on each other.

const fs = require('fs');
const { TlsSecrets } = require('../../nodes/lib/tls/tls-secrets');
const { listenerRows } = require('../../nodes/lib/settings/listener-settings');
const { parsePasswords } = require('../../nodes/lib/login/password-file');
const { isLoopback } = require('../../nodes/lib/base/loopback');

/** @typedef {Record<string, string>} Values */

/** @param {Values} values @returns {string[]} */
function deviceProblems(values) {
  const problems = [...openProblems(values), ...tlsProblems(values), ...loginProblems(values)];
  return problems.length > 0 ? problems : fileProblems(values);
}

/** @param {Values} values @returns {string[]} */
function openProblems({
  SEGANET_DEVICE_HOST: host,
  SEGANET_DEVICE_LOGIN: login,
  SEGANET_DEVICE_CLIENT_CERT: certificates,
  SEGANET_DEVICE_ALLOW_ANONYMOUS: isAllowed
}) {
  const isOpen = login === 'none' && certificates !== 'required';
  if (!isOpen || isLoopback(host) || isAllowed === 'yes') return [];
  return [
    `SEGANET_DEVICE_HOST ${host} would let any host that reaches it pose as any device. Set SEGANET_DEVICE_LOGIN, or ` +
      'SEGANET_DEVICE_ALLOW_ANONYMOUS=yes if only devices are on that network.'
  ];
}

/** @param {Values} values @returns {string[]} */
function tlsProblems(values) {
  const { SEGANET_DEVICE_TRANSPORT: transport, SEGANET_DEVICE_LOGIN: login } = values;
  const { SEGANET_DEVICE_TLS_CERT: cert, SEGANET_DEVICE_TLS_KEY: key, SEGANET_DEVICE_TLS_CA: ca } = values;
  const isTls = transport === 'tls' || transport === 'wss';
  const needsCa = login === 'certificate' || values.SEGANET_DEVICE_CLIENT_CERT !== 'no';
  const problems = [];
  if (Boolean(cert) !== Boolean(key)) {
    problems.push('SEGANET_DEVICE_TLS_CERT and SEGANET_DEVICE_TLS_KEY belong together: set both or neither.');
  }
  if (isTls && !cert && login !== 'psk') {
    problems.push(
      `SEGANET_DEVICE_TRANSPORT ${transport} requires SEGANET_DEVICE_TLS_CERT and SEGANET_DEVICE_TLS_KEY.`
    );
  }
  if (!isTls && (needsCa || login === 'psk')) {
    problems.push(
      'SEGANET_DEVICE_LOGIN certificate or psk and SEGANET_DEVICE_CLIENT_CERT require TLS: set SEGANET_DEVICE_TRANSPORT to tls or wss.'
    );
  }
  if (isTls && needsCa && !ca) {
    problems.push(
      'Device certificates are checked against SEGANET_DEVICE_TLS_CA: set it to the file of their CA.'
    );
  }
  return problems;
}

/** @param {Values} values @returns {string[]} */
function loginProblems({
  SEGANET_DEVICE_LOGIN: login,
  SEGANET_DEVICE_CLIENT_CERT: certificates,
  SEGANET_DEVICE_PASSWORD_FILE: passwords,
  SEGANET_DEVICE_PSK_FILE: keys
}) {
  if (login === 'passwords' && !passwords) {
    return [
      'SEGANET_DEVICE_LOGIN passwords requires SEGANET_DEVICE_PASSWORD_FILE; create it with seganet-passwd.'
    ];
  }
  if (login === 'psk' && certificates === 'required') {
    return [
      'SEGANET_DEVICE_LOGIN psk cannot be combined with SEGANET_DEVICE_CLIENT_CERT required: TLS has no handshake with a pre-shared key and a ' +
        'certificate. Set SEGANET_DEVICE_CLIENT_CERT to no or wanted.'
    ];
  }
  if (login === 'psk' && !keys) return ['SEGANET_DEVICE_LOGIN psk requires SEGANET_DEVICE_PSK_FILE.'];
  return [];
}

/**
 * Returns the problems that the listener itself would report about the files.
 * @param {Values} values
 * @returns {string[]}
 */
function fileProblems(values) {
  const { SEGANET_DEVICE_TRANSPORT: transport, SEGANET_DEVICE_LOGIN: login } = values;
  const { SEGANET_DEVICE_TLS_CERT: cert, SEGANET_DEVICE_TLS_KEY: key, SEGANET_DEVICE_TLS_CA: ca } = values;
  const problems = [];
  if (transport === 'tls' || transport === 'wss') {
    const tlsFiles = Object.fromEntries(Object.entries({ ca, cert, key }).filter(([, file]) => file));
    const secrets = new TlsSecrets({
      tlsFiles,
      pskFile: login === 'psk' ? values.SEGANET_DEVICE_PSK_FILE : '',
      minTls: listenerRows.minTls.default,
      asksCertificate: login === 'certificate' || values.SEGANET_DEVICE_CLIENT_CERT !== 'no'
    });
    const names = [...Object.keys(tlsFiles).map((name) => `SEGANET_DEVICE_TLS_${name.toUpperCase()}`)];
    if (login === 'psk') names.push('SEGANET_DEVICE_PSK_FILE');
    try {
      secrets.read();
    } catch (error) {
      problems.push(`${names.join(', ')} cannot be used: ${/** @type {Error} */ (error).message}`);
    }
  }
  if (login === 'passwords') {
    const { users } = parsePasswords(fs.readFileSync(values.SEGANET_DEVICE_PASSWORD_FILE, 'utf8'));
    if (users.size === 0) {
      problems.push(
        `SEGANET_DEVICE_PASSWORD_FILE names ${values.SEGANET_DEVICE_PASSWORD_FILE}, which contains no user, so no device could log in. ` +
          'Add users with seganet-passwd.'
      );
    }
  }
  return problems;
}

exports.deviceProblems = deviceProblems;
