'use strict';

// Settings of the devices' listener that only make sense together.

const { isLoopback } = require('./checks');

/** @typedef {Record<string, string>} Values */

/** @param {Values} values @returns {string[]} */
function deviceProblems(values) {
  return [...openProblems(values), ...tlsProblems(values), ...loginProblems(values)];
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
    `SEGANET_DEVICE_HOST ${host} would let everybody who reaches it be any device. Set SEGANET_DEVICE_LOGIN, or ` +
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
    problems.push('SEGANET_DEVICE_TLS_CERT and SEGANET_DEVICE_TLS_KEY belong together: set both or none.');
  }
  if (isTls && !cert && login !== 'psk') {
    problems.push(
      `SEGANET_DEVICE_TRANSPORT ${transport} needs SEGANET_DEVICE_TLS_CERT and SEGANET_DEVICE_TLS_KEY.`
    );
  }
  if (!isTls && (needsCa || login === 'psk')) {
    problems.push(
      'Certificates and pre-shared keys of devices need TLS: set SEGANET_DEVICE_TRANSPORT to tls or wss.'
    );
  }
  if (isTls && needsCa && !ca) {
    problems.push('Certificates of devices are checked by SEGANET_DEVICE_TLS_CA: name the file of their CA.');
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
      'SEGANET_DEVICE_LOGIN passwords needs SEGANET_DEVICE_PASSWORD_FILE; make it with seganet-passwd.'
    ];
  }
  if (login === 'psk' && certificates === 'required') {
    return [
      'SEGANET_DEVICE_LOGIN psk cannot go with SEGANET_DEVICE_CLIENT_CERT required: TLS has no handshake with a pre-shared key and a ' +
        'certificate. Set SEGANET_DEVICE_CLIENT_CERT to no or wanted.'
    ];
  }
  if (login === 'psk' && !keys) return ['SEGANET_DEVICE_LOGIN psk needs SEGANET_DEVICE_PSK_FILE.'];
  return [];
}

exports.deviceProblems = deviceProblems;
