'use strict';
// Things in SQLite: created, replaced, patched, deleted, listed; what questions look for; events. It runs in the thread
// of the directory.

const { randomUUID } = require('node:crypto');
const { transact } = require('../store/open-database');
const { check, idProblem, problemsOf } = require('./check-thing');
const { DirectoryError, isMade, noThing } = require('./directory-error');
const { prepare } = require('./directory-statements');
const { factsOf } = require('./facts');
const { findCandidates } = require('./find-candidates');
const { knownOf, makingOf, merged, partsOf, withNames } = require('./made-things');
const { applyPatch, isObject, patchOf } = require('./merge-patch');
const { TERMS } = require('./terms');
const { enriched, termsOf, withRegistration } = require('./thing-rows');

/** Events that a client can ask for later. */
const KEPT_EVENTS = 10000;
/** A made thing's time is written again after this time, ms. */
const SEEN_STEP_MS = 3600000;
/** Of the things of one page. */
const PAGE_CHARACTERS = 4 << 20;
const MADE = { origin: 'made', ttl: null, expires: null };

/**
 * @typedef {import('./directory-database').Database} Database
 * @typedef {'thing_created' | 'thing_updated' | 'thing_deleted'} EventType
 * @typedef {{ id: number, type: EventType, thing: string, data: object }} Event data: with diff
 * @typedef {{ id: string, td: Record<string, any>, names?: string[] }} Made names: of the values in the records that the
 *   device sent since the start; without them, the thing is not from records
 *
 * @typedef {import('./thing-rows').Candidate} Candidate
 * @typedef {import('./find-candidates').Wanted} Wanted
 */

class DirectoryStore {
  #db;
  #options;
  #statements;
  /** Of the transaction. @type {Event[]} */
  #events = [];
  /** Things in the table, null = not counted yet. @type {{ total: number, posted: number } | null} */
  #counted = null;

  /**
   * @param {Database} db
   * @param {{ maxThings: number, keepDays: number, now?: () => number, report?: (events: Event[]) => void }} options
   *   now: ms since 1970; report: gets the events of each transaction
   */
  constructor(db, options) {
    this.#db = db;
    this.#options = { now: Date.now, report: () => {}, ...options };
    this.#statements = prepare(db);
    this.#renewTerms();
  }

  /**
   * Stores a thing without an id.
   * @param {{ td: any }} input
   * @returns {string} its id
   */
  createAnonymous({ td }) {
    if (isObject(td) && td.id !== undefined)
      throw new DirectoryError(
        400,
        'A thing that has an id is stored with PUT things/ID. POST is for things without an id.'
      );
    const id = `urn:uuid:${randomUUID()}`;
    this.#transact(() => this.#put(id, check({ id, ...td })));
    return id;
  }

  /** @param {{ id: string, td: any }} input @returns {boolean} true: created; false: replaced */
  put({ id, td }) {
    const problem = idProblem(id);
    if (problem) throw new DirectoryError(400, `The id ${problem}.`);
    const valid = check(td);
    if (valid.id !== id)
      throw new DirectoryError(400, 'The id of the thing must be the id of the address.', {
        validationErrors: [{ field: 'id', description: 'differs from the id of the address' }]
      });
    return this.#transact(() => this.#put(id, valid));
  }

