'use strict';
// Reads small files of sysfs, asynchronously because a sensor on a slow bus may take milliseconds.

const fs = require('node:fs/promises');

/** Limits of valid readings: a power of 1 MW, and the largest energy that a number represents exactly. */
const MAX_POWER = 1e12;
const MAX_ENERGY = Number.MAX_SAFE_INTEGER;

/**
 * @param {string} folder
 * @returns {Promise<string[]>} in the order of their numbers; empty if it cannot be read
 */
async function list(folder) {
  try {
    const names = await fs.readdir(folder);
    return names.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  } catch {
    return [];
  }
}

/** @param {string} file @returns {Promise<string>} its line; '' = none */
async function line(file) {
  try {
    return (await fs.readFile(file, 'utf8')).slice(0, 256).trim();
  } catch {
    return '';
  }
}

/**
 * @param {string} file
 * @param {number} most
 * @returns {Promise<number>} a whole number; NaN = none, or above `most`
 */
async function number(file, most) {
  const text = await line(file);
  const value = /^\d{1,20}$/.test(text) ? Number(text) : NaN;
  return value <= most ? value : NaN;
}

module.exports = { MAX_ENERGY, MAX_POWER, line, list, number };
