'use strict';
// The files of the page: nothing in them needs an exception from the strict Content-Security-Policy, every text exists,
// and no code makes markup from data.

const fs = require('node:fs');
const path = require('node:path');
const { pageFiles, pageFile, textsFor, HEADERS } = require('../../../nodes/lib/live/page-files');

const read = (name) => fs.readFileSync(pageFile(name).file, 'utf8');
const modules = pageFiles().filter((name) => name.endsWith('.mjs'));
const catalog = textsFor([]).texts;
const find = (key) => key.split('.').reduce((at, part) => at?.[part], catalog);

test('serves the page, its style and its modules, each with its type', () => {
  expect(pageFiles()).toEqual(
    expect.arrayContaining(['index.html', 'status.css', 'main.mjs', 'sidebar.mjs'])
  );
  expect(pageFile('main.mjs').type).toBe('text/javascript; charset=utf-8');
});

test('has no inline script, no inline style and no address of another host', () => {
  const html = read('index.html');
  expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|https?:/);
  for (const [, body] of html.matchAll(/<script[^>]*>([^]*?)<\/script>/g)) expect(body).toBe('');
  expect(HEADERS['Content-Security-Policy']).toMatch(/default-src 'none'; script-src 'self';/);
  expect(HEADERS['Content-Security-Policy']).not.toMatch(/unsafe/);
});

test.each(modules)('%s sets data as text only', (name) => {
  expect(read(name)).not.toMatch(
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|DOMParser|srcdoc/
  );
});

test.each(modules)('%s asks only for texts that exist', (name) => {
  const keys = [...read(name).matchAll(/\bt\(\s*'([\w.]+)'/g)].map(([, key]) => key);
  for (const key of keys) expect([key, typeof find(key)]).toEqual([key, 'string']);
});

test('offers each language of the nodes, and no other', () => {
  const [, list = ''] = /LANGUAGES = \{(.*)\}/.exec(read('texts.mjs')) ?? [];
  const offered = [...list.matchAll(/'?([\w-]+)'?: /g)].map(([, language]) => language);
  const folder = path.join(__dirname, '../../../nodes/locales');
  expect(offered.sort()).toEqual(fs.readdirSync(folder).sort());
});

test.each([
  [['en-GB', 'en'], 'en-US'],
  [['xx'], 'en-US'],
  [['de-AT', 'en'], 'de'],
  [['fr', 'de'], 'de'],
  [[], 'en-US'],
  [['../../../etc'], 'en-US']
])('finds the texts for %j in %s', (wanted, language) => {
  const found = textsFor(wanted);
  expect(found.language).toBe(language);
  expect(found.texts.title).toBe('SegaNet Gateway');
  expect(found.texts.phrases.length > 0).toBe(language === 'de');
});
