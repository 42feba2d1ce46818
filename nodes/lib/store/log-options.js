'use strict';

const path = require('node:path');
const { CLASSES, zeroByClass } = require('../base/classes');

/**
 * @typedef {object} StoreOptions
 * @property {string} directory folder of the log, created if necessary; one store thread per folder
 * @property {number} [limitMiB] space for the chunks on disk, default 1024, 1..1048576. The folder needs about 12 MiB
 *   more
 * @property {number[]} [classLimitMiB] the same by class 1..8 ([0] unused), 0 = no limit for the class
 * @property {'slow' | 'drop'} [whenFull] accept no more chunks (default), or remove the oldest chunk of the least
 *   urgent class
 * @property {number} [deadLimitMiB] space for dead letters, and the same again for the quarantine; default 16,
 *   1..1048576
 * @property {number} [retryMinMs] first wait after a failure, default 250
 * @property {number} [retryMaxMs] default 2000
 * @property {number} [refusedMs] wait before retrying a folder that is in use or belongs to another program; default
 *   5000
 * @property {string} [nativePath] module with StoreSource, default the engine's addon
 */

/** @typedef {Required<StoreOptions>} CheckedOptions */

const MIB = 1 << 20;

/**
 * @param {string} name
 * @param {unknown} value
 * @param {number} fallback
 * @param {number} min
 * @param {number} max
 */
function number(name, value, fallback, min, max) {
  if (value === undefined || value === null || value === '') return fallback;
  const n = Number(value);
  if (!Number.isInteger(n) || n < min || n > max) {
    throw new TypeError(`${name} is ${value}; it must be a whole number from ${min} to ${max}.`);
  }
  return n;
}

/** @param {unknown} list */
function classLimits(list) {
  if (list === undefined || list === null) return zeroByClass();
  if (!Array.isArray(list) || list.length !== CLASSES + 1) {
    throw new TypeError(`classLimitMiB must be a list of ${CLASSES + 1} numbers; the first is not used.`);
  }
  return list.map((value, c) => number(`classLimitMiB[${c}]`, value, 0, 0, MIB));
}

/**
 * Fills defaults. Throws TypeError with a sentence for the user.
 * @param {StoreOptions} options
 * @param {string} defaultNative
 * @returns {CheckedOptions}
 */
function checkOptions(options, defaultNative) {
  if (typeof options.directory !== 'string' || options.directory === '' || options.directory.includes('\0')) {
    throw new TypeError('The log needs a folder. Enter its path in the engine node.');
  }
  const whenFull = options.whenFull || 'slow';
  if (whenFull !== 'slow' && whenFull !== 'drop') {
    throw new TypeError(`whenFull is ${whenFull}; it must be slow or drop.`);
  }
  const day = 86400000;
  return {
    directory: path.resolve(options.directory),
    limitMiB: number('limitMiB', options.limitMiB, 1024, 1, MIB),
    classLimitMiB: classLimits(options.classLimitMiB),
    whenFull,
    deadLimitMiB: number('deadLimitMiB', options.deadLimitMiB, 16, 1, MIB),
    retryMinMs: number('retryMinMs', options.retryMinMs, 250, 1, day),
    retryMaxMs: number('retryMaxMs', options.retryMaxMs, 2000, 1, day),
    refusedMs: number('refusedMs', options.refusedMs, 5000, 1, day),
    nativePath: options.nativePath ?? defaultNative
  };
}

exports.checkOptions = checkOptions;
