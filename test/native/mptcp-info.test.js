'use strict';

const native = require('../../native');

test('accepts only descriptors of sockets in mptcpInfo()', () => {
  for (const wrong of [undefined, null, '3', -1, 0.5, 2 ** 31]) {
    expect(() => native.mptcpInfo(/** @type {any} */ (wrong))).toThrow(/^fd must be a whole number from 0/);
  }
  expect(() => native.mptcpInfo(1 << 30)).toThrow(expect.objectContaining({ code: 'EBADF' }));
});
