'use strict';

const net = require('node:net');
const tls = require('node:tls');

/** @typedef {import('./options').CheckedOptions} CheckedOptions */
/** @typedef {typeof import('../../../native').setSocketOptions} SetSocketOptions */

/** A connection on which nothing is said is probed, so that its death is known before there is something to say. */
const KEEP_ALIVE = { keepIdleS: 10, keepIntervalS: 3, keepCount: 3 };

/**
 * Reads keys and certificates. Throws what OpenSSL says about them.
 * @param {CheckedOptions} options @param {import('./tls-files').Contents} files they go before what is in the options
 */
function secureContext({ tls: own, minTls }, files) {
  return tls.createSecureContext({
    ca: files.ca ?? plain(own.ca),
    cert: files.cert ?? plain(own.cert),
    key: files.key ?? plain(own.key),
    passphrase: own.passphrase,
    minVersion: /** @type {tls.SecureVersion} */ (minTls)
  });
}

/** @param {CheckedOptions} options @param {tls.SecureContext | null} context null = not encrypted */
function openSocket({ host, port, tls: own }, context) {
  const socket = context
    ? tls.connect({
        host,
        port,
        servername: own.servername || (net.isIP(host) ? undefined : host),
        ALPNProtocols: own.ALPNProtocols,
        secureContext: context,
        rejectUnauthorized: true
      })
    : net.connect({ host, port });
  socket.setNoDelay(true);
  return socket;
}

/**
 * Makes the kernel notice a dead link in seconds, from the moment that the socket is connected.
 * @param {net.Socket} socket @param {number} userTimeoutMs 0 = the system's
 * @param {SetSocketOptions | undefined} setSocketOptions undefined where the addon lacks it
 * @param {(names: string[]) => void} onUnknown options that this system does not have
 */
function watchLink(socket, userTimeoutMs, setSocketOptions, onUnknown) {
  socket.once('connect', () => {
    // A pipe has no options, a handle that is closed already no descriptor.
    const fd = /** @type {any} */ (socket)._handle?.fd;
    if (!setSocketOptions || !(fd >= 0) || !socket.remotePort) return;
    try {
      const names = setSocketOptions(fd, {
        ...KEEP_ALIVE,
        ...(userTimeoutMs > 0 ? { userTimeoutMs } : {})
      });
      if (names.length > 0) onUnknown(names);
    } catch (error) {
      onUnknown([String(/** @type {any} */ (error).code ?? error)]);
    }
  });
}

/** A Buffer arrives in the thread as Uint8Array. @param {string | Uint8Array | undefined} pem */
function plain(pem) {
  return typeof pem === 'string' || pem === undefined ? pem : Buffer.from(pem);
}

module.exports = { openSocket, secureContext, watchLink };
