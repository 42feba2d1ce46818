'use strict';

// SEGANET_PROFILE: a set of defaults for a kind of machine. A profile changes defaults only, so a variable or an option
// of Node.js that is set explicitly wins.

const path = require('path');

const START = path.join(__dirname, 'start.js');

/**
 * @typedef {object} Profile
 * @property {Record<string, string>} variables defaults of the gateway's own variables
 * @property {string[]} flags of Node.js
 * @property {Record<string, string>} system variables that the C library reads when the process starts
 */

/** @type {Record<string, Profile>} */
const PROFILES = {
  standard: { variables: {}, flags: [], system: {} },
  // Boards with 512 MB. Measured: docs/understand/performance.md, Resident memory.
  small: {
    variables: { SEGANET_WORKERS: '1', SEGANET_MEMORY_MIB: '16', SEGANET_EDITOR_PORT: 'off' },
    flags: ['--max-semi-space-size=1', '--max-old-space-size=128', '--optimize-for-size'],
    system: { MALLOC_ARENA_MAX: '2' }
  }
};

const NAMES = Object.keys(PROFILES);

/**
 * @param {string} name SEGANET_PROFILE, '' = standard
 * @returns {Profile} the standard one for an unknown name, which the check of the variable refuses
 */
function profileOf(name) {
  return Object.hasOwn(PROFILES, name) ? PROFILES[name] : PROFILES.standard;
}

/** Returns the name of a flag without dashes, underscores and value. @param {string} flag */
const nameOf = (flag) => flag.replace(/^--/, '').replace(/=.*/, '').replaceAll('_', '-');

/**
 * @param {Profile} profile
 * @param {{ execArgv: string[], env: NodeJS.ProcessEnv }} running how this process was started
 * @returns {{ flags: string[], system: Record<string, string> }} what it was started without
 */
function missing({ flags, system }, { execArgv, env }) {
  const given = [...execArgv, ...(env.NODE_OPTIONS ?? '').split(/\s+/)].map(nameOf);
  return {
    flags: flags.filter((flag) => !given.includes(nameOf(flag))),
    system: Object.fromEntries(Object.entries(system).filter(([name]) => env[name] === undefined))
  };
}

/**
 * Replaces this process by one with the flags of its profile, because V8 and the C library read them only at the start.
 * The process keeps its id. Returns if it has them already, or where a process cannot be replaced.
 * @param {NodeJS.Process} [running] this process; tests pass another one
 */
function applyProfile(running = process) {
  const profile = profileOf((running.env.SEGANET_PROFILE ?? '').trim());
  const { flags, system } = missing(profile, running);
  if (flags.length === 0 && Object.keys(system).length === 0) return;
  if (typeof running.execve !== 'function') return;
  const args = [running.execPath, ...running.execArgv, ...flags, START];
  running.execve(running.execPath, args, { ...running.env, ...system });
}

module.exports = { NAMES, PROFILES, applyProfile, missing, profileOf };
