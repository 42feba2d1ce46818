'use strict';

// The state of the machine's clock, compared with what another program gets from the kernel.

const { execFileSync } = require('node:child_process');
const { clockSynchronized } = require('../../native');
const { needs } = require('../../bench/harness/tools');

const { test } = needs('python3');

// struct timex begins with the unsigned int modes, and has the int status after four longs. STA_UNSYNC is 0x40.
const SCRIPT = `
import ctypes
state = (ctypes.c_long * 64)()
result = ctypes.CDLL(None).adjtimex(ctypes.byref(state))
print("null" if result < 0 else "false" if (state[5] & 0xFFFFFFFF) & 0x40 else "true")
`;

test("agrees with the kernel about the clock's synchronization", () => {
  const expected = JSON.parse(execFileSync('python3', ['-c', SCRIPT], { encoding: 'utf8' }));
  expect(clockSynchronized()).toBe(expected);
});
