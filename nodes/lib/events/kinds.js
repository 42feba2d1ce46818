'use strict';
// The kinds of events, and their sentences.

const fs = require('node:fs');
const path = require('node:path');

/** Least urgent first. */
const SEVERITIES = /** @type {const} */ (['info', 'warning', 'error']);
const DAY_MS = 86_400_000;

/**
 * quietMs: an open event of the kind ends after this time without a further occurrence; without it, its source ends it.
 * @typedef {typeof SEVERITIES[number]} Severity
 * @type {Record<string, { severity: Severity, quietMs?: number }>}
 */
const KINDS = {
  uplink: { severity: 'error' },
  move: { severity: 'warning' },
  engine: { severity: 'error' },
  drops: { severity: 'warning', quietMs: 60_000 },
  device: { severity: 'warning', quietMs: 7 * DAY_MS },
  log: { severity: 'error' },
  disk: { severity: 'warning' },
  certificate: { severity: 'warning' },
  identity: { severity: 'error' },
  login: { severity: 'warning', quietMs: 600_000 },
  clock: { severity: 'warning' },
  restart: { severity: 'info' }
};

const LOCALES = path.join(__dirname, '..', '..', 'locales');
const LANGUAGES = /** @type {const} */ (['en-US', 'de']);

/** Texts of the status page, by language. @type {Map<string, Record<string, any>>} */
const catalogs = new Map();

/** @param {string} language */
function catalogOf(language) {
  let catalog = catalogs.get(language);
  if (!catalog) {
    catalog = JSON.parse(fs.readFileSync(path.join(LOCALES, language, 'seganet-sidebar.json'), 'utf8'));
    catalogs.set(language, /** @type {Record<string, any>} */ (catalog));
  }
  return /** @type {Record<string, any>} */ (catalog);
}

/**
 * Returns what an event means. The status page makes the same sentence (page/events.mjs).
 * @param {{ key: string, subject: string, params: Record<string, string | number> }} event
 * @param {typeof LANGUAGES[number]} [language]
 * @returns {string}
 */
function sentenceOf({ key, subject, params }, language = 'en-US') {
  const { events, drop } = catalogOf(language);
  /** @type {Record<string, string | number>} */
  const values = { ...params, subject };
  if (key === 'drops') values.reason = drop[params.reason] ?? params.reason;
  return String(events.sentence[key] ?? key).replace(/__(\w+?)__/g, (whole, name) =>
    String(values[name] ?? whole)
  );
}

module.exports = { KINDS, LANGUAGES, SEVERITIES, sentenceOf };
