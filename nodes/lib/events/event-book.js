'use strict';
// The events of a gateway: what happened, since when, how often, and whether it lasts. What happens again soon is
// counted at its event, so a fault that comes and goes is one event.

const { KINDS, sentenceOf } = require('./kinds');

/** Open events. Of further devices, one event counts them all; further events of other kinds are left out. */
const MAX_OPEN = 1000;
/** What happens again within this time after its end is the same event, ms. */
const AGAIN_MS = 300_000;
/** Characters of a text in an event. */
const MAX_TEXT = 200;
/** Rows that the live stream shows. */
const LATEST = 5;

/**
 * @typedef {import('./event-store').Event} Event
 * @typedef {Event & { sentence: string }} ShownEvent
 *
 * @typedef {object} Fact what happens
 * @property {string} kind see KINDS
 * @property {string} [engine] id of the engine node, '' = the whole gateway
 * @property {string} subject
 * @property {string} [key] of its sentence, default: the kind
 * @property {Record<string, string | number>} [params] of its sentence
 * @property {import('./kinds').Severity} [severity] default: of the kind
 *
 * @typedef {'began' | 'again' | 'ended' | 'acknowledged'} Change
 * @typedef {(event: ShownEvent, change: Change) => void} Follower must not throw
 */

class EventBook {
  #store;
  #now;
  #wall;
  /** By keyOf(). @type {Map<string, Event>} */
  #open = new Map();
  /** Ended less than AGAIN_MS ago, oldest first. @type {Map<string, { event: Event, at: number }>} */
  #recent = new Map();
  /** When an open event last happened, by key. @type {Map<string, number>} */
  #seenAt = new Map();
  /** @type {Set<Follower>} */
  #followers = new Set();
  /** The latest events. @type {Event[]} */
  #latest = [];

  /**
   * @param {import('./event-store').EventStore} store
   * @param {{ now?: () => number, wall?: () => number }} [clocks] ms: monotonic, and since 1970
   */
  constructor(store, { now = () => performance.now(), wall = () => Date.now() } = {}) {
    this.#store = store;
    this.#now = now;
    this.#wall = wall;
  }

  /** Begins a run of the gateway. @returns {boolean | null} see EventStore.begin() */
  begin() {
    const { open, isClean } = this.#store.begin();
    this.#open = new Map(open.map((event) => [keyOf(event), event]));
    this.#seenAt = new Map([...this.#open.keys()].map((key) => [key, this.#now()]));
    this.#latest = this.#store.events({ before: Infinity, limit: LATEST, since: 0 });
    return isClean;
  }

  end() {
    this.#store.end();
  }

  /** @param {Follower} follower @returns {() => void} removes it */
  follow(follower) {
    this.#followers.add(follower);
    return () => void this.#followers.delete(follower);
  }

  /**
   * Something happens, and lasts until end(), or as long as its kind says.
   * @param {Fact} fact
   * @param {number} [count] occurrences
   */
  happens(fact, count = 1) {
    const event = this.#openOf(fact);
    if (event) {
      this.#seenAt.set(keyOf(event), this.#now());
      event.count += count;
      this.#update(event, fact);
      this.#store.put(event);
    } else this.#begin(fact, count);
  }

  /** Something happened, and is over. @param {Fact} fact */
  happened(fact) {
    this.#begin(fact, 1, true);
    const event = this.#open.get(keyOf(fact));
    if (event) this.#end(event, this.#wall(), false);
  }

  /** @param {Pick<Fact, 'kind' | 'engine' | 'subject'>} fact */
  ends(fact) {
    const event = this.#open.get(keyOf(fact));
    if (event) this.#end(event, this.#wall());
  }

