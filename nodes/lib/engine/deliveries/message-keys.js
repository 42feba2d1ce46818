'use strict';

const { KEY } = require('./entry');

/** @typedef {import('./entry').Entry} Entry */

/** Finds the entry of a message, by the key in `_msgid` or in the symbol property. */
class MessageKeys {
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** Other values of `_msgid` on messages of entries; null: several entries have it. @type {Map<string, Entry | null>} */
  #aliases = new Map();

  get size() {
    return this.#entries.size;
  }

  /** @returns {Entry[]} a copy, so that entries may be removed meanwhile */
  entries() {
    return [...this.#entries.values()];
  }

  /** @param {Entry} entry */
  add(entry) {
    this.#entries.set(entry.key, entry);
    return entry;
  }

  /** @param {any} msg @returns {Entry | null} */
  find(msg) {
    const id = msg?._msgid;
    return this.#entries.get(id) ?? this.#entries.get(msg?.[KEY]) ?? this.#aliases.get(id) ?? null;
  }

  /** Lets nodes that keep only one of both lose no record. @param {any} msg @param {Entry} entry */
  mark(msg, entry) {
    const { key } = entry;
    // Without an exception for a frozen object.
    if (msg[KEY] !== key) Reflect.set(msg, KEY, key);
    const id = msg._msgid;
    if (id === key || typeof id !== 'string') return;
    const known = this.#aliases.get(id);
    if (known === entry) return;
    this.#aliases.set(id, known === undefined ? entry : null);
    entry.aliases.push(id);
  }

  /** @param {Entry} entry */
  remove({ key, aliases }) {
    this.#entries.delete(key);
    for (const alias of aliases) this.#aliases.delete(alias);
  }

  clear() {
    this.#entries.clear();
    this.#aliases.clear();
  }
}

exports.MessageKeys = MessageKeys;
