'use strict';

const { Duplex } = require('node:stream');

/** Pongs that a peer does not read are not collected without end. */
const MAX_UNREAD_BYTES = 1 << 20;
/** RFC 6455, 7.4.1. */
const NORMAL = 1000;
const TOO_BIG = 1009;
const UNSUPPORTED_DATA = 1003;
/** Of a frame, RFC 6455, 5.2. */
const MAX_HEADER_BYTES = 14;
/** A frame before the engine has answered the CONNECT, which has 64 KiB at most; and what goes around it. */
const MAX_FIRST_BYTES = 65536 + 1024;

/**
 * The bytes of a WebSocket. Packets need not be aligned with frames [MQTT-6.0.0-2], so a frame is bytes like others. ws can be made
 * a stream by its own means, but then text passes as bytes, and pongs are queued for a peer that reads nothing.
 */
class WebSocketStream extends Duplex {
  /**
   * @param {import('ws').WebSocket} ws made with autoPong: false
   * @param {(reason: string) => void} onRefused
   * @param {import('./partial-messages').Held} held of all WebSockets of the listener
   */
  constructor(ws, onRefused, held) {
    super();
    this.ws_ = ws;
    this.onRefused_ = onRefused;
    this.held_ = held;
    /** Of a message that is not complete: ws keeps its frames until the last byte. */
    this.heldBytes_ = 0;
    this.latestBytes_ = 0;
    /** The engine has answered. */
    this.isKnown_ = false;
    ws.on('message', (/** @type {Buffer} */ data, isBinary) => {
      // What may be left is of the bytes that came last, behind this message and its header.
      this.hold_(Math.max(0, Math.min(this.heldBytes_ - data.length - MAX_HEADER_BYTES, this.latestBytes_)));
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

  /** Bytes came from below: of frames, and around them. @param {number} bytes */
  came(bytes) {
    this.latestBytes_ = bytes;
    this.hold_(this.heldBytes_ + bytes);
    if (!this.isKnown_ && this.heldBytes_ > MAX_FIRST_BYTES) this.refuse('too much before the CONNECT');
  }

  /** @param {string} reason */
  refuse(reason) {
    if (this.destroyed) return;
    this.onRefused_(reason);
    this.ws_.close(TOO_BIG);
    this.destroy();
  }

  /** @param {number} bytes */
  hold_(bytes) {
    this.held_.set(this, bytes);
    this.heldBytes_ = bytes;
  }

  _read() {
    if (this.ws_.isPaused) this.ws_.resume();
  }

  /** @param {Buffer} chunk @param {BufferEncoding} _encoding @param {(error?: Error | null) => void} done */
  _write(chunk, _encoding, done) {
    this.isKnown_ = true;
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
    this.hold_(0);
    if (this.ws_.readyState !== this.ws_.CLOSED && !this.writableFinished) this.ws_.terminate();
    done(error);
  }
}

exports.WebSocketStream = WebSocketStream;
