'use strict';
// Reads the memory of a process: its sums, its parts, and V8's heaps.

const fs = require('node:fs');
const path = require('node:path');

const { divide, heapsOf } = require('../harness/memory/parts');
const { readMemory } = require('../harness/memory');
const { sleep } = require('../runs/stage');

const KIB = 1024;
const REPORT = 'report.json';

/**
 * @typedef {object} Reading
 * @property {string} name
 * @property {import('../harness/memory').Memory} memory bytes
 * @property {number} anonymous bytes that belong to no file
 * @property {number} peak most bytes in memory at once (RSS) since the start of the process
 * @property {number} threads
 * @property {import('../harness/memory/parts').Part[]} parts
 * @property {import('../harness/memory/parts').Heap[]} heaps
 */

/** @param {number} pid @returns {number} bytes */
function peakOf(pid) {
  const [, kib = 0] = /^VmHWM:\s+(\d+) kB$/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kib) * KIB;
}

/** @param {string} name @param {number} pid @returns {Reading} without heaps */
function read(name, pid) {
  const parts = divide(fs.readFileSync(`/proc/${pid}/smaps`, 'utf8'), fs.readlinkSync(`/proc/${pid}/exe`));
  return {
    name,
    memory: readMemory([pid]),
    anonymous: parts.reduce((sum, { anonymous }) => sum + anonymous, 0),
    peak: peakOf(pid),
    threads: fs.readdirSync(`/proc/${pid}/task`).length,
    parts,
    heaps: []
  };
}

/**
 * Options of Node.js with which a process writes its diagnostic report into the folder.
 * @param {string} folder
 */
const reportOptions = (folder) =>
  `--report-on-signal --report-directory=${folder} --report-filename=${REPORT} --report-exclude-network`;

/**
 * Asks a process for a diagnostic report, which changes its memory: the last thing to do with it.
 * @param {import('../harness/child').Child} child started with reportOptions()
 * @param {string} folder of the same
 * @returns {Promise<import('../harness/memory/parts').Heap[]>} empty if there is none after 10 s
 */
async function readHeaps(child, folder) {
  const report = path.join(folder, REPORT);
  fs.rmSync(report, { force: true });
  child.process.kill('SIGUSR2');
  for (let tries = 0; tries < 100; tries++) {
    await sleep(100);
    try {
      return heapsOf(JSON.parse(fs.readFileSync(report, 'utf8')));
    } catch {
      // not written, or not completely
    }
  }
  return [];
}

module.exports = { read, readHeaps, reportOptions };
