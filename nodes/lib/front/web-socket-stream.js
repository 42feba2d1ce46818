'use strict';

const { Duplex } = require('node:stream');

/** Pongs that a peer does not read are not collected without end. */
const MAX_UNREAD_BYTES = 1 << 20;
/** RFC 6455, 7.4.1. */
const NORMAL = 1000;
const UNSUPPORTED_DATA = 1003;

/**
 * The bytes of a WebSocket. Packets need not be aligned with frames [MQTT-6.0.0-2], so a frame is bytes like others. ws can be made
 * a stream by its own means, but then text passes as bytes, and pongs are queued for a peer that reads nothing.
 */
class WebSocketStream extends Duplex {
  /**
   * @param {import('ws').WebSocket} ws made with autoPong: false
   * @param {(reason: string) => void} onRefused
   */
  constructor(ws, onRefused) {
    super();
    this.ws_ = ws;
    ws.on('message', (/** @type {Buffer} */ data, isBinary) => {
      if (this.destroyed) return;
      if (!isBinary) {
        // [MQTT-6.0.0-1] A frame of another kind ends the connection.
        onRefused('text frame');
        ws.close(UNSUPPORTED_DATA);
        this.push(null);
      } else if (!this.push(data)) ws.pause();
    });
    ws.on('ping', (data) => {
      if (ws.bufferedAmount > MAX_UNREAD_BYTES) this.destroy();
      else if (ws.readyState === ws.OPEN) ws.pong(data);
    });
    // What breaks the protocol (a frame too large, not masked, reserved bits) comes as an error with a code, then the close.
    ws.on('error', (error) => {
      const { code = 'ERROR' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code.startsWith('WS_ERR')) onRefused(code);
    });
    ws.on('close', () => {
      this.push(null);
      this.destroy();
    });
  }

  _read() {
    if (this.ws_.isPaused) this.ws_.resume();
  }

  /** @param {Buffer} chunk @param {BufferEncoding} _encoding @param {(error?: Error | null) => void} done */
  _write(chunk, _encoding, done) {
    if (this.ws_.readyState !== this.ws_.OPEN) return done();
    this.ws_.send(chunk, { binary: true }, (error) => done(error));
  }

  /** A WebSocket is never half-closed. @param {(error?: Error | null) => void} done */
  _final(done) {
    this.ws_.close(NORMAL);
    done();
  }

  /** @param {Error | null} error @param {(error?: Error | null) => void} done */
  _destroy(error, done) {
    if (this.ws_.readyState !== this.ws_.CLOSED && !this.writableFinished) this.ws_.terminate();
    done(error);
  }
}

exports.WebSocketStream = WebSocketStream;
