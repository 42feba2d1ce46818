'use strict';

// Child processes for tests: their output as text, waiting for a line with a deadline, and an end in every case.

const fs = require('fs');
const os = require('os');
const path = require('path');
const { spawn } = require('child_process');
const { accepts, eventually } = require('../../bench/harness/net');

const ROOT = path.join(__dirname, '..', '..');

/** @type {(() => unknown)[]} */
const cleanups = [];

/**
 * Polls until the condition holds.
 * @template T
 * @param {() => T | Promise<T>} condition
 * @param {{ within?: number, what?: string | (() => string) }} [options] ms
 * @returns {Promise<NonNullable<T>>} its value
 */
const until = (condition, { within = 20000, what } = {}) =>
  eventually(condition, { timeoutMs: within, what });

/** A fresh folder, removed after the test. */
function temporaryFolder() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-test-'));
  cleanups.push(() => fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

/**
 * @param {string} command
 * @param {string[]} args
 * @param {import('child_process').SpawnOptions} [options]
 */
function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: ROOT, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const result = {
    child,
    output: '',
    /** @type {Promise<{ code: number | null, signal: NodeJS.Signals | null, output: string }>} */
    ended: new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => resolve({ code, signal, output: result.output }));
    }),
    /** @param {string | RegExp} text @param {number} [within] ms */
    async says(text, within = 20000) {
      const match = () => new RegExp(text).exec(result.output);
      return until(match, { within, what: () => `"${text}" in:\n${result.output}` });
    }
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk) => (result.output += chunk));
  }
  cleanups.push(() => {
    child.kill('SIGKILL');
    // It has ended with its pipes, which its own children have too.
    return result.ended.catch(() => {});
  });
  return result;
}

/** Variables of an isolated gateway. @param {Record<string, string>} [more] @returns {NodeJS.ProcessEnv} */
function cleanEnvironment(more) {
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith('SEGANET_'));
  return { ...Object.fromEntries(own), ...more };
}

/** The process ids of a process's children (Linux). @param {number} pid @returns {number[]} */
function childrenOf(pid) {
  const text = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return text ? text.split(' ').map(Number) : [];
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    // A process that has ended but was not waited for yet is a zombie, state Z.
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Ends started processes and removes created files: `afterEach(cleanUp)`. */
async function cleanUp() {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
}

module.exports = {
  ROOT,
  run,
  until,
  cleanUp,
  temporaryFolder,
  cleanEnvironment,
  childrenOf,
  isAlive,
  accepts
};
