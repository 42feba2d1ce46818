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
  #ws;
  #onRefused;
  #held;
  /** Bytes of an incomplete message, which ws keeps until it is complete. */
  #heldBytes;
  #latestBytes;
  /** True after the engine's first bytes. */
  #isKnown;

  /**
   * @param {import('ws').WebSocket} ws made with autoPong: false
   * @param {(reason: string) => void} onRefused
   * @param {import('./partial-messages').PartialMessages} held shared by all WebSockets of the listener
   */
  constructor(ws, onRefused, held) {
    super();
    this.#ws = ws;
    this.#onRefused = onRefused;
    this.#held = held;
    this.#heldBytes = 0;
    this.#latestBytes = 0;
    this.#isKnown = false;
    ws.on('message', (/** @type {Buffer} */ data, isBinary) => {
      // The remaining bytes are at most those of the latest read, after this message and its header.
      this.#hold(Math.max(0, Math.min(this.#heldBytes - data.length - MAX_HEADER_BYTES, this.#latestBytes)));
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
    this.#latestBytes = bytes;
    this.#hold(this.#heldBytes + bytes);
    if (!this.#isKnown && this.#heldBytes > MAX_FIRST_BYTES) this.refuse('too much before the CONNECT');
  }

  /** @param {string} reason */
  refuse(reason) {
    if (this.destroyed) return;
    this.#onRefused(reason);
    this.#ws.close(TOO_BIG);
    this.destroy();
  }

  /** @param {number} bytes */
  #hold(bytes) {
    this.#held.set(this, bytes);
    this.#heldBytes = bytes;
  }

  _read() {
    if (this.#ws.isPaused) this.#ws.resume();
  }

  /**
   * @param {Buffer} chunk
   * @param {BufferEncoding} _encoding
   * @param {(error?: Error | null) => void} done
   */
  _write(chunk, _encoding, done) {
    this.#isKnown = true;
    if (this.#ws.readyState !== this.#ws.OPEN) return done();
    this.#ws.send(chunk, { binary: true }, (error) => done(error));
  }

  /**
   * Closes the WebSocket, which cannot be half-closed.
   * @param {(error?: Error | null) => void} done
   */
  _final(done) {
    this.#ws.close(NORMAL);
    done();
  }

  /** @param {Error | null} error @param {(error?: Error | null) => void} done */
  _destroy(error, done) {
    this.#hold(0);
    if (this.#ws.readyState !== this.#ws.CLOSED && !this.writableFinished) this.#ws.terminate();
    done(error);
  }
}

exports.WebSocketStream = WebSocketStream;
