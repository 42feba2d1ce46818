'use strict';
// The command after a backup: it takes the file elsewhere (restic, S3 …).

const { spawn } = require('node:child_process');
const { MAX_OUTPUT, lastOf } = require('./output');

const LIMIT_MS = 3_600_000;

/**
 * Runs the command without a shell, with what it needs to know in its environment.
 * @param {string[]} command
 * @param {{ tenant: string, file: string, sha256: string, bytes: number }} backup
 * @param {number} [limitMs]
 * @returns {Promise<string>} '' = it ended with code 0, else the rest of a sentence
 */
function runHook(command, { tenant, file, sha256, bytes }, limitMs = LIMIT_MS) {
  const env = {
    ...process.env,
    SEGANET_BACKUP_TENANT: tenant,
    SEGANET_BACKUP_FILE: file,
    SEGANET_BACKUP_SHA256: sha256,
    SEGANET_BACKUP_BYTES: String(bytes)
  };
  return new Promise((resolve) => {
    const child = spawn(command[0], command.slice(1), {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true
    });
    let output = '';
    let isLate = false;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => (output = (output + text).slice(-MAX_OUTPUT)));
    }
    const timer = setTimeout(() => {
      isLate = true;
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    }, limitMs);
    child.once('error', ({ message }) => {
      clearTimeout(timer);
      resolve(`it cannot be run: ${message}`);
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      if (code === 0) resolve('');
      else if (isLate) resolve(`it took longer than ${limitMs / 1000} s and was ended${lastOf(output)}`);
      else resolve(`it ended ${signal ? `by ${signal}` : `with code ${code}`}${lastOf(output)}`);
    });
  });
}

module.exports = { runHook };
