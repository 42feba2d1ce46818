'use strict';
// The HTTP side of a WebSocket listener. It answers only the handshake of RFC 6455.

const http = require('node:http');
const { WebSocketServer } = require('ws');
const { PartialMessages } = require('./partial-messages');
const { WebSocketStream } = require('./web-socket-stream');

const MAX_HEADER_BYTES = 8192;
/** The version of RFC 6455. */
const VERSION = '13';
/** Of an answer 426 (RFC 9110, 15.5.22; RFC 6455, 4.4). */
const REQUIRED = { Upgrade: 'websocket', 'Sec-WebSocket-Version': VERSION };
/** After the close frame, the peer has this time for its own before the TCP connection ends [MQTT-6.0.0-1]. */
const CLOSE_TIMEOUT_MS = 2000;

/**
 * @typedef {object} WebSocketOptions
 * @property {string} path such as /mqtt
 * @property {string} subprotocol that the client must offer
 * @property {string[]} origins pages that may connect; empty = the Origin header is ignored
 * @property {number} maxFrameBytes of a message, in all its frames
 */

class WebSocketEndpoint {
  #options;
  #onRefused;
  #http;

  /**
   * @param {WebSocketOptions} options
   * @param {(stream: WebSocketStream, socket: import('node:stream').Duplex) => void} onOpen
   * @param {(reason: string) => void} onRefused
   */
  constructor(options, onOpen, onRefused) {
    this.#options = options;
    this.#onRefused = onRefused;
    const held = new PartialMessages();
    const { subprotocol, maxFrameBytes: maxPayload } = options;
    /** Its types lack the time. @type {import('ws').ServerOptions & { closeTimeout: number }} */
    const settings = {
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      closeTimeout: CLOSE_TIMEOUT_MS,
      maxPayload,
      // [MQTT-6.0.0-4]
      handleProtocols: () => subprotocol
    };
    const webSockets = new WebSocketServer(settings);
    webSockets.on('wsClientError', (_error, socket) => this.#refuse(socket, 400, 'handshake'));
    // HandshakeLimit has the timeout, for all handshakes of the connection together.
    this.#http = http.createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) => {
      onRefused('no WebSocket');
      request.resume();
      response.writeHead(426, { ...REQUIRED, Connection: 'close' });
      response.end('This port serves MQTT over WebSocket.\n');
    });
    this.#http.on('clientError', (error, socket) => {
      const { code = 'ERROR' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code !== 'ECONNRESET') this.#refuse(socket, code === 'HPE_HEADER_OVERFLOW' ? 431 : 400, code);
      else socket.destroy();
    });
    this.#http.on('upgrade', (request, socket, head) => {
      socket.on('error', () => {});
      const [status, reason] = this.#check(request);
      if (status !== 0) return this.#refuse(socket, status, reason);
      webSockets.handleUpgrade(request, socket, head, (ws) => {
        const stream = new WebSocketStream(ws, onRefused, held);
        // Before ws's own listener, which may emit messages that these bytes complete.
        socket.prependListener('data', (/** @type {Buffer} */ { length }) => stream.came(length));
        onOpen(stream, socket);
      });
    });
  }

  /** @param {import('node:stream').Duplex} socket plain, or after its TLS handshake */
  take(socket) {
    this.#http.emit('connection', socket);
  }

  /**
   * @param {http.IncomingMessage} request
   * @returns {[number, string]} status and reason; status 0: accepted
   */
  #check({ url = '', headers, httpVersion }) {
    const { path, origins, subprotocol } = this.#options;
    // RFC 6455, 4.1
    if (httpVersion !== '1.1') return [400, 'HTTP version'];
    if (url.split('?', 1)[0] !== path) return [404, 'path'];
    // RFC 6455, 4.2.2. The ws library also accepts version 8, a draft.
    if (headers['sec-websocket-version'] !== VERSION) return [426, 'WebSocket version'];
    const { origin } = headers;
    if (origins.length > 0 && !(origin && origins.includes(origin.toLowerCase()))) return [403, 'origin'];
    // [MQTT-6.0.0-3]
    const offered = String(headers['sec-websocket-protocol'] ?? '').split(',');
    if (!offered.some((name) => name.trim() === subprotocol)) return [400, 'subprotocol'];
    return [0, ''];
  }

  /** @param {import('node:stream').Duplex} socket @param {number} status @param {string} reason */
  #refuse(socket, status, reason) {
    this.#onRefused(reason);
    if (!socket.writable) return void socket.destroy();
    const fields = Object.entries({
      ...(status === 426 && REQUIRED),
      Connection: 'close',
      'Content-Length': 0
    });
    const lines = fields.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    const head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines}\r\n`;
    socket.end(head, () => socket.destroy());
  }
}

exports.WebSocketEndpoint = WebSocketEndpoint;
