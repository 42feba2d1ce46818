'use strict';
// Works on the shadows of one engine. All changes that arrive together are one transaction, so many updates of a device
// cost one write, and a change is answered only when it is on disk. Reads see what is on disk.

const { crc32c } = require('../store/crc32c');
const { acceptedForm, deltaForm, documentForm, rejectedForm } = require('./forms');
const { deltaOf, emptyShadow, update } = require('./document');
const { write } = require('./json');
const { readToken, readUpdate } = require('./patch');
const { Unreadable } = require('./read-file');
const { Refusal } = require('./refusal');
const { rowOf, sealed, shadowOf, valuesOf } = require('./shadow-file');

/** How long the version of a deleted shadow is kept, as AWS does it: a new one goes on from there. */
const KEEP_DELETED_MS = 48 * 3_600_000;
const PURGE_MS = 3_600_000;
const NOTHING = Buffer.alloc(0);

/**
 * @typedef {import('./forms').Dialect} Dialect
 * @typedef {import('./document').Shadow} Shadow
 *
 * @typedef {object} Op
 * @property {number} id
 * @property {'update' | 'delete' | 'get' | 'delta'} kind delta: only whether the device differs from what is desired
 * @property {string} device
 * @property {Dialect} dialect of the answer
 * @property {Dialect} deviceDialect of the device
 * @property {string} text
 * @property {'reported' | null} section
 * @property {{ maxBytes: number, maxDepth: number, maxShadows: number }} limits
 * @property {boolean} wantsChange
 *
 * @typedef {object} Result
 * @property {number} id
 * @property {string} device
 * @property {number} status 200, or that of a Refusal
 * @property {string} message why it is refused, '' = it is not
 * @property {string} body answer in the dialect; '' = none
 * @property {number} version of the document
 * @property {number} sectionVersion of the reported section
 * @property {string} delta for the device, in its dialect; '' = it has what is desired
 * @property {number} deltaKey changes with the values of the delta
 * @property {string} change what has changed, for flows; '' = nothing
 * @property {boolean} [isOvertaken] a read has shown this change, or a later one, before this answer
 *
 * @typedef {{ before: import('./shadow-file').Row | undefined, shadow: Shadow | null, isDirty: boolean }} Held shadow
 *   null: there is none
 */

class ShadowDesk {
  #file;
  #wall;
  #purgedAt = -Infinity;
  counters = { updates: 0, unchanged: 0, gets: 0, deletes: 0, refused: 0, commits: 0 };

  /**
   * @param {import('./shadow-file').ShadowFile | import('./read-file').ReadFile} file that of ReadFile only for read()
   * @param {() => number} [wall] ms since 1970
   */
  constructor(file, wall = Date.now) {
    this.#file = /** @type {import('./shadow-file').ShadowFile} */ (file);
    this.#wall = wall;
  }

  /**
   * @param {Op[]} ops of kinds 'get' and 'delta'
   * @returns {Result[]}
   * @throws {Unreadable} if another connection must read it
   */
  read(ops) {
    return ops.map((op) => {
      try {
        return this.#file.use((statements) => this.#read(op, statements));
      } catch (error) {
        if (error instanceof Unreadable) throw error;
        return this.#refuse(op, error);
      }
    });
  }

