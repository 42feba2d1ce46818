'use strict';
// Runs OpenSSL's own benchmark on one core.

const { execFile } = require('node:child_process');
const { promisify } = require('node:util');

const run = promisify(execFile);

/**
 * Parses the output of `openssl speed -mr`: +F:<id>:<name>:<bytes per second of each size>, after +H with the sizes.
 * @param {string} text @returns {{bytes: number, perSecond: number}[]} bytes encrypted per second, by bytes per call
 */
function parseSpeed(text) {
  const sizes = text.match(/^\+H:([\d:]+)$/m);
  const speeds = text.match(/^\+F:\d+:[^:]*:([\d.:]+)$/m);
  if (!sizes || !speeds) throw new Error(`unexpected output of openssl speed -mr: ${text.slice(0, 200)}`);
  const bytes = sizes[1].split(':').map(Number);
  const perSecond = speeds[1].split(':').map(Number);
  if (bytes.length !== perSecond.length)
    throw new Error('openssl speed -mr: the numbers of sizes and speeds differ');
  return bytes.map((each, i) => ({ bytes: each, perSecond: perSecond[i] }));
}

/**
 * Measures each size for one second. -aead: with key schedule, nonce, header and tag, as in a TLS record.
 * @param {string} cipher @param {number[]} sizes @param {{cpus?: string, signal?: AbortSignal}} options
 */
async function opensslSpeed(cipher, sizes, { cpus, signal }) {
  const pinned = cpus ? ['taskset', '-c', cpus] : [];
  const found = [];
  for (const size of sizes) {
    const speed = [
      'openssl',
      'speed',
      '-mr',
      '-aead',
      '-seconds',
      '1',
      '-bytes',
      String(size),
      '-evp',
      cipher
    ];
    const [command, ...args] = [...pinned, ...speed];
    const { stdout } = await run(command, args, { signal });
    found.push(...parseSpeed(stdout));
  }
  return found;
}

module.exports = { parseSpeed, opensslSpeed };
