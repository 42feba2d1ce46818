'use strict';

const net = require('node:net');
const { formatHint } = require('../../network/paths/probe-hints');

/** A path is not told of again sooner. */
const AGAIN_MS = 500;
/** Nobody listens: no watch, one without the right to hear, or a container without its folder. */
const NOBODY_MS = 5000;
const PATIENCE_MS = 1000;
/** Addresses come and go. */
const MOST_KNOWN = 32;

/** Tells `seganet-paths watch` of a path that confirms nothing, so that it is asked at once. Without a watch nothing is told, nor said of that. */
class PathHints {
  /** @param {{ file: string, now?: () => number, connect?: (options: { path: string }) => net.Socket }} parts file: of the watch's socket */
  constructor({ file, now = () => performance.now(), connect = net.connect }) {
    this.file = file;
    this.now = now;
    this.connect = connect;
    this.restUntil = -Infinity;
    /** By address. @type {Map<string, number>} */
    this.toldAt = new Map();
  }

  /** @param {string} address of ours, by which the path is known @param {number} rttMs 0 = not known */
  suspect(address, rttMs) {
    const now = this.now();
    if (now < this.restUntil || now - (this.toldAt.get(address) ?? -Infinity) < AGAIN_MS) return;
    if (this.toldAt.size >= MOST_KNOWN) this.toldAt.clear();
    this.toldAt.set(address, now);
    try {
      const socket = this.connect({ path: this.file });
      socket.setTimeout(PATIENCE_MS, () => socket.destroy());
      socket.on('error', () => this.#rest());
      // Nothing is heard from there.
      socket.resume().unref();
      socket.end(formatHint({ path: address, rttMs }));
    } catch {
      // A path of a socket that is too long.
      this.#rest();
    }
  }

  #rest() {
    this.restUntil = this.now() + NOBODY_MS;
  }
}

exports.PathHints = PathHints;
