'use strict';

const { X509Certificate } = require('node:crypto');
const { Duplex } = require('node:stream');
const tls = require('node:tls');

/** @typedef {import('../../../../native').UplinkTls} UplinkTls */
/** @typedef {import('../../../../native').UplinkConnection} UplinkConnection */

/**
 * @typedef {object} WireParts
 * @property {Pick<typeof import('../../../../native'), 'UplinkConnection'>} native
 * @property {number} fd connected; owned by the stream from now on
 * @property {UplinkTls | null} tls null = not encrypted
 * @property {string} name that the certificate must match
 * @property {(id: number, reasonCode: number) => void} [onPuback] receives the PUBACKs, which then do not appear in the
 *   stream
 */

/**
 * The engine's connection to a broker, as a stream for mqtt.js. Written data waits until TLS is established and the
 * certificate is verified. It is written in whole packets: the express path writes between them.
 */
class ConnectionStream extends Duplex {
  /** Throws the errors of OpenSSL about the keys. @param {WireParts} parts */
  constructor({ native, fd, tls: settings, name, onPuback }) {
    super({ allowHalfOpen: false });
    this.name = name;
    this.isSecure = settings !== null;
    this.isOpen = false;
    this.isHeld = false;
    /** Written before the connection was open. @type {{bytes: Buffer, done: (error?: Error | null) => void} | null} */
    this.early = null;
    /** Callback of a write that the kernel has not taken completely. @type {((error?: Error | null) => void) | null} */
    this.done = null;
    /** The connection has ended, though received data may still be unread. */
    this.isOver = false;
    /** The express path has ended: the feeder continues. @type {(why: string) => void} */
    this.onLeave = () => {};
    /** @type {UplinkConnection} */
    this.wire = new native.UplinkConnection(fd, settings, {
      onOpen: () => this.#opened(),
      onBytes: (bytes) => this.#came(bytes),
      onPubacks: onPuback && ((pairs) => passEach(pairs, onPuback)),
      onDrain: () => this.#drained(),
      onEnd: (code, message) => this.#ended(code, message),
      onLeave: (why) => this.onLeave(why)
    });
  }

  /** The descriptor, for inspection only; null = closed. */
  get fd() {
    return this.wire.describe()?.fd ?? null;
  }

  /** The broker's, verified; null = it has none. */
  get certificate() {
    const der = this.isOpen ? this.wire.describe()?.certificate : undefined;
    return der ? new X509Certificate(der) : null;
  }

  #opened() {
    const wrong = this.isSecure ? wrongIdentity(this.name, this.wire.describe()?.certificate) : null;
    if (wrong) return void this.destroy(wrong);
    this.isOpen = true;
    const { early } = this;
    this.early = null;
    if (early) this._write(early.bytes, 'buffer', early.done);
  }

  /** @param {Buffer} bytes */
  #came(bytes) {
    if (this.push(bytes) || this.isHeld) return;
    this.isHeld = true;
    this.wire.pause(true);
  }

  #drained() {
    const { done } = this;
    this.done = null;
    done?.();
  }

  /** @param {string} code '' = orderly end @param {string} message */
  #ended(code, message) {
    this.isOver = true;
    // Nothing is sent here now, and what is in flight needs an owner.
    this.onLeave('closed');
    if (code) return void this.destroy(Object.assign(new Error(message), { code }));
    // A write that the kernel has not taken is never completed now: the end must not wait for it.
    this.once('end', () => this.destroy());
    this.push(null);
  }

  /** @override */
  _read() {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.wire.pause(false);
  }

  /**
   * @override
   * @param {Buffer} bytes
   * @param {string} _
   * @param {(error?: Error | null) => void} done
   */
  _write(bytes, _, done) {
    if (!this.isOpen) this.early = { bytes, done };
    else if (this.wire.write(bytes)) done();
    else this.done = done;
  }

  /**
   * Writes several chunks at once, which may form one packet of mqtt.js. @override
   * @param {{chunk: Buffer}[]} chunks
   * @param {(error?: Error | null) => void} done
   */
  _writev(chunks, done) {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  /** @override @param {(error?: Error | null) => void} done */
  _final(done) {
    this.wire.finish();
    done();
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error?: Error | null) => void} done
   */
  _destroy(error, done) {
    this.isOver = true;
    this.onLeave('closed');
    this.wire.close();
    const waiting = this.early?.done ?? this.done;
    this.early = this.done = null;
    waiting?.(error ?? new Error('the connection is closed'));
    done(error);
  }
}

/**
 * @param {string} name
 * @param {Buffer} [der] the certificate
 * @returns {Error | undefined} why it does not match the name
 */
function wrongIdentity(name, der) {
  try {
    const certificate = new X509Certificate(/** @type {Buffer} */ (der)).toLegacyObject();
    // Fields that are missing are missing in both.
    return tls.checkServerIdentity(name, /** @type {import('node:tls').PeerCertificate} */ (certificate));
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

/**
 * Passes on the PUBACKs of one read.
 * @param {Uint16Array} pairs
 * @param {(id: number, reasonCode: number) => void} onPuback
 */
function passEach(pairs, onPuback) {
  for (let i = 0; i < pairs.length; i += 2) onPuback(pairs[i], pairs[i + 1]);
}

exports.ConnectionStream = ConnectionStream;
exports.passEach = passEach;
