'use strict';
// The cores to which workers are pinned.

const fs = require('node:fs');
const { isBlank } = require('./options');
const { asText, shown } = require('./values');

const MAX_CHARACTERS = 1024;
const SHAPE = /^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$/;

/**
 * @param {string} list such as 1-3,5
 * @returns {number[]} in the order of the list; a range that ends before it starts is empty
 */
function expand(list) {
  return list.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number);
    return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  });
}

/** @returns {Set<number> | null} cores that this process may use, or null if the system does not report them */
function allowedCpus() {
  try {
    const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(fs.readFileSync('/proc/self/status', 'utf8')) ?? [];
    return list ? new Set(expand(list)) : null;
  } catch {
    return null;
  }
}

/**
 * Parses a list of cores. Empty: the engine chooses.
 * @param {() => Set<number> | null} [allowed]
 * @returns {import('./options').Parser<string>}
 */
function cpuList(allowed = allowedCpus) {
  return (value) => {
    if (isBlank(value)) return '';
    const list = asText(value).trim();
    const isList = list.length <= MAX_CHARACTERS && SHAPE.test(list);
    if (!isList || list.split(',').some((part) => expand(part).length === 0)) {
      throw new RangeError(`must be a list of cores such as 1-3,5, not "${shown(value)}".`);
    }
    const known = allowed();
    const missing = expand(list).find((cpu) => known && !known.has(cpu));
    if (known && missing !== undefined) {
      const usable = [...known].join(',');
      throw new RangeError(
        `names core ${missing}, which this process may not use. It may use the cores ${usable}.`
      );
    }
    return list;
  };
}

module.exports = { cpuList };
