'use strict';
// The documentation as a whole: links to it resolve, and the README stays short and complete.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const root = path.join(__dirname, '..', '..', '..');

/** @param {string} file relative to the root */
const read = (file) => fs.readFileSync(path.join(root, file), 'utf8');

/** Returns the files that are in the repository or about to be: neither ignored nor deleted. @returns {string[]} */
function repositoryFiles() {
  const args = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 });
  return listed.split('\0').filter((file) => file && fs.existsSync(path.join(root, file)));
}

/** Blanks fenced code blocks and HTML comments; keeps the line numbers. @param {string} text */
function withoutCode(text) {
  /** @type {string | undefined} */
  let fence;
  const lines = text.split('\n').map((line) => {
    const found = line.match(/^ *(?:> *)*(`{3,}|~{3,})/)?.[1];
    if (fence === undefined) {
      fence = found;
      return found === undefined ? line : '';
    }
    if (found?.startsWith(fence)) fence = undefined;
    return '';
  });
  return lines.join('\n').replace(/<!--.*?-->/gs, (comment) => comment.replace(/[^\n]/g, ''));
}

/** Returns a heading's anchor as GitHub makes it. @param {string} heading Markdown */
function slug(heading) {
  const shown = heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/(^|\W)_(.+?)_(?=\W|$)/g, '$1$2')
    .replace(/<[^>]+>/g, '');
  return shown
    .toLowerCase()
    .trim()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '')
    .replaceAll(' ', '-');
}

/** Returns all anchors of a page. @param {string} text Markdown @returns {Set<string>} */
function anchors(text) {
  const plain = withoutCode(text);
  /** @type {Map<string, number>} */
  const seen = new Map();
  const headings = [...plain.matchAll(/^ {0,3}#{1,6}[ \t]+(.+?)(?:[ \t]+#+)?[ \t]*$/gm)].map(
    ([, heading]) => {
      const name = slug(heading);
      const count = seen.get(name) ?? 0;
      seen.set(name, count + 1);
      return count === 0 ? name : `${name}-${count}`;
    }
  );
  const named = [...plain.matchAll(/<[a-z]+\s[^>]*?\b(?:id|name)="([^"]+)"/gi)].map(([, name]) => name);
  return new Set([...headings, ...named]);
}

/** Returns the targets of all links and pictures, with their lines. @param {string} text Markdown */
function links(text) {
  // Inline code is not a link, but it may be the text of one.
  const plain = withoutCode(text).replace(/(`+)(?!`)(.*?[^`])\1(?!`)/gs, (code) =>
    code.replace(/[^\n]/g, 'x')
  );
  const forms = [
    /\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+["'(][^)]*)?\s*\)/g,
    /^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)/gm,
    /<(?:a|img)\s[^>]*?\b(?:href|src)="([^"]+)"/gi
  ];
  return forms.flatMap((form) =>
    [...plain.matchAll(form)].map(({ 1: target, index }) => ({
      target,
      line: plain.slice(0, index).split('\n').length
    }))
  );
}

const files = repositoryFiles();
const folders = new Set(files.flatMap((file) => parents(file)));
const pages = files.filter((file) => file.endsWith('.md'));

/** @param {string} file @returns {string[]} */
function parents(file) {
  const folder = path.posix.dirname(file);
  return folder === '.' ? ['.'] : [folder, ...parents(folder)];
}

/** Returns why a link does not resolve, else ''. @param {string} page @param {string} target */
function problem(page, target) {
  if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(target)) return '';
  const [address, anchor] = target.split('#').map(decodeURIComponent);
  const file = address === '' ? page : path.posix.join(path.posix.dirname(page), address).replace(/\/$/, '');
  if (folders.has(file)) return anchor === undefined ? '' : 'a folder has no anchors';
  if (!files.includes(file)) return 'there is no such file';
  if (anchor === undefined) return '';
  if (!file.endsWith('.md')) return /^L\d+(-L\d+)?$/.test(anchor) ? '' : 'such a file has no anchors';
  return anchors(read(file)).has(anchor) ? '' : 'there is no such heading';
}

test.each(pages)('resolves every link of %s', (page) => {
  const broken = links(read(page))
    .map(({ target, line }) => ({ at: `${page}:${line}`, target, why: problem(page, target) }))
    .filter(({ why }) => why);
  expect(broken).toEqual([]);
});

/** A page of the documentation in a comment, a text or an address; its anchor is in group 2. */
const PAGE = /\bdocs\/([\w/-]+\.md)(?:#([\w-]+))?/g;

test('finds every page of docs that a file of the repository names', () => {
  const args = ['grep', '--untracked', '-nIE', '\\bdocs/[a-zA-Z0-9_/-]+\\.md', '--', ':!docs'];
  const lines = execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 26 }).split('\n');
  const named = lines.flatMap((line) => [...line.matchAll(PAGE)].map((found) => ({ line, found })));
  expect(named.length).toBeGreaterThan(200);
  const broken = named.filter(({ found: [, page, anchor] }) => {
    const target = anchor === undefined ? `docs/${page}` : `docs/${page}#${anchor}`;
    return problem('README.md', target);
  });
  expect(broken.map(({ line }) => line.slice(0, 200))).toEqual([]);
});

