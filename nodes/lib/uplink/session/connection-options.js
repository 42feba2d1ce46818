'use strict';

const net = require('node:net');
const tls = require('node:tls');

/** @typedef {import('../../settings/uplink-options').CheckedOptions} CheckedOptions */
/** @typedef {import('../../../../native').UplinkSocketOptions} SocketOptions */
/** @typedef {Pick<SocketOptions, 'priority' | 'dscp' | 'notSentLowat' | 'sendBuffer'>} GroupOptions of the socket of a group of classes */

/**
 * How a connection is encrypted: by Node, or by the engine; neither = not at all.
 * @typedef {{context?: tls.SecureContext, wire?: import('../../../../native').UplinkTls}} Security
 */

/** A connection on which nothing is said is probed, so that its death is known before there is something to say. */
const KEEP_ALIVE = { keepIdleS: 10, keepIntervalS: 3, keepCount: 3 };
const WATCHES = ['userTimeoutMs', 'keepIdleS', 'keepIntervalS', 'keepCount'];
const MARKS = ['priority', 'dscp'];
const CONGESTION =
  "The system's default congestion control applies: sysctl net.ipv4.tcp_available_congestion_control lists the available algorithms, and tcp_allowed_congestion_control those that the gateway's user may select.";

/**
 * Makes the kernel notice a dead link in seconds, and send what was written at once.
 * @param {{userTimeoutMs: number, congestion?: string, socket?: GroupOptions}} options userTimeoutMs 0, congestion '': the system's @returns {SocketOptions}
 */
function socketOptions({ userTimeoutMs, congestion, socket }) {
  return { noDelay: true, ...KEEP_ALIVE, userTimeoutMs, ...socket, ...(congestion && { congestion }) };
}

/** What it means that this system lacks these options. @param {string[]} names at least one */
function lacking(names) {
  /** @param {string[]} kind */
  const some = (kind) => names.some((name) => kind.includes(name));
  return [
    `This system cannot set ${names.join(', ')} on the uplink's socket.`,
    some(WATCHES) ? 'Only missing acknowledgements reveal a dead link.' : '',
    some(MARKS) ? 'The network does not send urgent records first.' : '',
    some(['congestion']) ? CONGESTION : ''
  ]
    .filter(Boolean)
    .join(' ');
}

/**
 * Reads keys and certificates. Throws what OpenSSL says about them.
 * @param {CheckedOptions} options @param {import('../../base/tls-files').Contents} files they go before what is in the options
 * @param {string} meanwhile see WatchOptions
 */
function secureContext({ tls: own, minTls }, files, meanwhile) {
  const pfx = files.pfx ?? plain(own.pfx);
  const common = { passphrase: own.passphrase, minVersion: /** @type {tls.SecureVersion} */ (minTls) };
  if (pfx) return pfxContext({ ...common, pfx }, meanwhile);
  return tls.createSecureContext({
    ...common,
    ca: files.ca ?? plain(own.ca),
    cert: files.cert ?? plain(own.cert),
    key: files.key ?? plain(own.key)
  });
}

/** The authorities in the file count beside those that Node trusts. @param {tls.SecureContextOptions} options @param {string} meanwhile */
function pfxContext(options, meanwhile) {
  try {
    return tls.createSecureContext(options);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    const remedy = /mac verify/i.test(message)
      ? 'Correct the passphrase in the TLS node'
      : /unsupported/i.test(message)
        ? 'Its encryption is outdated: export it again with AES-256'
        : 'Use a PKCS #12 file with the certificate and its key';
    const end = meanwhile ? `${remedy}; ${meanwhile}.` : `${remedy}.`;
    const reason = `The PFX file of the TLS node cannot be used (${message}). ${end}`;
    throw Object.assign(new Error(reason, { cause: error }), { code: 'TLS_FILE' });
  }
}

/**
 * TLS over a socket that is connected. It works on the socket's handle itself, so this costs what tls.connect({host}) does.
 * @param {net.Socket} socket @param {CheckedOptions} options @param {tls.SecureContext} context
 */
function secure(socket, { host, tls: own }, context) {
  return tls.connect({
    socket,
    // What the certificate must be for.
    host,
    servername: own.servername || (net.isIP(host) ? undefined : host),
    ALPNProtocols: own.ALPNProtocols,
    secureContext: context,
    rejectUnauthorized: true
  });
}

/** What the broker's certificate must be for. @param {CheckedOptions} options */
function nameOf({ host, tls: own }) {
  return own.servername || host;
}

/**
 * Whether the engine can make this connection. It reads PEM, not PFX.
 * @param {Partial<Pick<typeof import('../../../../native'), 'UplinkConnection'>> | undefined} native
 * @param {Pick<CheckedOptions, 'secure' | 'tls' | 'tlsFiles'>} options
 */
function canWire(native, { secure: isSecure, tls: own, tlsFiles }) {
  if (native?.UplinkConnection === undefined) return false;
  return !isSecure || (native.UplinkConnection.hasTls && !own.pfx && !tlsFiles.pfx);
}

/**
 * For a connection of the engine. Throws what OpenSSL says about keys and certificates.
 * @param {Pick<typeof import('../../../../native'), 'UplinkConnection'>} native
 * @param {CheckedOptions} options @param {import('../../base/tls-files').Contents} files they go before what is in the options
 * @returns {import('../../../../native').UplinkTls}
 */
function wireSecurity({ UplinkConnection }, { host, tls: own, minTls }, files) {
  const settings = {
    ca: files.ca ?? own.ca ?? defaultCertificates(),
    cert: files.cert ?? own.cert,
    key: files.key ?? own.key,
    passphrase: own.passphrase,
    minVersion: /** @type {'TLSv1.2' | 'TLSv1.3'} */ (minTls),
    servername: own.servername || (net.isIP(host) ? undefined : host),
    alpn: own.ALPNProtocols
  };
  UplinkConnection.checkTls(settings);
  return settings;
}

/** Those that Node trusts, with those of NODE_EXTRA_CA_CERTS where it tells them. */
function defaultCertificates() {
  return (tls.getCACertificates?.('default') ?? tls.rootCertificates).join('\n');
}

/** A Buffer arrives in the thread as Uint8Array. @param {string | Uint8Array | undefined} pem */
function plain(pem) {
  return typeof pem === 'string' || pem === undefined ? pem : Buffer.from(pem);
}

module.exports = { canWire, lacking, nameOf, secure, secureContext, socketOptions, wireSecurity };
