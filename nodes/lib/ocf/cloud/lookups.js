'use strict';
// /rd-lookup/res and /rd-lookup/ep: what endpoints have registered (RFC 9176 section 6), for their user and for users
// with whom the registering device is shared.

const { FORMAT, OPTION, queryPairs, uint } = require('./coap');
const { hasAttribute, isMatch, writeLinks } = require('./link-format');
const { Refusal } = require('./refusal');
const { attributesOf } = require('./registrations');
const { observeNumbers, observeWish } = require('./relations');
const { checkMethod } = require('./replies');
const { ROUTE } = require('../store/found-links');

/** @typedef {import('./cloud').OcfCloud} OcfCloud */
/** @typedef {import('./sessions').Peer} Peer */
/** @typedef {import('./coap').Request} Request */
/** @typedef {import('./replies').Answer} Answer */
/** @typedef {import('./link-format').Link} Link */
/** @typedef {import('../store/endpoints').Endpoint} Endpoint */
/** @typedef {{ endpoint: Link, links: Link[] }} Entry */
/** @typedef {'res' | 'ep'} Kind */
/**
 * @typedef {object} Watcher
 * @property {Request} request
 * @property {string} uid
 * @property {Kind} kind
 * @property {() => number} next number of a notification
 * @property {string | null} last what the client has; null: nothing yet
 * @property {() => void} end
 */

/** Endpoints that one lookup reads, and links in an answer. */
const MOST_ENDPOINTS = 1024;
const MOST_LINKS = 8192;
const MOST_FILTERS = 16;
/** Bytes of the links that one lookup reads: they are parsed in the thread of all requests. */
const MOST_LINK_BYTES = 4 << 20;
/** Time until lookups are read again after the store has failed. */
const AGAIN_MS = 5000;
/** @type {import('./coap').Option} */
const FORMATTED = [OPTION.CONTENT_FORMAT, uint(FORMAT.LINKS)];

class Lookups {
  #cloud;
  /** @type {Set<Watcher>} */
  #watchers = new Set();
  /** @type {Set<Watcher>} */
  #stale = new Set();
  /** @type {Promise<void> | null} */
  #work = null;
  /** True while lookups will be read again, because the store has failed. */
  #isWaiting = false;
  /** Increases when endpoints, or who may see them, may have changed. */
  changes = 0;

  /** @param {OcfCloud} cloud */
  constructor(cloud) {
    this.#cloud = cloud;
  }

