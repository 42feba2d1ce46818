'use strict';
// The properties of a device listener, and the listener parts that Member needs. All device nodes use it, so that
// address, TLS and logins are the same for all protocols.

const { LOCAL_HOST } = require('../base/local-host');
const { byCertificate, byFlow, byPasswords } = require('../login/login-checkers');
const { deliveryOf, deliveryRows } = require('./delivery');
const { offerOf, offerRows, reachOf } = require('./overlay-offer');
const { partSettings, tenantRows, tenantRule } = require('./tenant-rule');
const { parseProxies } = require('./proxies');
const { secretsOf } = require('./tls-node');

const HANDSHAKE_MS = 10000;
/** Most connections before the login: TLS and WebSocket, whose handshakes cost CPU time. */
const MAX_HALF_OPEN = 1000;
/** The same for DTLS, where each can take 270 KiB (docs/use/coap.md, Limits). */
const MAX_DTLS_HALF_OPEN = 512;
/** The same for plain connections, which cost only a descriptor. */
const MAX_SILENT = 8192;
/** RFC 7301, as registered; RFC 8323, 8.2 for CoAP. */
const ALPN = { mqtt: ['mqtt'], coap: ['coap'] };

/** Settings of every listener; the nodes add the rows of transport and port. */
const listenerRows = /** @type {const} */ ({
  host: {
    type: 'text',
    form: 'host',
    default: '127.0.0.1',
    ...LOCAL_HOST,
    variable: 'SEGANET_DEVICE_HOST',
    help: 'Address that devices connect to.'
  },
  proxies: {
    type: 'text',
    default: '',
    form: 'proxies',
    variable: 'SEGANET_DEVICE_PROXIES',
    shown: 'none',
    help: 'Load balancers whose connections begin with a PROXY header, which names the address of the device: addresses and networks, comma-separated.'
  },
  tls: { type: 'text', default: '' },
  minTls: {
    type: 'choice',
    values: ['TLSv1.2', 'TLSv1.3'],
    default: 'TLSv1.2'
  },
  login: {
    type: 'choice',
    values: ['none', 'passwords', 'certificate', 'psk', 'flow'],
    default: 'none',
    variable: 'SEGANET_DEVICE_LOGIN',
    help: 'How devices authenticate: none, passwords, certificate, psk or flow.'
  },
  allowAnonymous: {
    type: 'flag',
    default: false,
    variable: 'SEGANET_DEVICE_ALLOW_ANONYMOUS',
    help: 'yes: devices need no login, even on an address other than loopback.'
  },
  passwordFile: {
    type: 'text',
    form: 'file',
    default: '',
    variable: 'SEGANET_DEVICE_PASSWORD_FILE',
    help: 'File of users and passwords, created by seganet-passwd.'
  },
  identity: {
    type: 'choice',
    values: ['user', 'clientId'],
    default: 'user'
  },
  pskFile: {
    type: 'text',
    form: 'file',
    default: '',
    variable: 'SEGANET_DEVICE_PSK_FILE',
    help: 'psk: file of identity:hexkey lines.'
  },
  clientCert: {
    type: 'choice',
    values: ['no', 'wanted', 'required'],
    default: 'no',
    variable: 'SEGANET_DEVICE_CLIENT_CERT',
    help: 'Device certificates with another login: no, wanted (instead of it) or required (in addition to it).'
  },
  certIdentity: {
    type: 'choice',
    values: ['cn', 'san'],
    default: 'cn'
  },
  ...tenantRows,
  ...offerRows,
  wsPath: { type: 'text', default: '/mqtt', pattern: /^\/[^\s?#]{0,255}$/, shape: 'a path such as /mqtt' },
  wsOrigins: { type: 'text', default: '' },
  wsMaxKiB: { type: 'integer', min: 1, max: 16384, default: 1024, unit: 'KiB' },
  ...deliveryRows
});

/**
 * @typedef {{ [K in keyof typeof listenerRows | 'transport' | 'port']: any }} ListenerValues result of parseOptions()
 * @typedef {import('../engine/listening').ListenerParts} ListenerParts
 */

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {ListenerValues} values
 * @param {'mqtt' | 'coap'} protocol
 * @param {object} settings the source's own fields of StageSpec
 * @returns {ListenerParts & { delivery: import('../engine/deliveries').Limit | null, tenant: boolean, settings: object }}
 *   to spread into the stage
 * @throws {Error} with a sentence
 */
function listenerParts(RED, node, values, protocol, settings) {
  const { transport, host, port } = values;
  const proxies = parseProxies(values.proxies);
  const isTls = transport === 'tls' || transport === 'wss';
  const usesTlsThread = isTls || transport === 'ws';
  checkSafe(values, isTls || transport === 'dtls');
  const rule = tenantRule(values);
  const common = {
    delivery: deliveryOf(values),
    tenant: rule.from !== 'none',
    offer: offerOf(RED, node, values, protocol),
    settings: { ...settings, ...partSettings(rule) }
  };
  if (transport === 'dtls') return { ...dtlsParts(RED, node, values, rule), ...common };
  const listener = {
    ...(usesTlsThread ? { host: '', port: 0, transport: 'streams' } : { host, port, transport }),
    ...(transport === 'tcp' && { proxies }),
    connectTimeoutMs: HANDSHAKE_MS,
    maxHalfOpen: usesTlsThread ? MAX_HALF_OPEN : MAX_SILENT,
    login: values.login === 'none' ? 'open' : 'ask'
  };
  const tls = usesTlsThread
    ? { tls: { ...tlsThreadOptions(RED, node, values, protocol, isTls), tenant: rule, proxies } }
    : {};
  // Last, because the checker must be closed if a later step throws.
  const checker = checkerOf(values, (sentence) => node.warn(sentence), rule, node.name || node.id);
  return /** @type {any} */ ({ listener, ...tls, ...checker, ...common });
}

/**
 * DTLS ends in the engine, which proves the device's id in the handshake. There is no other login.
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {ListenerValues & { sessionIdleS?: any }} values
 * @param {import('../base/tenant-id').TenantRule} rule
 * @returns {ListenerParts}
 */
function dtlsParts(RED, node, values, rule) {
  const { host, port, login, clientCert, certIdentity, sessionIdleS } = values;
  return {
    listener: {
      host,
      port,
      transport: 'dtls',
      connectTimeoutMs: HANDSHAKE_MS,
      maxHalfOpen: MAX_DTLS_HALF_OPEN,
      sessionIdleS
    },
    dtls: {
      ...secretsOf(RED, node, values.tls),
      ...(login === 'psk' && { pskFile: values.pskFile }),
      clientCert: login === 'certificate' ? 'required' : clientCert,
      certIdentity,
      tenant: rule
    }
  };
}

/** @param {ListenerValues} values @param {boolean} isTls with TLS or DTLS @throws {Error} with a sentence */
function checkSafe({ host, overlay, login, clientCert, allowAnonymous, passwordFile, pskFile }, isTls) {
  if ((login === 'certificate' || login === 'psk' || clientCert !== 'no') && !isTls) {
    throw new Error(
      'Certificates and pre-shared keys require TLS or DTLS. Choose such a transport in the node.'
    );
  }
  if (login === 'passwords' && !passwordFile) {
    throw new Error(
      'The password file is missing. Create one with seganet-passwd, and enter its path in the node.'
    );
  }
  if (login === 'psk' && !pskFile) {
    throw new Error(
      'The file of pre-shared keys is missing. Create one with identity:hexkey lines, and enter its path in the node.'
    );
  }
  if (login === 'psk' && clientCert === 'required') {
    throw new Error(
      'A connection with a pre-shared key carries no certificate (TLS has no handshake with both), so no device could connect. Choose the ' +
        'certificates "no" or "wanted" with pre-shared keys, or the login "certificate".'
    );
  }
  const isOpen = login === 'none' && clientCert !== 'required';
  const reach = reachOf({ host, overlay });
  if (isOpen && reach && !allowAnonymous) {
    throw new Error(
      `${reach}, any client that reaches this port could pose as any device. Choose a login in the node, or the address 127.0.0.1, or ` +
        'allow devices without a login there if only devices are on that network.'
    );
  }
}

/**
 * @param {import('node-red').NodeAPI} RED
 * @param {import('node-red').Node} node
 * @param {ListenerValues} values
 * @param {'mqtt' | 'coap'} protocol
 * @param {boolean} isTls
 * @returns {Omit<import('../tls/tls-server').TlsListenerOptions, 'maxConnections'>}
 */
function tlsThreadOptions(RED, node, values, protocol, isTls) {
  const { transport, host, port, minTls, login, certIdentity, wsPath, wsOrigins, wsMaxKiB } = values;
  const isCertificate = login === 'certificate';
  return {
    transport,
    host,
    port,
    minTls,
    ...(isTls ? secretsOf(RED, node, values.tls) : {}),
    ...(login === 'psk' && { pskFile: values.pskFile }),
    clientCert: isCertificate ? 'required' : values.clientCert,
    certIdentity,
    // If a certificate is required and there is a login too, the device needs both.
    certIsLogin: isCertificate || login === 'psk' || login === 'none' || values.clientCert === 'wanted',
    alpn: transport === 'tls' ? ALPN[protocol] : ['http/1.1'],
    webSocket: {
      path: wsPath,
      subprotocol: 'mqtt',
      origins: wsOrigins
        .toLowerCase()
        .split(/[\s,]+/)
        .filter(Boolean),
      maxFrameBytes: wsMaxKiB * 1024
    },
    maxHalfOpen: MAX_HALF_OPEN,
    handshakeTimeoutMs: HANDSHAKE_MS
  };
}

/**
 * @param {ListenerValues} values
 * @param {(sentence: string) => void} warn
 * @param {import('../base/tenant-id').TenantRule} rule
 * @param {string} name of the node
 * @returns {Pick<ListenerParts, 'checkLogin' | 'endLogins'>}
 */
function checkerOf({ login, passwordFile, identity }, warn, rule, name) {
  if (login === 'passwords') return byPasswords(passwordFile, identity, warn, rule, name);
  if (login === 'flow') return byFlow(rule);
  return login === 'none' ? {} : byCertificate();
}

module.exports = { listenerRows, listenerParts };
