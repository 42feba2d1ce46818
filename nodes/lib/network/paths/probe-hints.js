'use strict';
// Receives hints from programs that use the paths: a path confirms nothing, so the watch should probe it at once. Any
// process on this machine may send hints: they only cause an early probe, and FastProbe limits those.

const fs = require('node:fs');
const net = require('node:net');

/**
 * path: its name, or its address; rttMs: its round trip, 0 = unknown.
 * @typedef {{ path: string, rttMs: number }} Hint
 */

/** Limits of one connection: its bytes, and its duration. */
const MOST_BYTES = 256;
const PATIENCE_MS = 1000;
/** A further connection ends the oldest. */
const MOST_CONNECTIONS = 16;

/** @param {Hint} hint */
const formatHint = ({ path, rttMs }) => `suspect ${path} ${Math.min(99_999, Math.round(rttMs))}\n`;

/** @param {string} line @returns {Hint | null} null if it is not a hint */
function parseHint(line) {
  const match = /^suspect ([!-~]{1,45})(?: (\d{1,5}))?$/.exec(line);
  return match && { path: match[1], rttMs: Number(match[2] ?? 0) };
}

/** Reads the hints of one connection, split in any way. */
class HintReader {
  #rest;
  #bytes;

  constructor() {
    this.#rest = '';
    this.#bytes = 0;
  }

  /**
   * @param {string} chunk one character per byte
   * @returns {{ hints: Hint[], isWrong: boolean }} isWrong: end the connection
   */
  push(chunk) {
    this.#bytes += chunk.length;
    if (this.#bytes > MOST_BYTES) return { hints: [], isWrong: true };
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = /** @type {string} */ (lines.pop());
    const hints = lines.map(parseHint);
    return { hints: hints.filter((hint) => hint !== null), isWrong: hints.includes(null) };
  }
}

class HintListener {
  #file;
  #onHint;
  /** The oldest first. @type {Set<net.Socket>} */
  #sockets;
  #server;

  /** @param {string} file of the socket @param {(hint: Hint) => void} onHint */
  constructor(file, onHint) {
    this.#file = file;
    this.#onHint = onHint;
    this.#sockets = new Set();
    this.#server = net.createServer((socket) => this.#take(socket));
  }

  /** Starts listening. REQUIRES: the lock of its folder. @returns {Promise<void>} rejects with the system's error */
  start() {
    // Left over from a watch that was killed.
    fs.rmSync(this.#file, { force: true });
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ path: this.#file, readableAll: true, writableAll: true }, () => {
        this.#server.off('error', reject);
        // It continues with the connections that it has.
        this.#server.on('error', () => {});
        resolve();
      });
    });
  }

  /** Stops listening, and removes the socket's file. @returns {Promise<void>} */
  stop() {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /** @param {net.Socket} socket */
  #take(socket) {
    const reader = new HintReader();
    const [oldest] = this.#sockets;
    if (this.#sockets.size >= MOST_CONNECTIONS) oldest.destroy();
    this.#sockets.add(socket);
    const over = setTimeout(() => socket.destroy(), PATIENCE_MS);
    socket.on('error', () => {});
    socket.once('close', () => {
      clearTimeout(over);
      this.#sockets.delete(socket);
    });
    socket.setEncoding('latin1').on('data', (chunk) => {
      const { hints, isWrong } = reader.push(String(chunk));
      for (const hint of hints) this.#onHint(hint);
      if (isWrong) socket.destroy();
    });
  }
}

module.exports = {
  HintListener,
  HintReader,
  formatHint,
  parseHint,
  MOST_BYTES,
  MOST_CONNECTIONS,
  PATIENCE_MS
};
