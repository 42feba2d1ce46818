'use strict';

const net = require('node:net');
const { formatHint } = require('../../network/paths/probe-hints');

/** Shortest interval between two hints about the same path. */
const AGAIN_MS = 500;
/**
 * Pause after an error: no watch runs, the watch's socket may not be used, or the container does not have its folder.
 */
const REST_MS = 5000;
const PATIENCE_MS = 1000;
/** Addresses come and go, so the table is limited. */
const MOST_KNOWN = 32;

/**
 * Notifies `seganet-paths watch` of a path that confirms nothing, so that the watch probes it at once. Without a watch,
 * hints are dropped silently.
 */
class PathHints {
  /**
   * @param {{ file: string, now?: () => number, connect?: (options: { path: string }) => net.Socket }} parts file: the
   *   watch's socket
   */
  constructor({ file, now = () => performance.now(), connect = net.connect }) {
    this.file = file;
    this.now = now;
    this.connect = connect;
    this.restUntil = -Infinity;
    /** When each address was last reported. @type {Map<string, number>} */
    this.sentAt = new Map();
  }

  /** @param {string} address our address, which identifies the path @param {number} rttMs 0 = unknown */
  suspect(address, rttMs) {
    const now = this.now();
    if (now < this.restUntil || now - (this.sentAt.get(address) ?? -Infinity) < AGAIN_MS) return;
    if (this.sentAt.size >= MOST_KNOWN) this.sentAt.clear();
    this.sentAt.set(address, now);
    try {
      const socket = this.connect({ path: this.file });
      socket.setTimeout(PATIENCE_MS, () => socket.destroy());
      socket.on('error', () => this.#rest());
      // The watch sends no answer.
      socket.resume().unref();
      socket.end(formatHint({ path: address, rttMs }));
    } catch {
      // The path of the socket is too long.
      this.#rest();
    }
  }

  #rest() {
    this.restUntil = this.now() + REST_MS;
  }
}

exports.PathHints = PathHints;