  /** @param {{ id: string, patch: any }} input */
  patch({ id, patch }) {
    if (!isObject(patch)) throw new DirectoryError(400, 'A merge patch must be a JSON object.');
    this.#transact(() => {
      const row = this.#posted(id);
      const td = withRegistration(JSON.parse(row.td), row);
      const next = check(applyPatch(td, patch));
      if (next.id !== id) throw new DirectoryError(400, 'A patch must not change the id.');
      this.#put(id, next);
    });
  }

  /** @param {{ id: string }} input */
  remove({ id }) {
    this.#transact(() => this.#delete(this.#posted(id)));
  }

  /** @param {{ id: string }} input @returns {object} the enriched thing */
  get({ id }) {
    const row = this.#statements.get.get(id);
    if (!row) throw noThing(id);
    return enriched(row, this.#options.now());
  }

  /**
   * @param {{ offset: number, limit: number }} page
   * @returns {{ things: object[], total: number, revision: number }} by id; fewer than `limit` if they are large
   */
  list({ offset, limit }) {
    const { total, revision } = this.counts();
    const now = this.#options.now();
    const things = [];
    let characters = 0;
    for (const row of this.#statements.list.iterate(limit, offset)) {
      characters += String(row.td).length;
      if (things.length > 0 && characters > PAGE_CHARACTERS) break;
      things.push(enriched(row, now));
    }
    return { things, total, revision };
  }

  /** @returns {{ total: number, posted: number, revision: number }} */
  counts() {
    return { ...this.#size(), revision: this.#revision() };
  }

  #size() {
    if (!this.#counted) {
      const { total, posted } = /** @type {any} */ (this.#statements.count.get());
      this.#counted = { total, posted: posted ?? 0 };
    }
    return this.#counted;
  }

  /**
   * Makes the things of a source, and notes which of its devices are there.
   * @param {{ source: string, things: Made[], seen: string[], adds?: boolean }} input seen: ids of things that exist
   *   already; adds: the source adds to the things of another one, which counts where they differ
   * @returns {{ left: string[], problems: string[], missing: string[] }} left: ids of things beyond the limit; missing:
   *   ids in `seen` that do not exist
   */
  make({ source, things, seen, adds = false }) {
    /** @type {{ left: string[], problems: string[], missing: string[] }} */
    const result = { left: [], problems: [], missing: [] };
    this.#transact(() => {
      const now = this.#options.now();
      for (const { id, td: plain, names } of things) {
        const td = { ...plain, id };
        const [problem] = problemsOf(td);
        if (problem) result.problems.push(`${id}: ${problem.field} ${problem.description}`);
        else if (!this.#make({ id, td, names }, source, adds)) result.left.push(id);
      }
      for (const id of seen) {
        this.#statements.see.run(now, id, source, now - SEEN_STEP_MS);
        if (!this.#statements.has.get(id)) result.missing.push(id);
      }
    });
    return result;
  }

  /**
   * Returns the names of the values that the records of devices had within the last `keepDays`, by thing.
   * @param {{ source: string, ids: string[] }} input
   * @returns {string[][]}
   */
  namesOf({ source, ids }) {
    return ids.map((id) => {
      const row = this.#statements.get.get(id);
      return row?.origin === 'made' ? this.#knownOf(row, source).map(([name]) => name) : [];
    });
  }

  /**
   * Deletes made things of a source that are not in the list. What another source added to one stays.
   * @param {{ source: string, ids: string[] }} input
   */
  keepOnly({ source, ids }) {
    const kept = new Set(ids);
    this.#transact(() => {
      for (const row of this.#statements.ofSource.all(source))
        if (!kept.has(String(row.id))) this.#leave(String(row.id));
    });
  }

  /** Deletes things whose time has ended. It is fast if there are none. */
  purge() {
    this.#deleteAll(this.#statements.expired.all(this.#options.now()));
  }

  /** Deletes things whose time has ended, and made ones whose device was not seen for a long time. */
  tick() {
    this.purge();
    this.#deleteAll(this.#statements.unseen.all(this.#goneBefore()));
  }

  /** @returns {number} devices that were seen last before this time are gone, ms since 1970 */
  #goneBefore() {
    const { now, keepDays } = this.#options;
    return now() - keepDays * 86400000;
  }

  /**
   * Finds properties that may answer a question. REQUIRES: the property is given.
   * @param {Wanted} wanted
   * @returns {Candidate[]} in no particular order, at most 10,000
   */
  find(wanted) {
    return findCandidates(this.#db, wanted);
  }

  /** @param {{ after: number, limit: number }} input @returns {Event[]} the next later ones, at most `limit` */
  eventsAfter({ after, limit }) {
    const rows = this.#statements.eventsAfter.all(after, limit);
    return rows.map(
      ({ data, ...event }) => /** @type {any} */ ({ ...event, data: JSON.parse(String(data)) })
    );
  }

  close() {
    this.#db.close();
  }

  /** @param {string} id @param {Record<string, any>} td valid @returns {boolean} true: created */
  #put(id, td) {
    const before = this.#statements.get.get(id);
    if (before && before.origin !== 'posted') throw isMade(id);
    if (!before && this.#size().posted >= this.#options.maxThings)
      throw new DirectoryError(
        507,
        `The directory has ${this.#options.maxThings} posted things, its limit. Delete things, or raise the limit in the node.`
      );
    const now = this.#options.now();
    const { registration = {}, ...plain } = td;
    const ttl = typeof registration.ttl === 'number' ? registration.ttl : null;
    const given = typeof registration.expires === 'string' ? Date.parse(registration.expires) : null;
    const expires = ttl === null ? given : now + Math.round(ttl * 1000);
    this.#write(id, plain, { origin: 'posted', source: '', ttl, expires, more: {} }, before);
    return !before;
  }

  /** @param {Made} made @param {string} source @param {boolean} adds @returns {boolean} false: no room */
  #make({ id, td, names }, source, adds) {
    const before = /** @type {any} */ (this.#statements.get.get(id));
    // A posted thing with this id stays.
    if (before?.origin === 'posted') return true;
    const { total, posted } = this.#size();
    if (!before && total - posted >= this.#options.maxThings) return false;
    const old = before ? makingOf(before) : {};
    const parts = before && partsOf(before, old, { td, source, adds });
    const known = names ? withNames(names, this.#knownOf(before, source)) : old.known;
    const more = { known, adds: adds && !parts, parts };
    const whole = parts ? merged(parts) : td;
    const owner = parts && adds ? before.source : source;
    if (before?.td !== JSON.stringify(whole) || before.source !== owner)
      this.#write(id, whole, { ...MADE, source: owner, more }, before);
    else if (JSON.stringify(more) !== JSON.stringify(old))
      this.#statements.setFacts.run(JSON.stringify({ ...factsOf(whole), ...more }), before.n);
    return true;
  }

  /** @param {any} row of a made thing, if there is one @param {string} source that asks */
  #knownOf(row, source) {
    return row ? knownOf(row, source, this.#goneBefore()) : [];
  }

  /** Deletes a made thing that its source has no more, except what another source added. @param {string} id */
  #leave(id) {
    const before = /** @type {any} */ (this.#statements.get.get(id));
    const { parts, known } = makingOf(before);
    if (!parts) return this.#delete(before);
    this.#write(id, parts.added, { ...MADE, source: parts.by, more: { known, adds: true } }, before);
  }

  /**
   * @param {string} id
   * @param {Record<string, any>} td
   * @param {{ origin: string, source: string, ttl: number | null, expires: number | null,
   *   more: import('./made-things').Making }} how
   * @param {any} before
   */
  #write(id, td, { origin, source, ttl, expires, more }, before) {
    const now = this.#options.now();
    const size = this.#size();
    const facts = { ...factsOf(td), ...more };
    const created = before ? before.created : now;
    const text = JSON.stringify(td);
    const values = [origin, source, text, JSON.stringify(facts), created, now, ttl, expires, now];
    const { n } = /** @type {{ n: number }} */ (
      this.#statements.write.get(id, ...values, this.#nextRevision())
    );
    this.#statements.deleteText.run(n);
    this.#statements.insertText.run(n, facts.words);
    this.#index(n, facts);
    if (!before) {
      size.total++;
      if (origin === 'posted') size.posted++;
      this.#event('thing_created', id, td);
    }
    if (before) this.#event('thing_updated', id, { ...patchOf(JSON.parse(before.td), td), id });
  }

  /** @param {any[]} rows */
  #deleteAll(rows) {
    if (rows.length > 0)
      this.#transact(() => {
        for (const row of rows) this.#delete(row);
      });
  }

  /** @param {any} row */
  #delete({ n, id, origin }) {
    const size = this.#size();
    this.#statements.deleteFacts.run(n);
    this.#statements.deleteText.run(n);
    this.#statements.delete.run(n);
    size.total--;
    if (origin === 'posted') size.posted--;
    this.#nextRevision();
    this.#event('thing_deleted', id, { id });
  }

  /** @param {number} n @param {import('./facts').Facts} facts that questions find */
  #index(n, facts) {
    this.#statements.deleteFacts.run(n);
    for (const [kind, term] of termsOf(facts)) this.#statements.insertFact.run(kind, term, n);
  }

  /** Makes the terms of all things again if they are of an older version: else questions would not find these. */
  #renewTerms() {
    if (Number(this.#statements.terms.get()?.value) === TERMS) return;
    this.#transact(() => {
      for (let last = -1; ;) {
        const rows = this.#statements.after.all(last);
        if (rows.length === 0) break;
        for (const row of rows) {
          last = Number(row.n);
          const facts = { ...factsOf(JSON.parse(String(row.td))), ...makingOf(row) };
          this.#statements.setFacts.run(JSON.stringify(facts), last);
          this.#index(last, facts);
        }
      }
      this.#statements.setTerms.run(TERMS);
    });
  }

  /** @param {Event['type']} type @param {string} thing @param {object} data */
  #event(type, thing, data) {
    const { id } = /** @type {{ id: number }} */ (
      this.#statements.insertEvent.get(type, thing, JSON.stringify(data))
    );
    this.#events.push({ id, type, thing, data });
  }

  /** @param {string} id @returns {any} the row of a posted thing */
  #posted(id) {
    const row = this.#statements.get.get(id);
    if (!row) throw noThing(id);
    if (row.origin !== 'posted') throw isMade(id);
    return row;
  }

  #revision() {
    return Number(this.#statements.revision.get()?.value ?? 0);
  }

  #nextRevision() {
    const next = this.#revision() + 1;
    this.#statements.setRevision.run(next);
    return next;
  }

  /**
   * @template T
   * @param {() => T} work
   * @returns {T}
   */
  #transact(work) {
    this.#events = [];
    try {
      const result = transact(this.#db, () => {
        const value = work();
        const last = this.#events.at(-1);
        if (last) this.#statements.pruneEvents.run(last.id - KEPT_EVENTS);
        return value;
      });
      if (this.#events.length > 0) this.#options.report(this.#events);
      return result;
    } catch (error) {
      this.#counted = null;
      throw error;
    }
  }
}

exports.DirectoryStore = DirectoryStore;