test('shows each picture of docs/images, and all together take at most 2.5 MB', () => {
  const pictures = files.filter((file) => file.startsWith('docs/images/'));
  const shown = pages.flatMap((page) =>
    links(read(page)).map(({ target }) => path.posix.join(path.posix.dirname(page), target))
  );
  expect(pictures.filter((file) => !shown.includes(file))).toEqual([]);
  const bytes = pictures.reduce((sum, file) => sum + fs.statSync(path.join(root, file)).size, 0);
  expect(bytes).toBeLessThan(2.5e6);
});

test('shows the dialog of each node in dialogs.md', () => {
  const shown = links(read('docs/reference/dialogs.md')).map(({ target }) => target);
  const { nodes } = JSON.parse(read('package.json'))['node-red'];
  for (const type of Object.keys(nodes)) expect(shown).toContain(`../images/dialogs/${type}.webp`);
});

describe('the link check', () => {
  test('makes anchors as GitHub does', () => {
    const text = [
      '# The `log`, and _more_: [a](b.md) (1/2)',
      '```sh\n# no heading\n```',
      '## Twice\n## Twice ##\n<a id="own"></a>'
    ].join('\n');
    expect([...anchors(text)]).toEqual(['the-log-and-more-a-12', 'twice', 'twice-1', 'own']);
  });

  test('finds links in text, pictures, references and HTML, and none in code', () => {
    const text = [
      '[`a`](one.md#x) ![p](two.png "title") [b][ref] `[no](no.md)`',
      '```\n[no](no.md)\n```',
      '[ref]: <three.md>',
      '<img src="four.png">'
    ].join('\n');
    expect(links(text)).toEqual([
      { target: 'one.md#x', line: 1 },
      { target: 'two.png', line: 1 },
      { target: 'three.md', line: 5 },
      { target: 'four.png', line: 6 }
    ]);
  });

  test.each([
    ['no-such-page.md', 'there is no such file'],
    ['README.md#no-such-heading', 'there is no such heading'],
    ['#no-such-heading', 'there is no such heading'],
    ['docs#x', 'a folder has no anchors'],
    ['docs/', ''],
    ['https://example.org/x.md', '']
  ])('checks the link %s', (target, why) => {
    expect(problem('CHANGELOG.md', target)).toBe(why);
  });
});

/** Config nodes whose sections have other names. @type {Record<string, string>} */
const NAMES = { kafka: 'kafka-cluster', overlay: 'overlay-network' };
/** The anchors of all nodes in docs/reference/nodes.md. */
const nodes = Object.keys(JSON.parse(read('package.json'))['node-red'].nodes)
  .map((type) => type.replace('seganet-', '').replace(/^(kafka|overlay)$/, (name) => NAMES[name]))
  .sort();

describe('README.md', () => {
  const readme = read('README.md');

  test('has at most 160 lines, none of text over 120 columns', () => {
    const lines = readme.trimEnd().split('\n');
    expect(lines.length).toBeLessThanOrEqual(160);
    const prose = withoutCode(readme)
      .split('\n')
      .filter((line) => !line.startsWith('|'));
    expect(prose.filter((line) => line.length > 120)).toEqual([]);
  });

  test('links the nodes of a first flow to their sections of docs/reference/nodes.md', () => {
    const linked = [...readme.matchAll(/\]\(docs\/reference\/nodes\.md#([^)]+)\)/g)].map(
      ([, anchor]) => anchor
    );
    expect(linked.length).toBeLessThanOrEqual(12);
    expect(linked.filter((name) => !nodes.includes(name))).toEqual([]);
    expect(readme).toContain('](docs/reference/nodes.md)');
  });
});

test('lists every node in the groups of docs/reference/nodes.md', () => {
  const [overview] = read('docs/reference/nodes.md').split('\n## Configuration nodes');
  const rows = overview.split('\n').filter((line) => line.startsWith('| ['));
  const listed = rows.flatMap((row) => [...row.split('|')[2].matchAll(/\]\(#([^)]+)\)/g)]);
  expect(listed.map(([, anchor]) => anchor).sort()).toEqual(nodes);
});

test('lists every page of docs once in docs/README.md, in a line of its own', () => {
  const lines = read('docs/README.md').split('\n');
  const listed = lines.map((line) => /^- \[[^\]]+\]\(([^)#]+)\): .+\.$/.exec(line)?.[1] ?? '');
  const ofDocs = listed.filter((target) => target && !target.startsWith('../'));
  const expected = pages
    .filter((page) => page.startsWith('docs/') && !/^docs\/(README|clouds\/(?!README))/.test(page))
    .map((page) => path.posix.relative('docs', page));
  expect(ofDocs.sort()).toEqual(expected.sort());
});
