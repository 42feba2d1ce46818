'use strict';

const crypto = require('node:crypto');
const fs = require('node:fs');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { releaseProgramPages } = require('../../native');

/** @returns {number} bytes of files in this process's memory */
function fileBytes() {
  const [, kib] = /^RssFile:\s+(\d+) kB$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? [];
  return Number(kib) * 1024;
}

test('pages of the program leave memory, and threads that need them go on', async () => {
  const digest = () => crypto.createHash('sha256').update('seganet').digest('hex');
  const expected = digest();
  const thread = new Worker(
    `const { parentPort } = require('node:worker_threads');
     let runs = 0;
     setInterval(() => parentPort.postMessage(++runs));`,
    { eval: true }
  );
  try {
    await once(thread, 'message');
    const before = fileBytes();
    expect(releaseProgramPages()).toBe(true);
    // Of at least 30 MB.
    expect(fileBytes()).toBeLessThan(before - 10e6);
    const [runs] = await once(thread, 'message');
    for (let more = runs; more < runs + 20; [more] = await once(thread, 'message'));
    expect(digest()).toBe(expected);
  } finally {
    await thread.terminate();
  }
});
