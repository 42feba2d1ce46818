'use strict';

const net = require('node:net');
const tls = require('node:tls');

/** @typedef {import('../../settings/uplink-options').CheckedOptions} CheckedOptions */
/** @typedef {import('../../../../native').UplinkSocketOptions} SocketOptions */
/**
 * Options of the socket of a group of classes.
 * @typedef {Pick<SocketOptions, 'priority' | 'dscp' | 'notSentLowat' | 'sendBuffer'>} GroupOptions
 */

/**
 * How a connection is encrypted: by Node.js (context), or by the engine (wire); neither = not encrypted.
 * @typedef {{context?: tls.SecureContext, wire?: import('../../../../native').UplinkTls}} Security
 */

/** An idle connection is probed, so that its loss is known before there is something to send. */
const KEEP_ALIVE = { keepIdleS: 10, keepIntervalS: 3, keepCount: 3 };
const WATCHES = ['userTimeoutMs', 'keepIdleS', 'keepIntervalS', 'keepCount'];
const MARKS = ['priority', 'dscp'];
const CONGESTION =
  "The system's default congestion control applies: sysctl net.ipv4.tcp_available_congestion_control lists the available algorithms, and tcp_allowed_congestion_control those that the gateway's user may select.";

/**
 * Returns options that make the kernel detect a dead link in seconds, and send written data at once.
 * @param {{userTimeoutMs: number, congestion?: string, socket?: GroupOptions}} options userTimeoutMs 0, congestion '':
 *   the system's default
 * @returns {SocketOptions}
 */
function socketOptions({ userTimeoutMs, congestion, socket }) {
  return { noDelay: true, ...KEEP_ALIVE, userTimeoutMs, ...socket, ...(congestion && { congestion }) };
}

/** Returns a sentence about the effect of missing socket options. @param {string[]} names at least one */
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
 * Reads keys and certificates. Throws the errors of OpenSSL.
 * @param {CheckedOptions} options
 * @param {import('../../base/tls-files').Contents} files take precedence over the options
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

/**
 * Creates a context from a PFX file. The authorities in the file are trusted in addition to those of Node.js.
 * @param {tls.SecureContextOptions} options
 * @param {string} meanwhile see WatchOptions
 */
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
 * Starts TLS on a connected socket. It uses the socket's handle directly, so the cost is that of tls.connect({host}).
 * @param {net.Socket} socket
 * @param {CheckedOptions} options
 * @param {tls.SecureContext} context
 */
function secure(socket, { host, tls: own }, context) {
  return tls.connect({
    socket,
    // The name that the certificate must match.
    host,
    servername: own.servername || (net.isIP(host) ? undefined : host),
    ALPNProtocols: own.ALPNProtocols,
    secureContext: context,
    rejectUnauthorized: true
  });
}

/** Returns the name that the broker's certificate must match. @param {CheckedOptions} options */
function nameOf({ host, tls: own }) {
  return own.servername || host;
}

/**
 * True if the engine can make this connection. It reads PEM, not PFX.
 * @param {Partial<Pick<typeof import('../../../../native'), 'UplinkConnection'>> | undefined} native
 * @param {Pick<CheckedOptions, 'secure' | 'tls' | 'tlsFiles'>} options
 */
function canWire(native, { secure: isSecure, tls: own, tlsFiles }) {
  if (native?.UplinkConnection === undefined) return false;
  return !isSecure || (native.UplinkConnection.hasTls && !own.pfx && !tlsFiles.pfx);
}

/**
 * Returns the TLS settings of a connection made by the engine. Throws the errors of OpenSSL about keys and
 * certificates.
 * @param {Pick<typeof import('../../../../native'), 'UplinkConnection'>} native
 * @param {CheckedOptions} options
 * @param {import('../../base/tls-files').Contents} files take precedence over the options
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

/** Returns the authorities that Node.js trusts, including those of NODE_EXTRA_CA_CERTS if Node.js reports them. */
function defaultCertificates() {
  return (tls.getCACertificates?.('default') ?? tls.rootCertificates).join('\n');
}

/** Converts a Buffer, which arrives in the thread as a Uint8Array. @param {string | Uint8Array | undefined} pem */
function plain(pem) {
  return typeof pem === 'string' || pem === undefined ? pem : Buffer.from(pem);
}

module.exports = { canWire, lacking, nameOf, secure, secureContext, socketOptions, wireSecurity };