  /**
   * Compares what lasts now with the open events of these kinds: begins and ends them.
   * @param {string[]} kinds
   * @param {Fact[]} facts all that last
   * @param {(event: Event) => boolean} [isUnknown] true: whether the event lasts is unknown, so it does not end
   */
  observe(kinds, facts, isUnknown = () => false) {
    const stays = new Set(facts.map(keyOf));
    for (const event of [...this.#open.values()]) {
      const isOver = kinds.includes(event.kind) && !stays.has(keyOf(event)) && !isUnknown(event);
      if (isOver) this.#end(event, this.#wall());
    }
    for (const fact of facts) {
      const event = this.#open.get(keyOf(fact));
      if (!event) this.#begin(fact, 1);
      else if (this.#update(event, fact)) this.#store.put(event);
    }
  }

  /** Ends events that did not happen for the time of their kind. Call it every few seconds. */
  tick() {
    const now = this.#now();
    for (const event of [...this.#open.values()]) {
      const { quietMs = Infinity } = KINDS[event.kind] ?? {};
      const seenAt = this.#seenAt.get(keyOf(event)) ?? now;
      if (now - seenAt > quietMs) this.#end(event, this.#wall() - Math.round(now - seenAt));
    }
    const crowd = this.#open.get(keyOf(CROWD));
    if (crowd && this.#open.size < MAX_OPEN) this.#end(crowd, this.#wall());
    for (const [key, { at }] of this.#recent) {
      if (now - at <= AGAIN_MS) break;
      this.#recent.delete(key);
    }
  }

  /**
   * @param {number} id
   * @param {string} by user
   * @returns {ShownEvent | null} null = there is none
   */
  acknowledge(id, by) {
    const isIt = (/** @type {Event} */ event) => event.id === id;
    const recent = [...this.#recent.values()].map(({ event }) => event);
    const event = [...this.#open.values(), ...recent, ...this.#latest].find(isIt) ?? this.#store.event(id);
    if (!event) return null;
    event.acknowledged ??= { by: cut(by), at: this.#wall() };
    this.#latest = this.#latest.map((each) => (isIt(each) ? event : each));
    this.#store.put(event);
    this.#tell(event, 'acknowledged');
    return shownOf(event);
  }

  /**
   * @param {{ before?: number, limit: number, since?: number, isOpen?: boolean }} page before: an id; since: ms since
   *   1970
   * @returns {ShownEvent[]} newest first
   */
  page({ before = Infinity, limit, since = 0, isOpen = false }) {
    if (!isOpen) return this.#store.events({ before, limit, since }).map(shownOf);
    const open = [...this.#open.values()].filter(({ id }) => id < before);
    return open
      .sort((a, b) => b.id - a.id)
      .slice(0, limit)
      .map(shownOf);
  }

  /** @returns {{ open: number, unacknowledged: number, latest: ShownEvent[] }} for the live stream */
  summary() {
    const open = [...this.#open.values()];
    return {
      open: open.length,
      unacknowledged: open.filter(({ acknowledged }) => acknowledged === null).length,
      latest: this.#latest.map(shownOf)
    };
  }

  /** @param {Fact} fact @returns {Event | undefined} the open event that counts it */
  #openOf(fact) {
    return this.#open.get(keyOf(fact)) ?? (this.#isCrowd(fact) ? this.#open.get(keyOf(CROWD)) : undefined);
  }

  /** True if one event counts all such facts. @param {Fact} fact */
  #isCrowd({ kind }) {
    return kind === 'device' && this.#open.size >= MAX_OPEN;
  }

  /** @param {Fact} given @param {number} count @param {boolean} [isOver] it ends at once */
  #begin(given, count, isOver = false) {
    const fact = this.#isCrowd(given) ? CROWD : given;
    // One more for the crowd, and a few for what is more urgent than devices.
    if (this.#open.size >= MAX_OPEN + (fact.kind === 'device' ? 1 : 100)) return;
    const key = keyOf(fact);
    const before = this.#recent.get(key)?.event;
    this.#recent.delete(key);
    const event = before ?? this.#make(fact);
    Object.assign(event, {
      until: isOver ? this.#wall() : null,
      count: (before?.count ?? 0) + count,
      acknowledged: null
    });
    this.#update(event, fact);
    this.#open.set(key, event);
    this.#seenAt.set(key, this.#now());
    this.#store.put(event);
    this.#latest = [event, ...this.#latest.filter(({ id }) => id !== event.id)].slice(0, LATEST);
    this.#tell(event, before ? 'again' : 'began');
  }

  /** @param {Fact} fact @returns {Event} */
  #make({ kind, engine = '', subject }) {
    const { severity } = KINDS[kind];
    const since = this.#wall();
    const more = { key: kind, params: {}, until: null, count: 0, acknowledged: null };
    return { id: this.#store.nextId(), kind, severity, engine, subject: cut(subject), since, ...more };
  }

  /** @param {Event} event @param {Fact} fact @returns {boolean} true if the event changed */
  #update(event, { kind, key = kind, params = {}, severity = KINDS[kind].severity }) {
    // The crowd keeps its own words.
    if (event.subject === CROWD.subject && kind === 'device') key = 'devices';
    const texts = Object.fromEntries(
      Object.entries(params).map(([name, value]) => [name, typeof value === 'string' ? cut(value) : value])
    );
    const isSame = event.key === key && JSON.stringify(event.params) === JSON.stringify(texts);
    Object.assign(event, { key, params: texts, severity });
    return !isSame;
  }

  /** @param {Event} event @param {number} until @param {boolean} [isNews] the followers are called */
  #end(event, until, isNews = true) {
    const key = keyOf(event);
    this.#open.delete(key);
    this.#seenAt.delete(key);
    event.until = Math.max(event.since, until);
    this.#recent.set(key, { event, at: this.#now() });
    if (this.#recent.size > MAX_OPEN) this.#recent.delete([...this.#recent.keys()][0]);
    this.#store.put(event);
    if (isNews) this.#tell(event, 'ended');
  }

  /** @param {Event} event @param {Change} change */
  #tell(event, change) {
    for (const follower of this.#followers) follower(shownOf(event), change);
  }
}

/** All devices above the limit of open events. @type {Fact} */
const CROWD = { kind: 'device', subject: '', key: 'devices' };

/** @param {string} text @returns {string} one line of limited length */
function cut(text) {
  const line = text.replace(/\p{Cc}+/gu, ' ');
  return line.length > MAX_TEXT ? `${line.slice(0, MAX_TEXT)}…` : line;
}

/** @param {Pick<Fact, 'kind' | 'engine' | 'subject'>} fact */
const keyOf = ({ kind, engine = '', subject }) => `${kind}\n${engine}\n${cut(subject)}`;

/** @param {Event} event @returns {ShownEvent} a copy */
const shownOf = (event) => ({ ...event, params: { ...event.params }, sentence: sentenceOf(event) });

exports.AGAIN_MS = AGAIN_MS;
exports.EventBook = EventBook;
exports.LATEST = LATEST;
exports.MAX_OPEN = MAX_OPEN;
