'use strict';
// The links of a gateway: one for each other region. Both sides listen; the one that needs a link connects, and if both
// do, the connection of the region with the smaller address stays.

const tls = require('node:tls');
const net = require('node:net');
const { Backoff } = require('../../base/backoff');
const { connectionName } = require('../../base/connection-name');
const { OPTION } = require('../ocf/coap');
const { parseAddress } = require('./address');
const { Link } = require('./link');
const { LinkStates } = require('./link-states');
const { isPeer, isTrusted } = require('./peers');

/** @typedef {import('./link').Incoming} Incoming */
/** @typedef {InstanceType<typeof Link>} OpenLink */
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
 * @property {Partial<typeof LIMITS> & { link?: Partial<typeof import('./link').LIMITS> }} [limits]
 */
/** @typedef {{ backoff: Backoff, timer: NodeJS.Timeout | undefined, socket: import('node:tls').TLSSocket | null }} Dial */
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
const HELLO = ['oic', 'region'];
const POST = 2;
const CODE = { CHANGED: 0x44, BAD_REQUEST: 0x80, FORBIDDEN: 0x83, UNAVAILABLE: 0xa3 };
const MOST_HELLO_BYTES = 1024;
const EMPTY = Buffer.alloc(0);
/** Time for the last messages of links. */
const CLOSE_MS = 1500;

class Links {
  #parts;
  #limits;
  /** @type {Map<string, Entry>} */
  #links = new Map();
  /** Regions that are wanted and have no link. @type {Map<string, Dial>} */
  #dials = new Map();
  /** @type {Set<string>} */
  #wanted = new Set();
  /** Connections that have not shown who they are. @type {Set<OpenLink>} */
  #unknown = new Set();
  /** Connections to the port. @type {Set<net.Socket>} */
  #sockets = new Set();
  /** Names of those that have not shown who they are. @type {Set<string>} */
  #strangers = new Set();
  /** @type {import('node:tls').Server | null} */
  #server = null;
  /** @type {NodeJS.Timeout | undefined} */
  #filesTimer;
  #isClosed = false;
  #states;
  counts = { accepted: 0, refused: 0, connects: 0, lost: 0 };