  /**
   * @param {Op[]} ops of kinds 'update' and 'delete'
   * @returns {Result[]} when they are on disk
   */
  change(ops) {
    /** @type {Result[]} */
    let results = [];
    const counters = { ...this.counters };
    try {
      this.#file.change((statements) => {
        /** @type {Map<string, Held>} */
        const held = new Map();
        results = ops.map((op) => {
          try {
            return this.#change(op, held, statements);
          } catch (error) {
            if (error instanceof Refusal) return this.#refuse(op, error);
            throw error;
          }
        });
        this.#write(held, statements);
      });
      this.counters.commits++;
      return results;
    } catch (error) {
      // Nothing of it is on disk, or that is unknown.
      this.counters = counters;
      return ops.map((op) => this.#refuse(op, error));
    }
  }

  /**
   * @param {string} after device of the last one of the page before
   * @param {number} limit
   * @returns {string} JSON
   */
  list(after, limit) {
    return this.#file.use(({ list }) => {
      const rows = /** @type {any[]} */ (list.all(after, limit));
      const shadows = rows.map((row) => {
        const { device, version, changedAt } = row;
        try {
          const { desired, reported } = shadowOf(row);
          const isSame = Object.keys(deltaOf(desired.state, reported.state)).length === 0;
          return {
            device,
            version,
            timestamp: Math.floor(changedAt / 1000),
            state: isSame ? 'same' : 'differs'
          };
        } catch {
          return { device, version: 0, timestamp: 0, state: 'damaged' };
        }
      });
      const next = rows.length === limit ? rows[limit - 1].device : null;
      return write({ total: this.#file.counts.shadows, shadows, next });
    });
  }

  /** @param {Op} op @param {any} statements @returns {Result} */
  #read(op, statements) {
    const row = statements.get.get(op.device);
    const shadow = row && row.deletedAt === 0 ? shadowOf(row) : null;
    if (op.kind === 'delta') return shadow ? this.#answer(op, shadow, '') : blank(op);
    const token = readToken(op.text);
    if (!shadow) throw Object.assign(noShadow(op.device), { clientToken: token });
    this.counters.gets++;
    return this.#answer(op, shadow, write(documentForm(op.dialect, shadow, token)));
  }

  /** @param {Op} op @param {Map<string, Held>} held @param {any} statements @returns {Result} */
  #change(op, held, statements) {
    const { device, dialect, limits } = op;
    if (op.kind === 'delete') return this.#delete(op, held, statements);
    const { patch, version, clientToken } = readUpdate(op.text, op.section, limits.maxDepth);
    /** @param {400 | 409 | 413 | 429} status @param {string} message */
    const refusal = (status, message) => Object.assign(new Refusal(status, message), { clientToken });
    const holding = this.#hold(device, held, statements);
    const { shadow } = holding;
    if (version !== null && version !== (shadow?.version ?? 0))
      throw refusal(409, `Version conflict: the shadow has version ${shadow?.version ?? 0}, not ${version}.`);
    if (!shadow && this.#file.counts.shadows >= limits.maxShadows)
      throw refusal(
        429,
        `There are ${limits.maxShadows} shadows already. Delete some, or raise the limit of the node.`
      );
    const before = shadow ?? emptyShadow(holding.before?.version ?? 0);
    const after = update(before, patch, this.#wall());
    const bytes =
      Buffer.byteLength(write(after.desired.state)) + Buffer.byteLength(write(after.reported.state));
    if (bytes > limits.maxBytes && after !== before)
      throw refusal(
        413,
        `The document would have ${bytes} bytes; ${limits.maxBytes} is the limit of the node.`
      );
    if (!shadow) this.#enter(holding, limits.maxShadows, statements);
    holding.shadow = after;
    const isSame = after === before;
    holding.isDirty ||= !isSame;
    this.counters[isSame ? 'unchanged' : 'updates']++;
    const accepted = acceptedForm(dialect, after, patch, clientToken);
    const result = this.#answer(op, after, accepted ? write(accepted) : '');
    if (op.wantsChange && !isSame) {
      const event = Object.keys(patch).length > 1 ? 'both' : Object.keys(patch)[0];
      result.change = write({ event, ...documentForm('own', after, clientToken) });
    }
    return result;
  }

  /** @param {Op} op @param {Map<string, Held>} held @param {any} statements @returns {Result} */
  #delete(op, held, statements) {
    const { device, wantsChange } = op;
    const clientToken = readToken(op.text);
    const row = statements.get.get(device);
    // A damaged one can be deleted, too.
    const isThere = held.has(device) ? held.get(device)?.shadow : row && row.deletedAt === 0;
    if (!isThere) throw Object.assign(noShadow(device), { clientToken });
    const known = held.get(device)?.shadow?.version ?? row.version;
    const version = Number.isSafeInteger(known) && known > 0 ? known : 1;
    held.delete(device);
    const now = this.#wall();
    const gone = {
      device,
      version,
      desiredVersion: 0,
      reportedVersion: 0,
      changedAt: now,
      deletedAt: Math.max(1, now)
    };
    statements.put.run(...valuesOf(sealed({ ...gone, document: NOTHING })));
    this.#file.counts.shadows--;
    this.#file.counts.deleted++;
    this.counters.deletes++;
    const form = { version, timestamp: Math.floor(now / 1000), clientToken };
    return {
      ...blank(op),
      version,
      body: write(form),
      change: wantsChange ? write({ event: 'deleted', ...form }) : ''
    };
  }

  /** @param {string} device @param {Map<string, Held>} held @param {any} statements @returns {Held} */
  #hold(device, held, statements) {
    let holding = held.get(device);
    if (!holding) {
      const before = statements.get.get(device);
      holding = {
        before,
        shadow: before && before.deletedAt === 0 ? shadowOf(before) : null,
        isDirty: false
      };
      held.set(device, holding);
    }
    return holding;
  }

  /** Counts a new shadow. @param {Held} holding @param {number} maxShadows @param {any} statements */
  #enter({ before }, maxShadows, statements) {
    const { counts } = this.#file;
    counts.shadows++;
    if (before) counts.deleted--;
    // Deleted ones have what room the limit leaves, so that the file does not grow with them.
    else if (counts.shadows + counts.deleted > maxShadows && counts.deleted > 0) {
      statements.forgetOldest.run();
      counts.deleted--;
    }
  }

  /** @param {Map<string, Held>} held @param {any} statements */
  #write(held, statements) {
    for (const [device, { shadow, isDirty }] of held)
      if (shadow && isDirty) statements.put.run(...valuesOf(rowOf(device, shadow)));
    const now = this.#wall();
    if (this.#file.counts.deleted === 0 || Math.abs(now - this.#purgedAt) < PURGE_MS) return;
    this.#purgedAt = now;
    this.#file.counts.deleted -= Number(statements.forget.run(now - KEEP_DELETED_MS).changes);
  }

  /** @param {Op} op @param {Shadow} shadow @param {string} body @returns {Result} */
  #answer(op, shadow, body) {
    const { desired, reported, version } = shadow;
    const delta = deltaOf(desired.state, reported.state);
    const differs = Object.keys(delta).length > 0;
    return {
      ...blank(op),
      body,
      version,
      sectionVersion: reported.version,
      delta: differs ? write(deltaForm(op.deviceDialect, shadow, delta)) : '',
      deltaKey: differs ? crc32c(Buffer.from(write(delta))) : 0
    };
  }

  /** @param {Op} op @param {unknown} error @returns {Result} */
  #refuse(op, error) {
    const { message, clientToken, stack = message } = /** @type {any} */ (error);
    const isOurs = error instanceof Refusal;
    const status = isOurs ? error.status : 503;
    const shown = isOurs ? message : `Internal error in the shadows. Please report it: ${stack}`;
    this.counters.refused++;
    const body = write(rejectedForm(op.dialect, { status, message: shown }, this.#wall(), clientToken));
    return { ...blank(op), status, message: shown, body };
  }
}

/** @param {Op} op @returns {Result} */
function blank({ id, device }) {
  return {
    id,
    device,
    status: 200,
    message: '',
    body: '',
    version: 0,
    sectionVersion: 0,
    delta: '',
    deltaKey: 0,
    change: ''
  };
}

/** @param {string} device */
function noShadow(device) {
  return new Refusal(404, `No shadow exists for ${device}.`);
}

exports.ShadowDesk = ShadowDesk;
