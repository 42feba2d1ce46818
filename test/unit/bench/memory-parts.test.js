'use strict';

const fs = require('node:fs');
const { divide, heapsOf, parseSmaps } = require('../../../bench/harness/memory/parts');

/** @param {string} range @param {string} access @param {string} name @param {number} rss @param {number} anonymous */
const mapping = (range, access, name, rss, anonymous) =>
  `${range} ${access} 00000000 00:00 0    ${name}
Size:               1234 kB
Rss:                ${String(rss).padStart(4)} kB
Pss:                ${String(rss / 2).padStart(4)} kB
Anonymous:          ${String(anonymous).padStart(4)} kB
VmFlags: rd wr
`;

test('divides the mappings of a process among its parts', () => {
  const text = [
    mapping('00400000-00600000', 'r-xp', '/opt/node', 1000, 0),
    mapping('01000000-01100000', 'rw-p', '[heap]', 60, 60),
    mapping('7f0000000000-7f0000200000', 'rw-p', '', 20, 20),
    mapping('7f0000200000-7f0004000000', '---p', '', 0, 0),
    mapping('7f0010000000-7f0010001000', '---p', '', 0, 0),
    mapping('7f0010001000-7f0010801000', 'rw-p', '', 8, 8),
    mapping('7f0020000000-7f0020040000', 'rw-p', '', 256, 256),
    mapping('7f0030000000-7f0030040000', 'rwxp', '', 4, 4),
    mapping('7f0040000000-7f0040040000', 'r-xp', '/gw/native/seganet.node', 40, 0),
    mapping('7f0050000000-7f0050040000', 'r-xp', '/lib/libc.so.6', 12, 0)
  ].join('');
  const shown = divide(text, '/opt/node').map(({ part, rss, anonymous }) => [
    part,
    rss / 1024,
    anonymous / 1024
  ]);
  expect(shown).toEqual([
    ['node binary', 1000, 0],
    ["V8's heaps and other anonymous memory", 256, 256],
    ['malloc, first arena', 60, 60],
    ['engine (seganet.node)', 40, 0],
    ['malloc, further arenas', 20, 20],
    ['other files', 12, 0],
    ['stacks', 8, 8],
    ["V8's code", 4, 4]
  ]);
});

test('finds all of the memory of this process', () => {
  const text = fs.readFileSync('/proc/self/smaps', 'utf8');
  const parts = divide(text, fs.readlinkSync('/proc/self/exe'));
  const sum = parts.reduce((total, { rss }) => total + rss, 0);
  expect(sum).toBe(parseSmaps(text).reduce((total, { rss }) => total + rss, 0));
  expect(parts.map(({ part }) => part)).toEqual(expect.arrayContaining(['node binary', 'stacks']));
  expect(sum).toBeGreaterThan(20e6);
});

test('reads the heap of each thread from a diagnostic report', () => {
  const report = /** @type {any} */ (process.report.getReport());
  const [main] = heapsOf({ ...report, workers: [] });
  expect(main.thread).toBe('main');
  expect(main.total).toBeGreaterThanOrEqual(main.used);
  const worker = { header: { threadName: 'seganet-uplink' }, javascriptHeap: report.javascriptHeap };
  expect(heapsOf({ ...report, workers: [worker, worker] }).map(({ thread }) => thread)).toEqual([
    'main',
    'seganet-uplink',
    'seganet-uplink'
  ]);
});
