'use strict';

// Opens a socket with all options to the port in argv[2], and prints the result.

const fs = require('node:fs');
const { openSocket, closeSocket, socketInfo } = require('../../../native');

const count = () => fs.readdirSync('/proc/self/fd').length;
const before = count();
let seen;
try {
  const { fd, unknown } = openSocket('127.0.0.1', Number(process.argv[2]), {
    priority: 6,
    dscp: 46,
    noDelay: true,
    userTimeoutMs: 1000,
    keepIdleS: 1,
    keepIntervalS: 1,
    keepCount: 1,
    notSentLowat: 1000,
    sendBuffer: 65536,
    congestion: 'reno'
  });
  seen = { unknown, dscp: socketInfo(fd).dscp };
  closeSocket(fd);
} catch (error) {
  const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
  seen = { code, message, left: count() - before };
}
console.log(JSON.stringify(seen));
