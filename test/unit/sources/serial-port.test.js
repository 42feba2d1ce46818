'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { watchPort } = require('../../../nodes/lib/sources/ble/serial-port');

describe('a port that is watched', () => {
  /** @type {string} */
  let folder;
  /** @type {string} */
  let port;
  /** @type {jest.Mock<void, []>} */
  let gone;

  beforeEach(() => {
    jest.useFakeTimers();
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-port-'));
    port = path.join(folder, 'dongle');
    gone = jest.fn();
  });
  afterEach(() => {
    jest.useRealTimers();
    fs.rmSync(folder, { recursive: true });
  });

  test('is gone once when its file is', () => {
    fs.writeFileSync(port, '');
    watchPort(port, gone, 100);
    jest.advanceTimersByTime(300);
    expect(gone).not.toHaveBeenCalled();
    fs.rmSync(port);
    jest.advanceTimersByTime(300);
    expect(gone).toHaveBeenCalledTimes(1);
  });

  test('is gone when the link leads to another one', () => {
    for (const name of ['a', 'b']) fs.writeFileSync(path.join(folder, name), '');
    fs.symlinkSync('a', port);
    watchPort(port, gone, 100);
    fs.rmSync(port);
    fs.symlinkSync('b', port);
    jest.advanceTimersByTime(100);
    expect(gone).toHaveBeenCalledTimes(1);
  });

  test('is not gone if it never existed', () => {
    watchPort(port, gone, 100);
    jest.advanceTimersByTime(300);
    expect(gone).not.toHaveBeenCalled();
  });
});
