'use strict';
// Makes things of the devices of an OCF cloud, with a property for each published resource, and of the endpoints of its
// RFC 9176 directory.

const { shown } = require('../../base/values');
const { decode } = require('../../ocf/cloud/bodies');

const PERIOD_MS = 60000;
const PAGE = 200;
const MAX_DEVICES = 10000;
const MAX_ENDPOINTS = 1024;
/** What resource types measure, in SAREF. A map, because devices choose the types that are looked up. */
const MEANINGS = new Map([
  ['oic.r.temperature', 'saref:Temperature'],
  ['oic.r.humidity', 'saref:Humidity'],
  ['oic.r.sensor.atmosphericpressure', 'saref:Pressure'],
  ['oic.r.sensor.illuminance', 'saref:Light'],
  ['oic.r.light.brightness', 'saref:Light'],
  ['oic.r.energy.consumption', 'saref:Energy'],
  ['oic.r.energy.usage', 'saref:Power'],
  ['oic.r.sensor.motion', 'saref:Motion'],
  ['oic.r.sensor.presence', 'saref:Occupancy'],
  ['oic.r.sensor.smoke', 'saref:Smoke']
]);

/**
 * @typedef {import('../../ocf/node/clouds').Cloud} Cloud
 * @typedef {import('../make-thing').Source} Source
 *
 * @typedef {object} OcfFeedParts
 * @property {string} source its name in the store
 * @property {() => Cloud | null} cloud
 * @property {(source: Omit<Source, 'placed'>) => import('../directory-store').Made} make
 * @property {(what: string, input: object) => Promise<any>} ask the store
 * @property {(sentence: string) => void} problem
 * @property {(things: number) => void} left gets the number of things beyond the limit of the directory
 */

class OcfFeed {
  #parts;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isClosed = false;
  /** @type {Promise<void>} */
  #work = Promise.resolve();

  /** @param {OcfFeedParts} parts */
  constructor(parts) {
    this.#parts = parts;
    this.soon();
  }

  /** Call it when the cloud opens. */
  soon() {
    this.#plan(0);
  }

  /** @param {number} ms */
  #plan(ms) {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#work = this.#work.then(() => this.#run());
    }, ms).unref();
  }

  async #run() {
    const cloud = this.#parts.cloud();
    try {
      if (cloud && !this.#isClosed) await this.#read(cloud);
    } catch (error) {
      if (!this.#isClosed && !cloud?.isClosed)
        this.#parts.problem(
          `The things of the OCF cloud could not be read: ${/** @type {Error} */ (error).message}`
        );
    }
    this.#plan(PERIOD_MS);
  }

  /** @param {Cloud} cloud */
  async #read(cloud) {
    const { ask, make, problem, source, left } = this.#parts;
    const ids = [];
    let beyond = 0;
    // One after the other: a promise that nobody waits for yet would end the process when it rejects.
    for (const entries of [this.#devices(cloud), this.#endpoints(cloud)]) {
      const found = await collect(entries);
      const things = found.flatMap((each) => this.#only(each.device, () => make(each)));
      for (let i = 0; i < things.length; i += PAGE) {
        const made = await ask('make', {
          source,
          things: things.slice(i, i + PAGE),
          seen: things.map(({ id }) => id).slice(i, i + PAGE)
        });
        beyond += made.left.length;
        for (const sentence of made.problems) problem(`A thing could not be made: ${sentence}.`);
      }
      ids.push(...things.map(({ id }) => id));
    }
    left(beyond);
    if (!this.#isClosed) await ask('keepOnly', { source, ids });
  }

  /** @param {Cloud} cloud */
  async *#devices(cloud) {
    const { store } = cloud;
    for (let page = 1; (page - 1) * PAGE < MAX_DEVICES; page++) {
      const { rows, pages } = await store.read('deviceList', { q: '', page, size: PAGE, only: null });
      for (const { di, name, kind } of rows) {
        const links = await store.read('linksOf', { di, types: ['*'], now: cloud.now() });
        yield* this.#only(di, () => ({
          device: di,
          title: name,
          protocol: 'ocf',
          types: kind ? [`urn:ocf:${kind}`] : [],
          resources: distinct(
            links.flatMap(({ href, body }) => resourceOf(di, href, decode(Buffer.from(body))?.rt))
          )
        }));
      }
      if (page >= pages) return;
    }
  }

  /** @param {Cloud} cloud */
  async *#endpoints(cloud) {
    const { store } = cloud;
    for (const { uid } of await store.read('users')) {
      const input = { uid, now: cloud.now(), most: MAX_ENDPOINTS };
      for (const endpoint of (await store.read('endpoints', input)).slice(0, MAX_ENDPOINTS)) {
        if (endpoint.uid !== uid) continue;
        yield* this.#only(endpoint.di, () => ({
          device: endpoint.di,
          title: endpoint.ep,
          protocol: 'rfc9176',
          types: [],
          resources: distinct(resourcesOf(endpoint))
        }));
      }
    }
  }

  /**
   * Returns what the work makes, or nothing if it fails, so that one device does not keep the others out.
   * @template T
   * @param {string} device
   * @param {() => T} work
   * @returns {T[]}
   */
  #only(device, work) {
    try {
      return [work()];
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      this.#parts.problem(`The thing of the OCF device ${shown(device)} could not be made: ${message}`);
      return [];
    }
  }

  /** @returns {Promise<void>} */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#work;
  }
}

/** @param {AsyncIterable<Omit<Source, 'placed'>>} sources */
async function collect(sources) {
  const found = [];
  for await (const source of sources) found.push(source);
  return found;
}

/**
 * @param {string} di
 * @param {string} href
 * @param {unknown} types
 * @returns {import('../make-thing').Resource[]} none for a resource that describes the device itself
 */
function resourceOf(di, href, types) {
  const given = (Array.isArray(types) ? types : []).filter((type) => typeof type === 'string' && type !== '');
  if (!href.startsWith('/') || given.some((type) => type.startsWith('oic.wk.') || type.startsWith('oic.d.')))
    return [];
  const meanings = given.flatMap((type) => MEANINGS.get(type) ?? []);
  const name = href.split('/').filter(Boolean).join('.') || 'resource';
  const named = given.map((type) => `urn:ocf:${encodeURIComponent(type)}`);
  return [{ name, types: [...meanings, ...named], url: `ocf://${di}${href}` }];
}

/** @param {{ via: string, links: Uint8Array }} endpoint of RFC 9176 */
function resourcesOf({ via, links }) {
  /** @type {import('../../ocf/cloud/link-format').Link[]} */
  const list = JSON.parse(Buffer.from(links).toString());
  return list.flatMap(({ target, attributes }) => {
    const types = attributes
      .filter(([name]) => name === 'rt')
      .flatMap(([, value]) => (value ?? '').split(' '));
    return resourceOf(via, target, types);
  });
}

/** @param {import('../make-thing').Resource[]} resources */
function distinct(resources) {
  return [...new Map(resources.map((each) => [each.name, each])).values()];
}

module.exports = { OcfFeed };
