'use strict';
// Connects to the ports of other regions, and again until it succeeds.

const tls = require('node:tls');
const net = require('node:net');
const { Backoff } = require('../../../base/backoff');
const { parseAddress } = require('./address');
const { CODE, greeting, reasonIn } = require('./greeting');
const { Link } = require('./link');
const { isPeer } = require('./peers');

/** @typedef {InstanceType<typeof Link>} OpenLink */
/** @typedef {{ backoff: Backoff, timer: NodeJS.Timeout | undefined, socket: tls.TLSSocket | null }} Dial */
/**
 * @typedef {object} DialerParts
 * @property {string} own address of this region
 * @property {() => string} sid id of the cloud
 * @property {InstanceType<typeof import('./peers').LinkSecrets>} secrets
 * @property {readonly string[]} names see isPeer()
 * @property {import('./links').LinksParts['place']} place see LinksParts
 * @property {import('./links').Limits} limits
 * @property {(ci: string) => boolean} isWanted
 * @property {(ci: string) => boolean} hasLink
 * @property {(link: OpenLink, ci: string) => void} up
 * @property {(link: OpenLink, ci: string, reason: string) => void} down
 * @property {(ci: string, why: Error | string) => void} failed an attempt did not succeed
 * @property {(incoming: import('./link').Incoming, ci: string) => void} asked
 * @property {(sentence: string) => void} report
 */

const EMPTY = Buffer.alloc(0);

class Dialer {
  #parts;
  /** Regions that are wanted and have no link. @type {Map<string, Dial>} */
  #dials = new Map();

  /** @param {DialerParts} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** True if the other side may know of an attempt. @param {string} ci */
  isDialing(ci) {
    const socket = this.#dials.get(ci)?.socket;
    // An attempt that has not reached the other side may never do so.
    return Boolean(socket && !socket.connecting);
  }

  /** Connects to a region after this time, if it is still wanted. @param {string} ci @param {number} ms */
  dialSoon(ci, ms) {
    if (!this.#parts.isWanted(ci)) return;
    const { minMs, maxMs } = this.#parts.limits;
    const dial = this.#dials.get(ci) ?? {
      backoff: new Backoff(minMs, maxMs),
      timer: undefined,
      socket: null
    };
    this.#dials.set(ci, dial);
    clearTimeout(dial.timer);
    dial.timer = setTimeout(() => this.#dial(ci, dial), ms);
    dial.timer.unref();
  }

  /** Ends the attempts to connect to a region. @param {string} ci */
  stop(ci) {
    const dial = this.#dials.get(ci);
    clearTimeout(dial?.timer);
    this.#dials.delete(ci);
    dial?.socket?.destroy();
  }

  /** @param {string} ci @param {Dial} dial */
  #dial(ci, dial) {
    const { failed, hasLink, place } = this.#parts;
    const isWanted = () => !dial.socket && !hasLink(ci) && this.#dials.get(ci) === dial;
    if (!isWanted()) return;
    const address = /** @type {{ host: string, port: number }} */ (parseAddress(ci));
    if (!place) return this.#connect(ci, dial, address.host, address);
    place(address.host, address.port).then(
      (near) => isWanted() && this.#connect(ci, dial, address.host, near),
      ({ message }) => {
        if (!isWanted()) return;
        failed(ci, message);
        this.dialSoon(ci, dial.backoff.next());
      }
    );
  }

  /**
   * @param {string} ci
   * @param {Dial} dial
   * @param {string} host of the region
   * @param {{ host: string, port: number }} place to connect to
   */
  #connect(ci, dial, host, place) {
    const { limits, names, secrets, report } = this.#parts;
    let options;
    try {
      options = secrets.read();
    } catch (error) {
      report(/** @type {Error} */ (error).message);
      return this.dialSoon(ci, dial.backoff.next());
    }
    const socket = tls.connect({
      ...options,
      ...place,
      ...(!net.isIP(host) && { servername: host }),
      ALPNProtocols: ['coap'],
      rejectUnauthorized: true,
      checkServerIdentity: () => undefined,
      timeout: limits.helloMs
    });
    dial.socket = socket;
    const failed = (/** @type {Error | string} */ why) => {
      if (dial.socket !== socket) return;
      dial.socket = null;
      socket.destroy();
      if (typeof why === 'string') report(`The region ${ci} cannot be reached: ${why}`);
      this.#parts.failed(ci, why);
      this.dialSoon(ci, dial.backoff.next());
    };
    socket.on('error', failed);
    socket.once('close', () => failed(new Error('closed')));
    socket.once('timeout', () => failed(new Error('timeout')));
    socket.once('secureConnect', () => {
      if (dial.socket !== socket) return;
      const certificate = socket.getPeerX509Certificate();
      if (!certificate || !isPeer(certificate, ci, names))
        return failed('its certificate is for another name.');
      socket.setTimeout(0);
      this.#greet(ci, dial, socket, failed);
    });
  }

  /**
   * @param {string} ci
   * @param {Dial} dial
   * @param {tls.TLSSocket} socket
   * @param {(why: Error | string) => void} failed
   */
  #greet(ci, dial, socket, failed) {
    const { asked, down, limits, own, sid, up } = this.#parts;
    let isUp = false;
    const link = new Link(
      socket,
      {
        asked: (incoming) => {
          if (isUp) asked(incoming, ci);
          else incoming.answer(CODE.UNAVAILABLE, [], EMPTY);
        },
        ended: (reason) => {
          if (isUp) down(link, ci, reason);
          else failed(new Error('closed'));
        }
      },
      limits.link
    );
    link.ask({ ...greeting({ ci: own, sid: sid() }), timeoutMs: limits.helloMs }, (answer) => {
      if (dial.socket !== socket) return link.end('closing');
      if (answer.code !== CODE.CHANGED) {
        const isWrong = answer.code === CODE.FORBIDDEN;
        failed(isWrong ? reasonIn(answer.payload) : new Error('refused'));
        return link.end('closing');
      }
      isUp = true;
      dial.socket = null;
      up(link, ci);
    });
  }
}

exports.Dialer = Dialer;
