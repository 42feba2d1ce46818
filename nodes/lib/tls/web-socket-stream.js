'use strict';

const { Duplex } = require('node:stream');

/** Most bytes of pongs for a peer that does not read. */
const MAX_UNREAD_BYTES = 1 << 20;
/** RFC 6455, 7.4.1. */
const NORMAL = 1000;
const TOO_BIG = 1009;
const UNSUPPORTED_DATA = 1003;
/** Longest header of a frame, RFC 6455, 5.2. */
const MAX_HEADER_BYTES = 14;
/** Largest message before the engine answers the CONNECT, which has at most 64 KiB, and its overhead. */
const MAX_FIRST_BYTES = 65536 + 1024;

/**
 * The byte stream of a WebSocket. Packets need not be aligned with frames [MQTT-6.0.0-2]. The stream of the ws library
 * would accept text frames, and would queue pongs without limit for a peer that does not read.
 */
class WebSocketStream extends Duplex {
  /**
   * @param {import('ws').WebSocket} ws made with autoPong: false
   * @param {(reason: string) => void} onRefused
   * @param {import('./partial-messages').PartialMessages} held shared by all WebSockets of the listener
   */
  constructor(ws, onRefused, held) {
    super();
    this.ws_ = ws;
    this.onRefused_ = onRefused;
    this.held_ = held;
    /** Bytes of an incomplete message, which ws keeps until it is complete. */
    this.heldBytes_ = 0;
    this.latestBytes_ = 0;
    /** True after the engine's first bytes. */
    this.isKnown_ = false;
    ws.on('message', (/** @type {Buffer} */ data, isBinary) => {
      // The remaining bytes are at most those of the latest read, after this message and its header.
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
    // A protocol violation (a frame too large, not masked, reserved bits) is an error with a code, then the close.
    ws.on('error', (error) => {
      const { code = 'ERROR' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (code.startsWith('WS_ERR')) onRefused(code);
    });
    ws.on('close', () => {
      this.push(null);
      this.destroy();
    });
  }

  /**
   * Call it when bytes arrived on the socket.
   * @param {number} bytes including frame headers
   */
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

  /**
   * @param {Buffer} chunk
   * @param {BufferEncoding} _encoding
   * @param {(error?: Error | null) => void} done
   */
  _write(chunk, _encoding, done) {
    this.isKnown_ = true;
    if (this.ws_.readyState !== this.ws_.OPEN) return done();
    this.ws_.send(chunk, { binary: true }, (error) => done(error));
  }

  /**
   * Closes the WebSocket, which cannot be half-closed.
   * @param {(error?: Error | null) => void} done
   */
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
