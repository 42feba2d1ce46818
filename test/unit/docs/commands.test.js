'use strict';
// What a text tells a reader to run exists where the reader is: a command of the package, or in a checkout a script of
// package.json or a file.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { bin, scripts } = require('../../../package.json');

const root = path.join(__dirname, '..', '..', '..');
/** Programs that are not commands of this package: they need a checkout, or a package of their own. */
const OTHERS = ['seganet-bench', 'seganet-overlay'];
/** What npx finds beside the package: Node-RED is a dependency of the checkout, and the host of the palette. */
const BESIDE = ['node-red'];

/** Words after a command's name that begin no subcommand: "seganet-paths did not …". */
const SAID = ['did'];

const folders = ['*.md', 'nodes', 'flows', 'docker', 'examples', 'bench', 'settings.js', 'native/overlay'];
const listed = execFileSync('git', ['ls-files', '-z', '--', ...folders], { cwd: root, encoding: 'utf8' });
const texts = listed
  .split('\0')
  .filter((name) => /\.(md|js|html|json|go|yml)$|Dockerfile$/.test(name) && name !== 'CHANGELOG.md')
  .filter((name) => fs.existsSync(path.join(root, name)))
  .map((name) => ({ name, text: fs.readFileSync(path.join(root, name), 'utf8') }));
const pages = texts.filter(({ name }) => name.endsWith('.md'));

/** @param {typeof texts} among @param {RegExp} form @returns {{ name: string, found: string[] }[]} */
const uses = (among, form) =>
  among.flatMap(({ name, text }) => [...text.matchAll(form)].map(([, ...found]) => ({ name, found })));

/** @param {{ name: string, found: string[] }[]} all @param {(...found: string[]) => boolean} isRight */
const wrong = (all, isRight) =>
  all.filter(({ found }) => !isRight(...found)).map(({ name, found }) => `${name}: ${found.join(' ')}`);

test('each npx NAME is a command of the package', () => {
  const all = uses(texts, /\bnpx ([a-z][\w-]*)/g).filter(({ found: [word] }) => word !== 'would');
  expect(all.length).toBeGreaterThan(20);
  expect(wrong(all, (word) => word in bin || BESIDE.includes(word))).toEqual([]);
});

test('each npm run NAME is a script, and a page that names one says that it is for a checkout', () => {
  const all = uses(texts, /\bnpm run ([a-z][\w:-]*\w)/g);
  expect(all.length).toBeGreaterThan(40);
  expect(wrong(all, (word) => word in scripts)).toEqual([]);
  const named = [...new Set(uses(pages, /\bnpm (?:run [a-z]|start|test)/g).map(({ name }) => name))];
  const silent = named.filter((name) => {
    const { text = '' } = pages.find((page) => page.name === name) ?? {};
    return !/\b(checkout|repository|git clone)\b/.test(text);
  });
  expect(silent).toEqual([]);
});

test('the nodes, their help and the examples, which need no checkout, name no npm run', () => {
  const ofPalette = texts.filter(({ name }) => /^(nodes|examples)\//.test(name));
  const shown = ofPalette.map(({ name, text }) => ({
    name,
    text: text.replace(/^\s*(\/\/|\/?\*).*$/gm, '')
  }));
  expect(uses(shown, /\b(npm run|npm start)\b/g)).toEqual([]);
});

test('each command and its subcommand exist', () => {
  const cli = fs.readFileSync(path.join(root, 'docs', 'reference', 'cli.md'), 'utf8');
  /** Subcommands in the help of each command. @type {Map<string, string[]>} */
  const known = new Map(
    Object.keys(bin).map((name) => {
      const [, section = ''] = new RegExp(`^## ${name}$([^]*?)(?=^## |$(?![^]))`, 'm').exec(cli) ?? [];
      const [, list = ''] = /^commands\n([^]*?)\n\n/m.exec(section) ?? [];
      return [name, [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, word]) => word)];
    })
  );
  expect([...known.values()].filter((words) => words.length < 2)).toEqual([]);
  // In code or in quotes: `seganet-log repair`, "seganet-log repair", a line of a code block.
  const all = uses(
    texts,
    /(?:[`"]|<code>|^ {0,4}(?:sudo )?(?:npx )?)(seganet-[a-z]+) ([a-z][a-z-]*)\b(?!:)/gm
  );
  expect(all.length).toBeGreaterThan(60);
  const isRight = (/** @type {string} */ name, /** @type {string} */ word) =>
    SAID.includes(word) || (name in bin ? Boolean(known.get(name)?.includes(word)) : OTHERS.includes(name));
  expect(wrong(all, isRight)).toEqual([]);
});

test('each node FILE exists', () => {
  const all = uses(texts, /\bnode ((?:bench|docker|flows|native|nodes|test)\/[\w/-]+\.js)/g);
  expect(all.length).toBeGreaterThan(20);
  expect(wrong(all, (file) => fs.existsSync(path.join(root, file)))).toEqual([]);
});
