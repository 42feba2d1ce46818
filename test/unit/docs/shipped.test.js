'use strict';
// What the package includes speaks to users who have no checkout: it names no file that only the repository has.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { homepage } = require('../../../package.json');
const { page } = require('../../../nodes/lib/base/texts/page');

const root = path.join(__dirname, '..', '..', '..');
const PAGES = `${homepage.replace(/#.*/, '')}/blob/main/`;

/** @returns {{ path: string, size: number }[]} the files of the package, without the engines, which are built */
function packed() {
  const args = ['pack', '--dry-run', '--ignore-scripts', '--json'];
  const [{ files }] = JSON.parse(execFileSync('npm', args, { cwd: root, encoding: 'utf8', stdio: 'pipe' }));
  return files.filter((/** @type {{ path: string }} */ file) => !file.path.startsWith('native/prebuilds/'));
}

const files = packed();
const names = files.map((file) => file.path);
/** Text for users: comments are for readers of the source, which is the repository. @param {string} name */
const shownIn = (name) =>
  fs
    .readFileSync(path.join(root, name), 'utf8')
    .replace(/^\s*(\/\/|\/\*\*|\*).*$/gm, '')
    .replace(/\/\*\*.*\*\/$|\s\/\/ .*$/gm, '');
const texts = names
  .filter((name) => /\.(js|html|json)$/.test(name) && name !== 'package.json')
  .map((name) => ({ name, text: shownIn(name) }));

test('has no documentation, tests, sources of the engine, or demos that need a checkout', () => {
  const others = names.filter((name) => !/^(docker\/tenants|examples|flows|native|nodes)\//.test(name));
  expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json', 'settings.js']);
  expect(names.filter((name) => /^flows\/(accounts|demo\/(ocf|overlay))\//.test(name))).toEqual([]);
});

test('names pages of the documentation by their address', () => {
  const named = texts.flatMap(({ name, text }) =>
    [...text.matchAll(/\S*\bdocs\/[\w-]+/g)].map(([word]) => `${name}: ${word}`)
  );
  expect(named.filter((word) => !word.includes(`${PAGES}docs/`))).toEqual([]);
  expect(page('use/ocf.md#users')).toBe(`${PAGES}docs/use/ocf.md#users`);
});

test('names only pages that exist', () => {
  const [called, written] = [
    /\bpage(?:Of)?\('([^']+)'\)/g,
    new RegExp(`${PAGES}docs/([\\w/.#-]*[\\w-])`, 'g')
  ];
  const pages = texts.flatMap(({ text }) =>
    [called, written].flatMap((form) => [...text.matchAll(form)].map(([, name]) => name))
  );
  expect(pages.length).toBeGreaterThan(30);
  const missing = [...new Set(pages)].filter((name) => !exists(name));
  expect(missing).toEqual([]);
});

/** @param {string} name such as use/ocf.md#users */
function exists(name) {
  const [file, anchor = ''] = name.split('#');
  const place = path.join(root, 'docs', file);
  if (!fs.existsSync(place)) return false;
  const headings = fs.readFileSync(place, 'utf8').match(/^#+ .*$/gm) ?? [];
  return (
    !anchor || headings.some((line) => line.replace(/^#+ /, '').toLowerCase().replaceAll(' ', '-') === anchor)
  );
}

test('loads only files that it includes', () => {
  const included = new Set(names);
  const missing = texts.flatMap(({ name, text }) =>
    [...text.matchAll(/\brequire\('(\.[^']+)'\)/g)]
      .map(([, wanted]) => path.posix.join(path.posix.dirname(name), wanted))
      .filter((file) => !['', '.js', '.json', '/index.js'].some((end) => included.has(`${file}${end}`)))
      .map((file) => `${name}: ${file}`)
  );
  expect(missing).toEqual([]);
});

test('takes at most 6.6 MB without the engines', () => {
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  expect(bytes).toBeLessThan(6.6e6);
});
