'use strict';
// Records of published resources: the gateway observes those whose type the user chose, and all of a device while
// somebody asks for it. Each notification becomes a record of the device.

const { decode } = require('./bodies');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./coap').DeviceAnswer} DeviceAnswer */
/** @typedef {import('./own-observations').OwnObservation} OwnObservation */
/**
 * @typedef {object} Resource that is recorded
 * @property {string} di
 * @property {string} href
 * @property {number} expires ms since 1970, Infinity = never
 * @property {OwnObservation | null} own null: the device ended it
 * @property {number} open records that are not safe yet
 * @property {Buffer | null} held latest value without a record, while too many are open or the engine is full
 * @property {NodeJS.Timeout | null} timer until the held value is tried again
 */
/**
 * @typedef {object} Device
 * @property {Map<string, Resource>} resources by href
 * @property {Promise<void> | null} work
 * @property {boolean} isStale what is published may have changed since `work` has read it
 */

const LIMITS = {
  /** Resources of a device; the desk has room for 64 observations at a device, which controllers need, too. */
  ofDevice: 32,
  /** Half of the desk's room for requests and observations. */
  inAll: 8192,
  /** Records of a resource that are not safe yet. */
  openRecords: 16
};
/** Bit of a link's policy: the resource may be observed. */
const OBSERVABLE = 2;
const RETRY_MS = 1000;
/** After the store has failed: devices whose links are read at a time. */
const REREADS = 256;
/** After the store has failed: most calls of expire() from one attempt to the next. */
const MOST_PAUSE = 32;

