'use strict';
// The difference of two snapshots.

/** @typedef {import('./gateway-api').Line} Line */
/** @typedef {Record<string, [unknown, unknown]>} Fields before and after, by name */
/**
 * @typedef {object} Difference of one type of lines
 * @property {Line[]} added
 * @property {Line[]} gone
 * @property {{ line: Line, fields: Fields }[]} changed line: the new one
 */
/**
 * @typedef {Record<'engines' | 'devices' | 'links' | 'values', Difference> & { silent: Line[] }} Differences silent:
 *   devices without a new record
 */

/** A round trip counts as changed above this difference and this ratio. */
const RTT = { ms: 20, ratio: 2 };

/** What identifies a line, and which of its fields are compared. Counters and times change always. */
const KINDS = /** @type {const} */ ({
  engines: { type: 'engine', key: ['engine'], fields: ['running', 'reason', 'name', 'log', 'waitsFor'] },
  devices: {
    type: 'device',
    key: ['engine', 'device'],
    fields: ['connected', 'listening', 'protocol', 'node', 'class', 'host']
  },
  links: {
    type: 'link',
    key: ['engine', 'uplink', 'session', 'path'],
    fields: ['state', 'reason', 'interface', 'role', 'rttMs']
  },
  values: { type: 'value', key: ['series', 'device', 'name'], fields: ['value'] }
});

/** @param {Line[]} before @param {Line[]} after @returns {Differences} */
function differences(before, after) {
  const compared = /** @type {Differences} */ (/** @type {unknown} */ ({ silent: [] }));
  for (const [name, { type, key, fields }] of Object.entries(KINDS)) {
    const [old, now] = [before, after].map((lines) => byKey(lines, type, key));
    compared[/** @type {keyof typeof KINDS} */ (name)] = {
      added: [...now].flatMap(([id, line]) => (old.has(id) ? [] : [line])),
      gone: [...old].flatMap(([id, line]) => (now.has(id) ? [] : [line])),
      changed: [...now].flatMap(([id, line]) => {
        const was = old.get(id);
        const found = was ? changedFields(was, line, fields) : {};
        return Object.keys(found).length > 0 ? [{ line, fields: found }] : [];
      })
    };
    if (type !== 'device') continue;
    compared.silent = [...now].flatMap(([id, line]) => (isSilent(old.get(id), line) ? [line] : []));
  }
  return compared;
}

/** @param {Line[]} lines @param {string} type @param {readonly string[]} key @returns {Map<string, Line>} */
function byKey(lines, type, key) {
  const own = lines.filter((line) => line.type === type);
  return new Map(own.map((line) => [JSON.stringify(key.map((name) => line[name])), line]));
}

/** @param {Line} before @param {Line} after @param {readonly string[]} names @returns {Fields} */
function changedFields(before, after, names) {
  /** @type {Fields} */
  const fields = {};
  for (const name of names) {
    const [old, now] = [before, after].map((line) => (name === 'host' ? hostOf(line.address) : line[name]));
    if (JSON.stringify(old) === JSON.stringify(now) || (name === 'rttMs' && !isOther(old, now))) continue;
    fields[name] = [old ?? null, now ?? null];
  }
  return fields;
}

/** The port changes with each connection. @param {unknown} address @returns {string} */
const hostOf = (address) => String(address ?? '').replace(/:\d+$/, '');

/** @param {unknown} before @param {unknown} after @returns {boolean} */
function isOther(before, after) {
  if (typeof before !== 'number' || typeof after !== 'number') return typeof before !== typeof after;
  const [small, large] = [Math.min(before, after), Math.max(before, after)];
  return large - small > RTT.ms && large > small * RTT.ratio;
}

/**
 * @param {Line | undefined} before
 * @param {Line} after
 * @returns {boolean} true if the device sent nothing in between
 */
function isSilent(before, after) {
  // A smaller number was counted after a restart.
  return before !== undefined && before.records === after.records;
}

/** @param {Differences} all @returns {boolean} */
const isEmpty = ({ silent: _silent, ...kinds }) =>
  Object.values(kinds).every(({ added, gone, changed }) => added.length + gone.length + changed.length === 0);

/** @param {Differences} all @returns {string[]} lines for people */
function describe(all) {
  const kinds = /** @type {(keyof typeof KINDS)[]} */ (Object.keys(KINDS));
  const lines = kinds.flatMap((name) => {
    const { added, gone, changed } = all[name];
    const { key } = KINDS[name];
    const one = name.slice(0, -1);
    const called = (/** @type {Line} */ line) =>
      `${one} ${key
        .map((part) => shown(line[part]))
        .filter(Boolean)
        .join(' / ')}`;
    return [
      ...added.map((line) => `+ ${called(line)}`),
      ...gone.map((line) => `- ${called(line)}`),
      ...changed.map(({ line, fields }) => {
        const parts = Object.entries(fields).map(
          ([field, [old, now]]) => `${field} ${shown(old)} → ${shown(now)}`
        );
        return `~ ${called(line)}: ${parts.join(', ')}`;
      })
    ];
  });
  if (all.silent.length > 0) lines.push(`${all.silent.length} devices sent nothing in between`);
  return lines;
}

/** Shows a text of a device without characters that change the terminal. @param {unknown} value */
function shown(value) {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const clean = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (each) => `\\u{${each.codePointAt(0)?.toString(16)}}`);
  return clean.length > 200 ? `${clean.slice(0, 200)}…` : clean;
}

module.exports = { describe, differences, isEmpty };
