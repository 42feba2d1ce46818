'use strict';
// The editor shows the statuses of the nodes in its language.

const fs = require('node:fs');
const path = require('node:path');
const vm = require('node:vm');
const { readiness } = require('../../../nodes/lib/health');
const { textsFor } = require('../../../nodes/lib/live/page-files');

const root = path.join(__dirname, '../../..');
/** The module of the page: Jest loads no ES modules. */
const pageModule = fs.readFileSync(path.join(root, 'nodes/lib/live/page/phrases.mjs'), 'utf8');
const phrasebook = vm.runInThisContext(`${pageModule.replace('export ', '')}; phrasebook`);
const ENGLISH = require('../../../nodes/locales/en-US/seganet-editor.json');
const { cpuMs } = require('../../fixtures/cpu-time');

const german = phrasebook(textsFor(['de']).texts.phrases);
const english = phrasebook(textsFor(['en-US']).texts.phrases);

test.each([
  ['connected · critical 2 ms · normal 430 ms', 'verbunden · kritisch 2 ms · normal 430 ms'],
  ['connected · URL 2 of 3 · critical 2 ms', 'verbunden · URL 2 von 3 · kritisch 2 ms'],
  ['nothing listens there · 12.3 k kept', 'nichts lauscht dort · 12.3 k aufbewahrt'],
  [
    'classes 3–8: broker refused login · 9 in memory',
    'Klassen 3–8: Broker lehnt Anmeldung ab · 9 im Speicher'
  ],
  ['10/s in 8 batches/s · native', '10/s in 8 Batches/s · nativ'],
  ['5/s · as messages (fast path off)', '5/s · als Nachrichten (schneller Weg aus)'],
  ['1883 · 0 devices · 0/s', '1883 · 0 Geräte · 0/s'],
  ['waiting: disk full', 'wartet: Platte voll'],
  ['waiting: the cloud is missing', 'wartet: die Cloud fehlt'],
  ['cloud-1 is disconnected', 'cloud-1 ist getrennt'],
  ['slowed (memory) · 3 of 5 devices on · 2/s', 'gebremst (Speicher) · 3 von 5 Geräten an · 2/s'],
  ['→ pack: wrong setting', '→ pack: falsche Einstellung'],
  ['broker: wrong setting · 120 kept', 'Broker: falsche Einstellung · 120 aufbewahrt'],
  ['not set: AWS_IOT_URL', 'nicht gesetzt: AWS_IOT_URL'],
  ['3 awake, 2 asleep, 1 waiting', '3 wach, 2 schlafen, 1 warten'],
  ['3 asked · 2 on · 1 to restore', '3 angefragt · 2 an · 1 wiederherzustellen'],
  ['12/s · 40 series · 2 anomalies', '12/s · 40 Reihen · 2 Anomalien'],
  ['learning from 3 of 20 series', 'lernt aus 3 von 20 Reihen'],
  ['file: not found', 'Datei: nicht gefunden'],
  ['keeper: not running', 'Keeper: läuft nicht'],
  ['full', 'voll'],
  ['shared commands stand still', 'geteilte Befehle stehen still'],
  ['seen 3 s ago, signal -60 dBm, class 1', 'vor 3 s gesehen, Signal -60 dBm, Klasse 1'],
  [
    'seen 3 days ago, signal unknown, class unknown',
    'vor 3 Tagen gesehen, Signal unbekannt, Klasse unbekannt'
  ]
])('shows "%s" as "%s" in German, and unchanged in English', (text, words) => {
  expect(german(text)).toBe(words);
  expect(english(text)).toBe(text);
});

test('costs little for a text that is made to cost much', () => {
  const text = 'a, b is (c) is → d: '.repeat(50);
  const before = cpuMs();
  expect(german(text)).toBe(text);
  expect(cpuMs() - before).toBeLessThan(2000);
});

test('leaves other sentences and names as they are', () => {
  for (const text of [
    'The link is up',
    'see if it is running, or not',
    'The broker accepts no more.',
    'acme: no answer for a minute…',
    '3 down payments',
    ''
  ])
    expect(german(text)).toBe(text);
});

test('has the words of each reason of readyz', () => {
  const fine = {
    isRunning: true,
    hasPlan: true,
    workers: [],
    uplinkThreads: [],
    logThread: -1,
    listeners: [true],
    stranded: 0,
    log: null,
    uplinks: []
  };
  const state = (name, code = '', oldestMs = -1) => ({ uplinks: [{ state: name, code, oldestMs }] });
  const faults = [
    ...[{ isRunning: false }, { hasPlan: false }, { listeners: [true, false] }, { stranded: 1 }],
    { log: { state: 'failing', trouble: 'disk full' } },
    { log: { state: 'opening', trouble: '' } },
    { uplinks: [{ state: 'connected', isStallRepeating: true }] },
    ...[
      state('stalled'),
      state('stalled', '', 12000),
      state('refused'),
      state('refused', 'CERT_HAS_EXPIRED')
    ],
    ...[
      { replicas: 'waiting' },
      { replicas: 'degraded' },
      { isDraining: true },
      { standby: 'yes' },
      { standby: 'unknown' }
    ],
    ...[state('connecting'), state('stopped'), state('disconnected'), state('disconnected', 'ECONNREFUSED')]
  ];
  const reasons = [readiness([]), ...faults.map((fault) => readiness([{ ...fine, ...fault }]))].map(
    ({ reason }) => reason
  );
  expect(new Set(reasons).size).toBe(Object.keys(ENGLISH.sentence).length);
  for (const reason of reasons) expect([reason, german(reason)]).not.toEqual([reason, reason]);
  expect(german('A log cannot be written: disk full.')).toBe(
    'Ein Log kann nicht geschrieben werden: Platte voll.'
  );
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