class ObservedRecords {
  #cloud;
  /** Signed-in devices. @type {Map<string, Device>} */
  #devices = new Map();
  #size = 0;
  /** How many ask for all resources of a device. @type {Map<string, number>} */
  #asked = new Map();
  /** Devices whose links could not be read, longest ago first. @type {Set<string>} */
  #unread = new Set();
  /** Calls of expire() from one attempt to the next: twice as many after each, 1 when the store has answered. */
  #pause = 1;
  /** Calls of expire() until the next attempt. */
  #ticksLeft = 1;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /** A device has signed in, or what it publishes has changed. @param {string} di */
  changed(di) {
    const isWanted =
      this.#cloud.options.recordTypes.length > 0 || this.#asked.has(di) || this.#devices.has(di);
    if (!isWanted || this.#cloud.isClosed) return;
    if (!this.#cloud.sessions.isReachable(di)) return;
    /** @type {Device} */
    const device = this.#devices.get(di) ?? { resources: new Map(), work: null, isStale: false };
    this.#devices.set(di, device);
    device.isStale = true;
    device.work ??= this.#work(di, device);
  }

  /**
   * Records all observable resources of a device, as often as it notifies.
   * @param {string} di
   * @returns {() => void} ends that; those whose type the user chose stay
   */
  ask(di) {
    this.#asked.set(di, (this.#asked.get(di) ?? 0) + 1);
    this.changed(di);
    return () => {
      const left = (this.#asked.get(di) ?? 1) - 1;
      if (left > 0) this.#asked.set(di, left);
      else this.#asked.delete(di);
      this.changed(di);
    };
  }

  /** A device has left, or was deleted. @param {string} di */
  off(di) {
    const device = this.#devices.get(di);
    this.#devices.delete(di);
    this.#unread.delete(di);
    for (const resource of device?.resources.values() ?? []) this.#drop(resource);
    device?.resources.clear();
  }

  /** Ends what is no longer published, and reads again what could not be read. To be called each second. */
  expire() {
    const now = this.#cloud.now();
    for (const [di, { resources, work }] of this.#devices) {
      if (work || this.#unread.has(di)) continue;
      if ([...resources.values()].some(({ expires }) => expires <= now)) this.changed(di);
    }
    this.#reread();
  }

  #reread() {
    if (this.#unread.size === 0 || --this.#ticksLeft > 0) return;
    this.#pause = this.#ticksLeft = Math.min(2 * this.#pause, MOST_PAUSE);
    for (const di of [...this.#unread].slice(0, REREADS)) {
      if (!this.#devices.get(di)?.work) this.changed(di);
    }
  }

  close() {
    for (const di of [...this.#devices.keys()]) this.off(di);
  }

  /** @param {string} di @param {Device} device */
  async #work(di, device) {
    try {
      while (device.isStale && this.#devices.get(di) === device) {
        device.isStale = false;
        const wanted = await this.#wanted(di);
        this.#pause = this.#ticksLeft = 1;
        if (this.#devices.get(di) !== device) break;
        this.#apply(di, device.resources, wanted);
        this.#unread.delete(di);
      }
    } catch (error) {
      // One outage of the store concerns many devices, and is reported once.
      if (this.#unread.size === 0) this.#cloud.problem(error);
      if (this.#devices.get(di) === device) {
        this.#unread.delete(di);
        this.#unread.add(di);
      }
    }
    device.work = null;
  }

  /** @param {string} di @returns {Promise<Map<string, number>>} the end of each link by its href */
  async #wanted(di) {
    const { store, options } = this.#cloud;
    const types = this.#asked.has(di) ? ['*'] : [...options.recordTypes];
    if (types.length === 0) return new Map();
    const links = await store.read('linksOf', { di, types, now: this.#cloud.now() });
    const fit = links.filter(({ body }) => isObservable(decode(Buffer.from(body))));
    if (fit.length > LIMITS.ofDevice) {
      this.#unobserved(
        di,
        `has ${fit.length} observable resources to record, and the limit is ${LIMITS.ofDevice}`
      );
    }
    return new Map(
      fit.slice(0, LIMITS.ofDevice).map(({ href, expires }) => [href, expires === 0 ? Infinity : expires])
    );
  }

  /** @param {string} di @param {Map<string, Resource>} resources @param {Map<string, number>} wanted */
  #apply(di, resources, wanted) {
    for (const [href, resource] of resources) {
      if (wanted.has(href)) continue;
      resources.delete(href);
      this.#drop(resource);
    }
    for (const [href, expires] of wanted) {
      const known = resources.get(href);
      if (known) known.expires = expires;
      else if (this.#size >= LIMITS.inAll) {
        this.#unobserved(di, `has a resource to record, and ${LIMITS.inAll} are recorded already`);
        return;
      }
      const resource = known ?? { di, href, expires, own: null, open: 0, held: null, timer: null };
      if (!known) this.#size++;
      resources.set(href, resource);
      resource.own ??= this.#observe(resource);
    }
  }

  /** @param {Resource} resource @returns {OwnObservation} */
  #observe(resource) {
    const { di, href } = resource;
    const { ownObservations, options } = this.#cloud;
    const path = href.slice(1).split('/');
    return ownObservations.start(
      { di, path, query: [], timeoutMs: options.requestTimeoutMs },
      {
        answered: (answer, goesOn) => this.#answered(resource, answer, goesOn),
        failed: ({ reason, message }) => {
          if (reason !== 'deleted') this.#unobserved(di, `did not answer for ${href}: ${message}`);
          return 'again';
        }
      }
    );
  }

  /** @param {Resource} resource @param {DeviceAnswer} answer @param {boolean} goesOn */
  #answered(resource, { code, payload }, goesOn) {
    if (goesOn) {
      if (payload.length > 0) this.#record(resource, payload);
      return;
    }
    // Tried again when the device publishes or signs in.
    resource.own = null;
    const shown = `${code >> 5}.${String(code & 31).padStart(2, '0')}`;
    this.#unobserved(resource.di, `ended the observation of ${resource.href} (${shown})`);
  }

  /** @param {Resource} resource @param {Buffer} payload */
  #record(resource, payload) {
    const { desk, options, sessions } = this.#cloud;
    const peer = sessions.of(resource.di);
    if (!peer) return;
    // RFC 7641 section 1.3: the latest state counts.
    if (resource.open >= LIMITS.openRecords || resource.timer) {
      resource.held = payload;
      return;
    }
    resource.open++;
    const topic = `${resource.di}${resource.href}`;
    desk.record(peer.connection, topic, payload, options.recordClass).then(
      (outcome) => this.#recorded(resource, payload, outcome),
      (error) => {
        this.#cloud.problem(error);
        this.#recorded(resource, payload, 'lost');
      }
    );
  }

  /** @param {Resource} resource @param {Buffer} payload @param {string} outcome */
  #recorded(resource, payload, outcome) {
    resource.open--;
    if (this.#devices.get(resource.di)?.resources.get(resource.href) !== resource) return;
    if (outcome === 'full') this.#later(resource, payload);
    else if (outcome === 'oddTopic' || outcome === 'tooLong' || outcome === 'notAllowed') {
      this.#unobserved(resource.di, `sent a value of ${resource.href} that cannot be a record (${outcome})`);
    }
    if (resource.timer || !resource.held) return;
    const { held } = resource;
    resource.held = null;
    this.#record(resource, held);
  }

  /** Holds a value until the engine has room. @param {Resource} resource @param {Buffer} payload */
  #later(resource, payload) {
    resource.held ??= payload;
    if (resource.timer) return;
    resource.timer = setTimeout(() => {
      resource.timer = null;
      const { held } = resource;
      resource.held = null;
      if (held) this.#record(resource, held);
    }, RETRY_MS);
    resource.timer.unref();
  }

  /** @param {Resource} resource */
  #drop(resource) {
    this.#size--;
    if (resource.timer) clearTimeout(resource.timer);
    resource.own?.end();
    resource.own = resource.timer = resource.held = null;
  }

  /** @param {string} di @param {string} why completes "The device …" */
  #unobserved(di, why) {
    this.#cloud.events.unrecorded?.({ di, why });
  }

  /** Resources that are recorded. */
  get size() {
    return this.#size;
  }
}

/** @param {any} link decoded */
function isObservable(link) {
  const bm = link?.p?.bm;
  return Number.isInteger(bm) && (bm & OBSERVABLE) !== 0;
}

module.exports = { ObservedRecords, LIMITS };
