'use strict';

// The time slices of this process's threads, as another program gets them from the kernel.

const { execFileSync } = require('node:child_process');
const os = require('node:os');
const { shortenTimeSlices } = require('../../native');
const { needs } = require('../../bench/harness/tools');

const { test } = needs('python3');

// sched_getattr(2) of each thread; sched_runtime is at byte 24.
const SCRIPT = `
import ctypes, json, os, platform, struct, sys
libc = ctypes.CDLL(None)
number = {'x86_64': 315, 'aarch64': 275}[platform.machine()]
def slice_of(thread):
    attributes = ctypes.create_string_buffer(48)
    libc.syscall(number, thread, attributes, 48, 0)
    return struct.unpack_from('Q', attributes, 24)[0]
print(json.dumps([slice_of(int(each)) for each in os.listdir(f'/proc/{sys.argv[1]}/task')]))
`;

/** Linux tells and takes the length of slices from this version on. */
function systemHasSlices() {
  const [major, minor] = os.release().split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 12);
}

test('all threads of this process get short time slices', () => {
  expect(shortenTimeSlices()).toBe(systemHasSlices() ? 0.2 : 0);
  const slices = JSON.parse(
    execFileSync('python3', ['-c', SCRIPT, String(process.pid)], { encoding: 'utf8' })
  );
  expect(slices.length).toBeGreaterThan(1);
  if (systemHasSlices()) expect(new Set(slices)).toEqual(new Set([200_000]));
});