  /** @param {LinksParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.#limits = { ...LIMITS, ...parts.limits };
    this.#states = new LinkStates(parts.now);
  }

  /**
   * @returns {Promise<number>} the port
   * @throws {Error} of the system, or with a sentence
   */
  async listen() {
    const { listen, secrets } = this.#parts;
    const server = tls.createServer(
      {
        ...secrets.read(),
        handshakeTimeout: this.#limits.helloMs,
        requestCert: true,
        rejectUnauthorized: true,
        ALPNProtocols: ['coap']
      },
      (socket) => this.#accept(socket)
    );
    server.on('connection', (socket) => this.#enter(socket));
    server.on('tlsClientError', (_error, socket) => {
      this.counts.refused++;
      socket.destroy();
    });
    await new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(listen, () => resolve(undefined));
    });
    this.#server = server;
    server.removeAllListeners('error').on('error', () => {});
    if (this.#isClosed) {
      server.close();
      return 0;
    }
    this.#filesTimer = setInterval(() => void this.#checkFiles(), this.#limits.filesMs);
    this.#filesTimer.unref();
    return /** @type {net.AddressInfo} */ (server.address()).port;
  }

  async #checkFiles() {
    const { secrets, report } = this.#parts;
    try {
      if (await secrets.haveChanged()) this.#server?.setSecureContext(secrets.read());
    } catch (error) {
      report(`${/** @type {Error} */ (error).message} The previous version stays in use.`);
    }
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
    if (!this.#links.has(ci)) this.#dialSoon(ci, this.#parts.own < ci ? 0 : this.#limits.secondMs);
  }

  /** Does not connect any more; an open link stays. @param {string} ci */
  unwant(ci) {
    if (!this.#wanted.delete(ci)) return;
    const dial = this.#dials.get(ci);
    clearTimeout(dial?.timer);
    dial?.socket?.destroy();
    this.#dials.delete(ci);
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
    clearInterval(this.#filesTimer);
    for (const ci of [...this.#wanted]) this.unwant(ci);
    for (const { link } of [...this.#links.values()]) link.end('closing');
    for (const link of [...this.#unknown]) link.end('closing');
    const server = this.#server;
    if (!server?.listening) return;
    await new Promise((resolve) => {
      server.close(() => resolve(undefined));
      const timer = setTimeout(() => {
        for (const socket of this.#sockets) socket.destroy();
      }, CLOSE_MS);
      server.once('close', () => clearTimeout(timer));
    });
  }

  /** @param {net.Socket} socket */
  #enter(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    const name = connectionName(socket);
    this.#strangers.add(name);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      this.#strangers.delete(name);
    });
    if (this.#strangers.size <= this.#limits.mostUnknown) return;
    this.counts.refused++;
    socket.destroy();
  }

  /** A gateway with a certificate of our authorities has connected. @param {tls.TLSSocket} socket */
  #accept(socket) {
    socket.on('error', () => {});
    /** Its region, '' = it has not said. */
    let ci = '';
    const link = new Link(
      socket,
      {
        asked: (incoming) => {
          if (ci !== '') return this.#parts.asked(incoming, ci);
          const { code, answer } = this.#greet(incoming, socket);
          incoming.answer(code, [], Buffer.from(JSON.stringify(answer)));
          if (typeof answer.ci !== 'string' || code !== CODE.CHANGED) {
            this.counts.refused++;
            return link.end('refused');
          }
          clearTimeout(timer);
          this.#unknown.delete(link);
          this.#strangers.delete(connectionName(socket));
          ci = answer.peer;
          this.counts.accepted++;
          this.#add(ci, { link, isDialed: false });
        },
        ended: (reason) => {
          clearTimeout(timer);
          this.#unknown.delete(link);
          if (ci !== '') this.#remove(ci, link, reason);
        }
      },
      this.#limits.link
    );
    this.#unknown.add(link);
    const timer = setTimeout(() => link.end('refused'), this.#limits.helloMs);
  }

  /**
   * @param {Incoming} incoming the first request of a connection
   * @param {tls.TLSSocket} socket
   * @returns {{ code: number, answer: Record<string, any> }}
   */
  #greet({ message }, socket) {
    const { own, sid, names } = this.#parts;
    const refuse = (/** @type {number} */ code, /** @type {string} */ error) => ({ code, answer: { error } });
    const hello = helloOf(message);
    if (!hello) return refuse(CODE.BAD_REQUEST, 'The first request must be a greeting.');
    if (hello.sid !== sid()) return refuse(CODE.FORBIDDEN, 'This is a gateway of another cloud.');
    if (hello.ci === own) return refuse(CODE.FORBIDDEN, 'Two gateways have the same address of a region.');
    if (!isTrusted(socket, hello.ci, names)) {
      this.#parts.report(`A certificate that is not for ${hello.ci} was used for it. The link is refused.`);
      return refuse(CODE.FORBIDDEN, 'The certificate is not that of the region.');
    }
    const before = this.#links.get(hello.ci);
    if (this.#isClosed || (!before && this.#links.size >= this.#limits.mostLinks)) {
      return refuse(CODE.UNAVAILABLE, 'There is no room for another region.');
    }
    const dialed = this.#dials.get(hello.ci)?.socket;
    // An attempt that has not reached the other side may never do so.
    const isDialing = before?.isDialed ?? Boolean(dialed && !dialed.connecting);
    if (isDialing && own < hello.ci) return refuse(CODE.UNAVAILABLE, 'There is a link already.');
    return { code: CODE.CHANGED, answer: { ci: own, sid: sid(), peer: hello.ci } };
  }

  /** @param {string} ci @param {number} ms */
  #dialSoon(ci, ms) {
    if (this.#isClosed || !this.#wanted.has(ci)) return;
    const { minMs, maxMs } = this.#limits;
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

  /** @param {string} ci @param {Dial} dial */
  #dial(ci, dial) {
    const isWanted = () => !dial.socket && !this.#links.has(ci) && this.#dials.get(ci) === dial;
    if (!isWanted()) return;
    const address = /** @type {{ host: string, port: number }} */ (parseAddress(ci));
    const { place } = this.#parts;
    if (!place) return this.#connect(ci, dial, address.host, address);
    place(address.host, address.port).then(
      (near) => isWanted() && this.#connect(ci, dial, address.host, near),
      ({ message }) => {
        if (!isWanted()) return;
        this.#states.failed(ci, message);
        this.#dialSoon(ci, dial.backoff.next());
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
    const { names, secrets, report } = this.#parts;
    let options;
    try {
      options = secrets.read();
    } catch (error) {
      report(/** @type {Error} */ (error).message);
      return this.#dialSoon(ci, dial.backoff.next());
    }
    const socket = tls.connect({
      ...options,
      ...place,
      ...(!net.isIP(host) && { servername: host }),
      ALPNProtocols: ['coap'],
      rejectUnauthorized: true,
      checkServerIdentity: () => undefined,
      timeout: this.#limits.helloMs
    });
    dial.socket = socket;
    const failed = (/** @type {Error | string} */ why) => {
      if (dial.socket !== socket) return;
      dial.socket = null;
      socket.destroy();
      if (typeof why === 'string') report(`The region ${ci} cannot be reached: ${why}`);
      this.#states.failed(ci, why);
      this.#dialSoon(ci, dial.backoff.next());
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
      this.#hello(ci, dial, socket, failed);
    });
  }

  /**
   * @param {string} ci
   * @param {Dial} dial
   * @param {tls.TLSSocket} socket
   * @param {(why: Error | string) => void} failed
   */
  #hello(ci, dial, socket, failed) {
    const { own, sid } = this.#parts;
    let isUp = false;
    const link = new Link(
      socket,
      {
        asked: (incoming) => {
          if (isUp) this.#parts.asked(incoming, ci);
          else incoming.answer(CODE.UNAVAILABLE, [], EMPTY);
        },
        ended: (reason) => {
          if (isUp) this.#remove(ci, link, reason);
          else failed(new Error('closed'));
        }
      },
      this.#limits.link
    );
    const payload = Buffer.from(JSON.stringify({ ci: own, sid: sid() }));
    const outgoing = { code: POST, path: HELLO, options: [], payload, observe: false };
    link.ask({ ...outgoing, timeoutMs: this.#limits.helloMs }, (answer) => {
      if (dial.socket !== socket) return link.end('closing');
      if (answer.code !== CODE.CHANGED) {
        const isWrong = answer.code === CODE.FORBIDDEN;
        failed(isWrong ? reasonIn(answer.payload) : new Error('refused'));
        return link.end('closing');
      }
      isUp = true;
      dial.socket = null;
      this.counts.connects++;
      this.#add(ci, { link, isDialed: true });
    });
  }

  /** @param {string} ci @param {Entry} entry */
  #add(ci, entry) {
    const before = this.#links.get(ci);
    this.#links.set(ci, entry);
    const dial = this.#dials.get(ci);
    clearTimeout(dial?.timer);
    this.#dials.delete(ci);
    dial?.socket?.destroy();
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
    this.#dialSoon(ci, this.#parts.own < ci ? minMs : minMs + secondMs);
  }
}

/** @param {import('./link-messages').Message} message @returns {{ ci: string, sid: string } | null} */
function helloOf({ code, options, payload }) {
  const path = options.filter(([number]) => number === OPTION.URI_PATH).map(([, value]) => value.toString());
  if (code !== POST || path.join('/') !== HELLO.join('/') || payload.length > MOST_HELLO_BYTES) return null;
  try {
    const { ci, sid } = JSON.parse(payload.toString());
    return typeof ci === 'string' && typeof sid === 'string' && parseAddress(ci) ? { ci, sid } : null;
  } catch {
    return null;
  }
}

/** @param {Buffer} payload of a refused greeting */
function reasonIn(payload) {
  try {
    return String(JSON.parse(payload.toString()).error).slice(0, 200);
  } catch {
    return 'it refuses the link.';
  }
}

module.exports = { Links, LIMITS };
