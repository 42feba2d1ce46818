'use strict';
// The editor shows the statuses of the nodes in its language.

const fs = require('node:fs');
const path = require('node:path');
const { runPages } = require('../../fixtures/editor/dialogs');

const root = path.join(__dirname, '../../..');
/** @param {string} language */
const catalogOf = (language) => require(`../../../nodes/locales/${language}/seganet-editor.json`);
const ENGLISH = catalogOf('en-US');
const NAMESPACE = '@seganet/node-red-gateway/seganet-editor:';

/** Returns what the editor of a language shows for a status of a node. @param {string} language */
function editorIn(language) {
  /** @type {(topic: string, status: { text: string }) => void} */
  let onStatus = () => {};
  let type = '';
  const RED = {
    _: (/** @type {string} */ key) =>
      key
        .replace(NAMESPACE, '')
        .split('.')
        .reduce((at, part) => at[part], catalogOf(language)),
    comms: { subscribe: (/** @type {string} */ _topic, /** @type {any} */ handler) => (onStatus = handler) },
    nodes: { node: () => ({ type }) }
  };
  const i18next = { getResourceBundle: () => ENGLISH };
  runPages([], /** @type {any} */ ({ RED, $: () => ({}), i18next }));
  return (/** @type {string} */ text, of = 'seganet-uplink') => {
    type = of;
    const status = { text };
    onStatus('status/id', status);
    return status.text;
  };
}

const german = editorIn('de');
const english = editorIn('en-US');

test.each([
  ['connected · critical 2 ms · normal 430 ms', 'verbunden · kritisch 2 ms · normal 430 ms'],
  ['nothing listens there · 12.3 k kept', 'nichts lauscht dort · 12.3 k aufbewahrt'],
  [
    'classes 3–8: broker refused login · 9 in memory',
    'Klassen 3–8: Broker lehnt Anmeldung ab · 9 im Speicher'
  ],
  ['10/s in 8 batches/s · native', '10/s in 8 Batches/s · nativ'],
  ['5/s · as messages (fast path off)', '5/s · als Nachrichten (schneller Weg aus)'],
  ['1883 · 0 devices · 0/s', '1883 · 0 Geräte · 0/s'],
  ['waiting: disk full', 'wartet: Platte voll'],
  ['slowed (memory) · 3 of 5 devices on · 2/s', 'gebremst (Speicher) · 3 von 5 Geräten an · 2/s'],
  ['→ pack: wrong setting', '→ pack: falsche Einstellung'],
  ['broker: wrong setting · 120 kept', 'Broker: falsche Einstellung · 120 aufbewahrt'],
  ['not set: AWS_IOT_URL', 'nicht gesetzt: AWS_IOT_URL'],
  ['3 awake, 2 asleep, 1 waiting', '3 wach, 2 schlafen, 1 warten'],
  ['keeper: not running', 'Keeper: läuft nicht']
])('shows "%s" as "%s" in German, and unchanged in English', (text, words) => {
  expect(german(text)).toBe(words);
  expect(english(text)).toBe(text);
});

test('leaves sentences, names, and statuses of other nodes as they are', () => {
  for (const text of ['The broker accepts no more.', 'acme: no answer for a minute…', '3 down payments'])
    expect(german(text)).toBe(text);
  expect(german('connected', 'mqtt in')).toBe('connected');
});

/** All JavaScript that runs in Node-RED, where status texts are made. */
const sources = fs
  .readdirSync(path.join(root, 'nodes'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.js'))
  .map((name) => fs.readFileSync(path.join(root, 'nodes', name), 'utf8'));

test('has the words of each reason and of each fixed status', () => {
  const { shortReason } = require('../../../nodes/lib/base/texts/short-reasons');
  const texts = sources.flatMap((source) =>
    [...source.matchAll(/\b(?:text|shown):\s*'([^']+)'|\.red\('([^']+)'/g)].map(
      ([, one, other]) => one ?? other
    )
  );
  const statuses = texts.filter((text) => !/^(?:everything|all$|none$|demo cloud|in `|`)|\.$/.test(text));
  expect(statuses.length).toBeGreaterThan(40);
  const codes = ['ECONNREFUSED', 'CONNACK 135', 'ERR_SSL_WRONG_VERSION_NUMBER', 'SASL'];
  for (const text of [...statuses, ...codes.map(shortReason)])
    expect([text, german(text) === text]).toEqual([text, false]);
});

test('has no words that nothing uses', () => {
  const code = sources.join('\n');
  for (const [key, text] of Object.entries({ ...ENGLISH.status, ...ENGLISH.reason })) {
    const pieces = text
      .split(/\{\w\}|: |, | ms\b/)
      .map((/** @type {string} */ piece) => piece.trim())
      .filter(Boolean);
    // Those of a missing or used broker or cluster are made of its word.
    const isUsed = (/** @type {string} */ piece) =>
      code.includes(
        piece.replace(/\b(?:broker|cluster)\b(?= in use)|(?<=^no )(?:broker|cluster)$/, '${word}')
      );
    for (const piece of pieces) expect([key, piece, isUsed(piece)]).toEqual([key, piece, true]);
  }
});
