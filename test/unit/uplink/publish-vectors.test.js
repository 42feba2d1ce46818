'use strict';

// The express path writes PUBLISH packets in C++, and JavaScript may send them again: the bytes must be the same.
// native/test/uplink/publish_writer_test.cc compares with the same file.

const fs = require('node:fs');
const { FILE, render } = require('../../fixtures/uplink/publish-vectors');

test('writes in publish.js what the native tests expect; to change it: node test/fixtures/uplink/publish-vectors.js', () => {
  const blocks = (/** @type {string} */ text) => text.split('\n\n');
  const [wanted, written] = [fs.readFileSync(FILE, 'utf8'), render()].map(blocks);
  for (const [i, block] of written.entries()) expect(block).toBe(wanted[i]);
  expect(wanted).toHaveLength(written.length);
});
