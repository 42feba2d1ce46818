'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { explain } = require('../../../nodes/lib/store/log-reasons');

test('has a short sentence for a folder whose name is too long for the disk', () => {
  const directory = path.join(os.tmpdir(), 'x'.repeat(1000));
  let error;
  try {
    fs.mkdirSync(directory);
  } catch (thrown) {
    error = thrown;
  }
  const { kind, reason } = explain(error, directory);
  expect(kind).toBe('refused');
  expect(reason).toMatch(/too long.*…\. Choose a shorter one\.$/);
  expect(reason.length).toBeLessThan(250);
});
