'use strict';
// Runs tc and ip, never through a shell, and always with a time limit.

const { execFile } = require('node:child_process');
const { EXIT, CliError } = require('./network-error');

const TIMEOUT_MS = 10_000;
const MOST_OUTPUT = 4 << 20;

/** Debian keeps these tools outside a user's PATH. */
const FOLDERS = '/usr/sbin:/sbin:/usr/local/sbin';

/** @type {Record<string, string>} */
const PACKAGES = { tc: 'iproute2', ip: 'iproute2', unshare: 'util-linux' };

/** @typedef {{ code: number, stdout: string, stderr: string }} Result */

/**
 * Runs a tool. Rejects with CliError if the tool is missing or does not finish in time.
 * @param {string} tool
 * @param {string[]} args
 * @param {{ input?: string, timeoutMs?: number }} [options]
 * @returns {Promise<Result>} also for a tool that failed
 */
function run(tool, args, { input, timeoutMs = TIMEOUT_MS } = {}) {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:${FOLDERS}`, LC_ALL: 'C' };
    const options = /** @type {const} */ ({
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: MOST_OUTPUT,
      encoding: 'utf8'
    });
    const child = execFile(tool, args, options, (error, stdout, stderr) => {
      if (!error) resolve({ code: 0, stdout, stderr });
      else if (typeof error.code === 'number') resolve({ code: error.code, stdout, stderr });
      else if (/** @type {any} */ (error).code === 'ENOENT') {
        const from = PACKAGES[tool] ? ` Install ${PACKAGES[tool]} (apt-get install ${PACKAGES[tool]}).` : '';
        reject(new CliError(`'${tool}' is not installed.${from}`, EXIT.CANNOT));
      } else if (error.killed) {
        reject(new CliError(`'${tool}' did not finish within ${timeoutMs} ms.`, EXIT.CANNOT));
      } else reject(new CliError(`'${tool}' cannot run: ${error.message}`, EXIT.CANNOT));
    });
    // The tool may exit before it has read everything.
    child.stdin?.on('error', () => {});
    child.stdin?.end(input ?? '');
  });
}

/** Returns a tool's error message in one line. @param {Result} result */
function complaint({ code, stderr }) {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('We have an error talking to the kernel'));
  return lines.length > 0
    ? lines
        .join(' ')
        .replace(/^Error: /, '')
        .replace(/\.$/, '')
    : `exit code ${code}`;
}

module.exports = { run, complaint };
