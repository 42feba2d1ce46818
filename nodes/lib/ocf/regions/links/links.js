'use strict';
// The links of a gateway: one for each other region. Both sides listen; the one that needs a link connects, and if both
// do, the connection of the region with the smaller address stays.

const { Dialer } = require('./dialer');
const { CODE, refusal } = require('./greeting');
const { LinkStates } = require('./link-states');
const { Listener } = require('./listener');
const { isTrusted } = require('./peers');

/** @typedef {import('./link').Incoming} Incoming */
/** @typedef {InstanceType<typeof import('./link').Link>} OpenLink */
/** @typedef {typeof LIMITS & { link?: Partial<typeof import('./link').LIMITS> }} Limits */
/**
 * @typedef {object} LinksParts
 * @property {string} own address of this region
 * @property {() => string} sid id of the cloud
 * @property {{ host: string, port: number }} listen port 0 = any free one
 * @property {InstanceType<typeof import('./peers').LinkSecrets>} secrets
 * @property {readonly string[]} names see isPeer()
 * @property {(host: string, port: number) => Promise<{ host: string, port: number }>} [place] of this machine that
 *   leads to an address of a region, if regions are reached by an overlay
 * @property {(incoming: Incoming, ci: string) => void} asked
 * @property {(ci: string) => void} up
 * @property {(ci: string) => void} down
 * @property {(sentence: string) => void} report
 * @property {() => number} [now] ms since 1970
 * @property {Partial<Limits>} [limits]
 */
/** @typedef {{ link: OpenLink, isDialed: boolean }} Entry isDialed: by this gateway */

const LIMITS = {
  /** Other regions. */
  mostLinks: 64,
  /** Connections that have not shown who they are. */
  mostUnknown: 64,
  /** Time for TLS and the greeting. */
  helloMs: 10000,
  /** Back-off of connecting again. */
  minMs: 250,
  maxMs: 10000,
  /** Between looks for replaced files. */
  filesMs: 10000,
  /** The region with the greater address waits for this time before it connects. */
  secondMs: 1000
};

class Links {
  #parts;
  #limits;
  #dialer;
  #listener;
  /** @type {Map<string, Entry>} */
  #links = new Map();
  /** @type {Set<string>} */
  #wanted = new Set();
  #isClosed = false;
  #states;
  counts = { accepted: 0, refused: 0, connects: 0, lost: 0 };

  /** @param {LinksParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#limits = { ...LIMITS, ...parts.limits };
    this.#states = new LinkStates(parts.now);
    const { own, sid, listen, secrets, names, place, asked, report } = parts;
    const shared = {
      secrets,
      asked,
      report,
      limits: this.#limits,
      down: (/** @type {OpenLink} */ link, /** @type {string} */ ci, /** @type {string} */ reason) =>
        this.#remove(ci, link, reason)
    };
    this.#listener = new Listener({
      ...shared,
      listen,
      counts: this.counts,
      greeted: (greeting, socket) => this.#decide(greeting, socket),
      up: (link, ci) => this.#add(ci, { link, isDialed: false })
    });
    this.#dialer = new Dialer({
      ...shared,
      own,
      sid,
      names,
      place,
      isWanted: (ci) => !this.#isClosed && this.#wanted.has(ci),
      hasLink: (ci) => this.#links.has(ci),
      failed: (ci, why) => this.#states.failed(ci, why),
      up: (link, ci) => {
        this.counts.connects++;
        this.#add(ci, { link, isDialed: true });
      }
    });
  }

  /**
   * @returns {Promise<number>} the port
   * @throws {Error} of the system, or with a sentence
   */
  listen() {
    return this.#listener.listen();
  }

  /** @param {string} ci @returns {OpenLink | undefined} */
  of(ci) {
    return this.#links.get(ci)?.link;
  }

  /** Connects to a region, and again whenever the link is lost. @param {string} ci */
  want(ci) {
    if (this.#wanted.has(ci) || ci === this.#parts.own) return;
    if (this.#wanted.size >= this.#limits.mostLinks) {
      this.#parts.report(
        `There are more than ${this.#limits.mostLinks} other regions. Devices of ${ci} cannot be reached from here.`
      );
      return;
    }
    this.#wanted.add(ci);
    this.#states.wanted(ci);
    if (!this.#links.has(ci)) this.#dialer.dialSoon(ci, this.#parts.own < ci ? 0 : this.#limits.secondMs);
  }

  /** Does not connect any more; an open link stays. @param {string} ci */
  unwant(ci) {
    if (!this.#wanted.delete(ci)) return;
    this.#dialer.stop(ci);
    if (!this.#links.has(ci)) this.#states.forget(ci);
  }

  /**
   * Returns the regions with a link, and those that are wanted. open, served: requests and observations of this side,
   * and of the other one.
   */
  all() {
    return this.#states.all().map((state) => {
      const { open = 0, served = 0 } = this.#links.get(state.ci)?.link ?? {};
      return { ...state, open, served };
    });
  }

  /** Regions that are wanted and cannot be reached. @returns {string[]} */
  missing() {
    return [...this.#wanted].filter((ci) => !this.#links.has(ci));
  }

  async close() {
    this.#isClosed = true;
    for (const ci of [...this.#wanted]) this.unwant(ci);
    for (const { link } of [...this.#links.values()]) link.end('closing');
    await this.#listener.close();
  }

  /**
   * Decides about a link that another gateway wants.
   * @param {import('./greeting').Greeting} greeting
   * @param {import('node:tls').TLSSocket} socket
   * @returns {import('./greeting').Reply}
   */
  #decide({ ci, sid }, socket) {
    const { own, names } = this.#parts;
    if (sid !== this.#parts.sid()) return refusal(CODE.FORBIDDEN, 'This is a gateway of another cloud.');
    if (ci === own) return refusal(CODE.FORBIDDEN, 'Two gateways have the same address of a region.');
    if (!isTrusted(socket, ci, names)) {
      this.#parts.report(`A certificate that is not for ${ci} was used for it. The link is refused.`);
      return refusal(CODE.FORBIDDEN, 'The certificate is not that of the region.');
    }
    const before = this.#links.get(ci);
    if (this.#isClosed || (!before && this.#links.size >= this.#limits.mostLinks)) {
      return refusal(CODE.UNAVAILABLE, 'There is no room for another region.');
    }
    const isDialing = before?.isDialed ?? this.#dialer.isDialing(ci);
    if (isDialing && own < ci) return refusal(CODE.UNAVAILABLE, 'There is a link already.');
    return { code: CODE.CHANGED, answer: { ci: own, sid, peer: ci } };
  }

  /** @param {string} ci @param {Entry} entry */
  #add(ci, entry) {
    const before = this.#links.get(ci);
    this.#links.set(ci, entry);
    this.#dialer.stop(ci);
    before?.link.end('replaced');
    this.#states.up(ci);
    this.#parts.up(ci);
  }

  /** @param {string} ci @param {OpenLink} link @param {string} reason */
  #remove(ci, link, reason) {
    if (this.#links.get(ci)?.link !== link) return;
    this.#links.delete(ci);
    this.counts.lost++;
    if (this.#wanted.has(ci)) this.#states.lost(ci, reason);
    else this.#states.forget(ci);
    this.#parts.down(ci);
    const { minMs, secondMs } = this.#limits;
    this.#dialer.dialSoon(ci, this.#parts.own < ci ? minMs : minMs + secondMs);
  }
}

exports.Links = Links;
