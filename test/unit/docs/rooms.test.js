'use strict';
// The house: imports and includes follow the table of rooms in CONTRIBUTING.md, without circles, and the core knows no
// capability.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..', '..', '..');
const CAPABILITIES = [
  'demand',
  'directory',
  'forecast',
  'kafka',
  'ocf',
  'overlay',
  'pair',
  'parquet',
  'series',
  'shadow',
  'tenants'
];

/** @param {string} file relative to the root */
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');

const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
const files = [...new Set(listed.split('\0'))].filter((file) => file && fs.existsSync(path.join(root, file)));
const existing = new Set(files);

/** The rooms and what each may use, `*` expanded. @returns {Map<string, Set<string>>} */
function readTable() {
  const [, text] = /<!-- rooms:begin -->([^]*)<!-- rooms:end -->/.exec(read('CONTRIBUTING.md')) ?? [];
  const rows = (text ?? '')
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, room]) => room?.startsWith('`'))
    .map(([, room, uses]) => /** @type {const} */ ([room.slice(1, -1), uses]));
  const rooms = rows.map(([room]) => room);
  /** @param {string} part */
  const names = (part) =>
    [...part.matchAll(/`([^`]+)`/g)].flatMap(([, name]) =>
      name.endsWith('/*') ? rooms.filter((room) => room.startsWith(name.slice(0, -1))) : [name]
    );
  /** @type {Map<string, Set<string>>} */
  const table = new Map();
  for (const [room, uses] of rows) {
    const allowed = new Set();
    for (const part of uses.split(';')) {
      const [plus, minus = ''] = part.split(' but ');
      const same = /\bas `([^`]+)`/.exec(plus);
      if (same) for (const each of table.get(same[1]) ?? []) allowed.add(each);
      else for (const each of names(plus)) allowed.add(each);
      for (const each of names(minus)) {
        for (const one of [...allowed]) if (one === each || one.startsWith(`${each}/`)) allowed.delete(one);
      }
    }
    table.set(room, allowed);
  }
  return table;
}

/** @param {string} file @returns {string[]} files of the repository that it requires or includes */
function importsOf(file) {
  const text = read(file);
  if (/\.(cc|h)$/.test(file)) {
    return [...text.matchAll(/^#include "([^"]+)"/gm)]
      .map(([, name]) => `native/${name}`)
      .filter((name) => existing.has(name));
  }
  // Types may name any room; what is loaded counts.
  return [...text.matchAll(/\brequire\(\s*'(\.[^']*)'\s*\)/g)].flatMap(([, name]) => {
    const base = path.posix.join(path.posix.dirname(file), name);
    return [base, `${base}.js`, `${base}/index.js`]
      .filter((each) => existing.has(each) && each !== 'package.json')
      .slice(0, 1);
  });
}

/** From a file to a file, between folders. @type {{ from: string, to: string }[]} */
const arrows = files
  .filter((file) => /^(nodes|flows|native|bench|docker|test|settings\.js)\b.*\.(js|cc|h)$/.test(file))
  .flatMap((from) => importsOf(from).map((to) => ({ from, to })))
  .filter(({ from, to }) => path.posix.dirname(from) !== path.posix.dirname(to));

test('every import and include is in the table of CONTRIBUTING.md', () => {
  const table = readTable();
  expect(table.size).toBeGreaterThan(30);
  /** @param {string} file @returns {string} the room with the longest name, '' for tests */
  const roomOf = (file) => {
    let folder = path.posix.dirname(file);
    while (folder !== '.' && !table.has(folder)) folder = path.posix.dirname(folder);
    return folder === '.' ? '' : folder;
  };
  const isTest = (/** @type {string} */ file) => /^(test|native\/test)\//.test(file);
  const wrong = arrows.filter(({ from, to }) => {
    if (isTest(from) || from === 'settings.js') return false;
    const [source, target] = [roomOf(from), isTest(to) ? 'native/test' : roomOf(to)];
    return source !== target && !table.get(source)?.has(target);
  });
  expect(wrong.map(({ from, to }) => `${from} uses ${to}`)).toEqual([]);
});

test('names only rooms that exist', () => {
  const folders = new Set(
    files.flatMap((file) => file.split('/').map((_, i, all) => all.slice(0, i).join('/')))
  );
  const table = readTable();
  const named = [...table].flatMap(([room, uses]) => [room, ...uses]);
  expect(named.filter((room) => !folders.has(room))).toEqual([]);
});

test('folders have no circle', () => {
  /** @type {Map<string, Set<string>>} */
  const uses = new Map();
  for (const { from, to } of arrows) {
    const [source, target] = [path.posix.dirname(from), path.posix.dirname(to)];
    uses.set(source, (uses.get(source) ?? new Set()).add(target));
  }
  /** @type {Map<string, 'open' | 'done'>} */
  const states = new Map();
  /** @type {string[]} */
  const circles = [];
  /** @param {string} folder @param {string[]} way */
  const visit = (folder, way) => {
    if (states.get(folder) === 'done') return;
    if (states.get(folder) === 'open') {
      circles.push([...way.slice(way.indexOf(folder)), folder].join(' → '));
      return;
    }
    states.set(folder, 'open');
    for (const next of uses.get(folder) ?? []) visit(next, [...way, folder]);
    states.set(folder, 'done');
  };
  for (const folder of uses.keys()) visit(folder, []);
  expect(circles).toEqual([]);
});

test('no room of the core imports a capability', () => {
  const capability = new RegExp(`^nodes/lib/(${CAPABILITIES.join('|')})/`);
  const fromCore = arrows.filter(({ from }) => /^nodes\/lib\/[^/]+\//.test(from) && !capability.test(from));
  expect(fromCore.length).toBeGreaterThan(300);
  expect(fromCore.filter(({ to }) => capability.test(to))).toEqual([]);
});

test('each capability has a folder, and is named in one file', () => {
  const named = [...read('nodes/lib/capabilities.js').matchAll(/require\('\.\/(\w+)\/capability'\)/g)];
  expect(named.map(([, name]) => name)).toEqual(CAPABILITIES);
});
