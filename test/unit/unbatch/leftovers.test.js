'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { isInFlow, removeLeftovers } = require('../../../nodes/lib/unbatch/leftovers');

test('removes files and dictionaries of nodes that are not in the flow, and nothing else', () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-leftovers-'));
  try {
    const kept = ['a%20b.json', 'i-n.json', 'i-x.json', '%.json', 'notes.txt', '.json'];
    for (const name of [...kept, 'gone.json', 'x-i.json', '..%2Fgone.json'])
      fs.writeFileSync(path.join(folder, name), '{}');
    for (const name of ['n-dictionaries', 'gone-dictionaries']) {
      fs.mkdirSync(path.join(folder, name));
      fs.writeFileSync(path.join(folder, name, '0123456789abcdef'), 'x');
    }
    expect(removeLeftovers(folder, new Set(['a b', 'n', 'i']))).toBe(4);
    expect(fs.readdirSync(folder).sort()).toEqual([...kept, 'n-dictionaries'].sort());
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
  expect(removeLeftovers(folder, new Set())).toBe(0);
});

test.each([
  ['n', true],
  ['i-n', true],
  ['i-i-n', true],
  ['x-y', true],
  ['i-x-y', true],
  ['i-x', true], // x is of a packaged subflow
  ['-n', false],
  ['x-n', false],
  ['', false]
])('the node "%s" is in the flow: %s', (id, expected) => {
  expect(isInFlow(id, new Set(['n', 'i', 'x-y']))).toBe(expected);
});
