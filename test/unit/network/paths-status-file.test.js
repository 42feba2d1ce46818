'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { fileOf } = require('../../../nodes/lib/network/paths/paths-state');
const {
  readStatus,
  removeStatus,
  writeStatus
} = require('../../../nodes/lib/network/paths/paths-status-file');

describe('the status file of the paths', () => {
  /** @type {string} */
  let folder;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'paths-'));
    writeStatus(folder, {
      version: 1,
      pid: process.pid,
      updated: new Date().toISOString(),
      broker: 'b:1883',
      mptcp: true,
      paths: []
    });
  });
  afterEach(() => fs.rmSync(folder, { recursive: true }));

  test('is removed with the draft of a watch that was killed, but not with that of one that runs', () => {
    expect(readStatus(folder)).not.toBeNull();
    const file = fileOf(folder, 'status');
    const { pid } = spawnSync(process.execPath, ['--version']); // it has ended
    fs.writeFileSync(`${file}.${pid}`, '{');
    fs.writeFileSync(`${file}.${process.pid}`, '{');
    fs.writeFileSync(`${file}.note`, '');
    removeStatus(folder);
    const name = path.basename(file);
    expect(fs.readdirSync(folder).sort()).toEqual([`${name}.${process.pid}`, `${name}.note`].sort());
  });

  test('is none in a folder that does not exist', () => {
    expect(() => removeStatus(path.join(folder, 'none'))).not.toThrow();
  });
});
