'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Reserve } = require('../../../nodes/lib/store/log-folder');
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

test('names the free space that the log needs, which a disk that is nearly empty may not have', () => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-reserve-'));
  const small = jest
    .spyOn(fs, 'statfsSync')
    .mockReturnValue(/** @type {any} */ ({ bavail: 1900, bsize: 4096 }));
  let error;
  try {
    new Reserve(directory).restore();
  } catch (thrown) {
    error = thrown;
  }
  small.mockRestore();
  fs.rmSync(directory, { recursive: true });
  expect(explain(error, directory)).toMatchObject({
    code: 'SQLITE_FULL',
    reason: expect.stringContaining(
      `The disk of the log (${directory}) has less than 8 MiB free. Free space on it;`
    )
  });
});
