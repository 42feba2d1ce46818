'use strict';
// Runs a measurement with a container engine of its own, in network, mount and process namespaces of its own: nothing
// of it stays behind, and its networks do not appear on this machine.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../harness/child');

const MAIN = path.join(__dirname, 'main.js');
const NAMESPACES = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
const LIMIT_MS = 900_000;
/** Begins the line with the result. */
const RESULT = 'result: ';

/**
 * @param {import('../../harness/containers').Engine} engine
 * @param {string} measurement a name in main.js
 * @param {object} options
 * @returns {Promise<any>}
 */
async function runInside(engine, measurement, options) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'sgb-'));
  const given = JSON.stringify({ engine, measurement, options, folder });
  const child = new Child('unshare', [...NAMESPACES, '--', process.execPath, MAIN, given], {
    name: `${measurement} in ${engine}`
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  try {
    const { code } = await child.exited;
    const line = child.output.split('\n').find((each) => each.startsWith(RESULT));
    if (code !== 0 || !line) throw new Error(`${child.name} failed: ${child.output.slice(-3000)}`);
    return JSON.parse(line.slice(RESULT.length));
  } finally {
    clearTimeout(timer);
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

module.exports = { runInside, RESULT };