  /** @param {Peer} peer @param {Request} request @returns {Promise<Answer>} */
  async answer(peer, request) {
    checkMethod(request, 'GET');
    const kind = /** @type {Kind} */ (request.path[1]);
    const { uid } = peer;
    const wish = observeWish(request);
    if (wish === 'end') peer.relations.end(request.token);
    if (wish !== 'start') return answerOf(found(await this.#entries(uid, request), kind, request));
    peer.relations.check();
    /** @type {Watcher} */
    const watcher = { request, uid, kind, next: observeNumbers(), last: null, end: () => {} };
    // Before the entries are read, so that no change between them is lost.
    this.#watchers.add(watcher);
    const forget = () => {
      this.#watchers.delete(watcher);
      this.#stale.delete(watcher);
    };
    const remove = peer.relations.add(request.token, forget);
    watcher.end = () => {
      remove();
      forget();
    };
    try {
      watcher.last = found(await this.#entries(uid, request), kind, request);
      setImmediate(() => this.#work ?? this.#start());
      return answerOf(watcher.last, [[OPTION.OBSERVE, uint(watcher.next())]]);
    } catch (error) {
      watcher.end();
      throw error;
    }
  }

  /** Notifies those for whom a lookup has another result. @param {string[]} [uids] all users if it is missing */
  changed(uids) {
    this.changes++;
    if (this.#watchers.size === 0) return;
    const affected = uids && new Set(uids);
    for (const each of this.#watchers) if (!affected || affected.has(each.uid)) this.#stale.add(each);
    if (!this.#work) this.#start();
  }

  #start() {
    this.#work = this.#notify()
      .catch((error) => this.#cloud.problem(error))
      .finally(() => {
        this.#work = null;
      });
  }

  async #notify() {
    for (;;) {
      const ready = [...this.#stale].filter(({ last }) => last !== null);
      if (ready.length === 0) return;
      const { uid } = ready[0];
      const own = ready.filter((each) => each.uid === uid);
      for (const each of own) this.#stale.delete(each);
      try {
        const entries = await this.#entries(uid, ready[0].request);
        for (const each of own) if (this.#watchers.has(each)) this.#send(each, entries);
      } catch (error) {
        for (const each of own) if (this.#watchers.has(each)) this.#stale.add(each);
        this.#again();
        throw error;
      }
    }
  }

  /** One attempt at a time, however many fail until then. */
  #again() {
    if (this.#isWaiting) return;
    this.#isWaiting = true;
    this.#cloud.later(AGAIN_MS, () => {
      this.#isWaiting = false;
      if (!this.#work) this.#start();
    });
  }

  /** @param {Watcher} watcher @param {Entry[]} entries */
  #send(watcher, entries) {
    const { request, kind, next, last } = watcher;
    let text;
    try {
      text = found(entries, kind, request);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // A notification with an error ends the observation (RFC 7641 section 4.2).
      watcher.end();
      this.#cloud.answer(request, error.code, [], Buffer.from(error.message));
      return;
    }
    if (text === last) return;
    watcher.last = text;
    const options = /** @type {import('./coap').Option[]} */ ([[OPTION.OBSERVE, uint(next())], FORMATTED]);
    this.#cloud.answer(request, '2.05', options, Buffer.from(text));
  }

  /** @param {string} uid @param {Request} request @returns {Promise<Entry[]>} */
  async #entries(uid, request) {
    const input = { uid, now: this.#cloud.now(), most: MOST_ENDPOINTS };
    const rows = await this.#cloud.store.read('endpoints', input);
    const origin = this.#cloud.endpointFor(request);
    let bytes = 0;
    const read = rows.filter(({ links }) => (bytes += links.length) <= MOST_LINK_BYTES);
    return read.slice(0, MOST_ENDPOINTS).map((row) => entryOf(row, origin));
  }

  get size() {
    return this.#watchers.size;
  }
}

/**
 * Returns an endpoint with its links as the lookup shows them. Links of an endpoint without a base lead through the
 * cloud, because the endpoint is reached through its connection only.
 * @param {Endpoint} endpoint
 * @param {string} origin the cloud's address
 * @returns {Entry}
 */
function entryOf(endpoint, origin) {
  const { di, ep, base } = endpoint;
  /** @type {import('./link-format').Attribute[]} */
  const attributes = [['ep', ep], ...attributesOf(endpoint), ['di', di]];
  if (base) attributes.push(['base', base]);
  attributes.push(['rt', 'core.rd-ep']);
  /** @type {Link[]} */
  const links = JSON.parse(Buffer.from(endpoint.links).toString());
  const outward = base
    ? links.map((link) => based(link, base))
    : links.map((link) => routed(link, `${origin}${ROUTE}/${di}`, di));
  return { endpoint: { target: `/rd/${di}`, attributes }, links: outward };
}

/** @param {Link} link @param {string} base @returns {Link} with absolute references (RFC 9176 section 6.1) */
function based({ target, attributes }, base) {
  const href = resolved(target, base);
  return {
    target: href,
    attributes: attributes.flatMap(([name, value]) => {
      if (name !== 'anchor') return [[name, value]];
      // The anchor that every client assumes (RFC 6690 section 2.1) is left out.
      const anchor = resolved(value ?? '', base);
      return anchor === resolved('/', href) ? [] : [[name, anchor]];
    })
  };
}

/** @param {Link} link @param {string} prefix @param {string} di @returns {Link} */
function routed({ target, attributes }, prefix, di) {
  const through = (/** @type {string} */ reference) => {
    const url = URL.parse(reference, 'coap://endpoint/');
    if (url?.protocol !== 'coap:' || url.host !== 'endpoint') return reference;
    return `${prefix}${url.pathname}${url.search}`;
  };
  const hasAnchor = attributes.some(([name]) => name === 'anchor');
  /** @type {import('./link-format').Attribute[]} */
  const anchored = attributes.map(([name, value]) => [
    name,
    name === 'anchor' ? through(value ?? '') : value
  ]);
  return {
    target: through(target),
    attributes: hasAnchor ? anchored : [...anchored, ['anchor', `ocf://${di}`]]
  };
}

/** @param {string} reference @param {string} base @returns {string} as it is if it cannot be resolved */
function resolved(reference, base) {
  return URL.parse(reference, base)?.href ?? reference;
}

/**
 * @param {Entry[]} entries
 * @param {Kind} kind
 * @param {Request} request
 * @returns {string} link format
 * @throws {Refusal} 4.00
 */
function found(entries, kind, request) {
  const pairs = queryPairs(request);
  const filters = pairs.filter(([name]) => name !== 'page' && name !== 'count');
  if (filters.length > MOST_FILTERS)
    throw new Refusal('4.00', `A lookup has at most ${MOST_FILTERS} filters.`);
  const links = [];
  for (const { endpoint, links: own } of entries) {
    if (kind === 'res') {
      links.push(
        ...own.filter((link) => filters.every((each) => fits(link, each) || fitsEndpoint(endpoint, each)))
      );
    } else if (
      filters.every((each) => fitsEndpoint(endpoint, each) || own.some((link) => fits(link, each)))
    ) {
      links.push(endpoint);
    }
  }
  const page = paged(links, pairs);
  if (page.length > MOST_LINKS) {
    throw new Refusal('4.00', `More than ${MOST_LINKS} links match. Ask for pages with page and count.`);
  }
  return writeLinks(page);
}

/** @param {Link} link @param {[string, string]} filter */
function fits({ target, attributes }, [name, wanted]) {
  return name === 'href' ? isMatch(target, wanted) : hasAttribute(attributes, name, wanted);
}

/**
 * As fits(); the rt of an endpoint in a lookup is no attribute of its registration.
 * @param {Link} endpoint
 * @param {[string, string]} filter
 */
function fitsEndpoint(endpoint, filter) {
  return filter[0] !== 'rt' && fits(endpoint, filter);
}

/** @param {Link[]} links @param {[string, string][]} pairs @returns {Link[]} */
function paged(links, pairs) {
  const [page, count] = ['page', 'count'].map((name) => {
    const values = pairs.filter(([key]) => key === name).map(([, value]) => value);
    if (values.length === 0) return null;
    if (values.length > 1 || !/^\d{1,9}$/.test(values[0])) {
      throw new Refusal('4.00', `${name} must be a whole number, once.`);
    }
    return Number(values[0]);
  });
  if (count === null) {
    if (page !== null) throw new Refusal('4.00', 'page needs count.');
    return links;
  }
  const start = (page ?? 0) * count;
  return links.slice(start, start + count);
}

/** @param {string} text link format @param {import('./coap').Option[]} [options] @returns {Answer} */
function answerOf(text, options = []) {
  // send() describes a payload, but an empty list is link format, too.
  return {
    code: '2.05',
    options: text === '' ? [...options, FORMATTED] : options,
    encoded: Buffer.from(text)
  };
}

exports.Lookups = Lookups;
