'use strict';

const { X509Certificate } = require('node:crypto');
const { Duplex } = require('node:stream');
const tls = require('node:tls');

/** @typedef {import('../../../../native').UplinkTls} UplinkTls */
/** @typedef {import('../../../../native').UplinkWire} UplinkWire */

/**
 * @typedef {object} WireParts
 * @property {Pick<typeof import('../../../../native'), 'UplinkWire'>} native
 * @property {number} fd connected; the stream's from now on
 * @property {UplinkTls | null} tls null = not encrypted
 * @property {string} name what the certificate must be for
 * @property {(id: number, reasonCode: number) => void} [onPuback] gets the PUBACKs; they are not read from the stream then
 */

/**
 * The engine's connection to a broker, as a stream for mqtt.js. What is written waits until TLS stands and the certificate is the
 * broker's, and goes in whole packets: the express path writes between them.
 */
class WireStream extends Duplex {
  /** Throws what OpenSSL says about the keys. @param {WireParts} parts */
  constructor({ native, fd, tls: settings, name, onPuback }) {
    super({ allowHalfOpen: false });
    this.name = name;
    this.isSecure = settings !== null;
    this.isOpen = false;
    this.isHeld = false;
    /** Written before it was open. @type {{bytes: Buffer, done: (error?: Error | null) => void} | null} */
    this.early = null;
    /** Of a write that the kernel has not taken as a whole. @type {((error?: Error | null) => void) | null} */
    this.done = null;
    /** The connection has ended, though what came before may not be read yet. */
    this.isOver = false;
    /** The express path has ended: the feeder goes on. @type {(why: string) => void} */
    this.onRough = () => {};
    /** @type {UplinkWire} */
    this.wire = new native.UplinkWire(fd, settings, {
      onOpen: () => this.#opened(),
      onBytes: (bytes) => this.#came(bytes),
      onPubacks: onPuback && ((pairs) => tellEach(pairs, onPuback)),
      onDrain: () => this.#drained(),
      onEnd: (code, message) => this.#ended(code, message),
      onRough: (why) => this.onRough(why)
    });
  }

  /** The descriptor is for looking only; null = closed. */
  get fd() {
    return this.wire.describe()?.fd ?? null;
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

  /** @param {string} code '' = in order @param {string} message */
  #ended(code, message) {
    this.isOver = true;
    // Nothing goes on here, and what is in flight wants an owner.
    this.onRough('closed');
    if (code) return void this.destroy(Object.assign(new Error(message), { code }));
    // A write that the kernel has not taken is never done now: the end must not wait for it.
    this.once('end', () => this.destroy());
    this.push(null);
  }

  /** @override */
  _read() {
    if (!this.isHeld) return;
    this.isHeld = false;
    this.wire.pause(false);
  }

  /** @override @param {Buffer} bytes @param {string} _ @param {(error?: Error | null) => void} done */
  _write(bytes, _, done) {
    if (!this.isOpen) this.early = { bytes, done };
    else if (this.wire.write(bytes)) done();
    else this.done = done;
  }

  /** Several at once, one of mqtt.js's packets perhaps. @override @param {{chunk: Buffer}[]} chunks @param {(error?: Error | null) => void} done */
  _writev(chunks, done) {
    this._write(Buffer.concat(chunks.map(({ chunk }) => chunk)), 'buffer', done);
  }

  /** @override @param {(error?: Error | null) => void} done */
  _final(done) {
    this.wire.finish();
    done();
  }

  /** @override @param {Error | null} error @param {(error?: Error | null) => void} done */
  _destroy(error, done) {
    this.isOver = true;
    this.onRough('closed');
    this.wire.close();
    const waiting = this.early?.done ?? this.done;
    this.early = this.done = null;
    waiting?.(error ?? new Error('the connection is closed'));
    done(error);
  }
}

/** @param {string} name @param {Buffer} [der] the certificate @returns {Error | undefined} why it is not for this name */
function wrongIdentity(name, der) {
  try {
    const certificate = new X509Certificate(/** @type {Buffer} */ (der)).toLegacyObject();
    // What is missing is missing in both.
    return tls.checkServerIdentity(name, /** @type {import('node:tls').PeerCertificate} */ (certificate));
  } catch (error) {
    return /** @type {Error} */ (error);
  }
}

/** @param {Uint16Array} pairs @param {(id: number, reasonCode: number) => void} onPuback */
function tellEach(pairs, onPuback) {
  for (let i = 0; i < pairs.length; i += 2) onPuback(pairs[i], pairs[i + 1]);
}

exports.WireStream = WireStream;
