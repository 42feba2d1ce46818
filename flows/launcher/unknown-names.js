'use strict';

// Finds unknown variables whose names begin with SEGANET_: misspelled ones would be ignored silently.

/**
 * Variables of other readers of the environment: the launcher, the addon's loader, the keeper of tenants and its
 * tenants, and the tests.
 */
const OTHERS =
  /^SEGANET_(CACHE|NATIVE|LAUNCHER_PID|PYTHON|REQUIRE_TOOLS|TENANT|(TENANTS?|TEST|SHIM|OPENSSL|CRC32C|BENCH)_\w+)$/;
const MAX_EDITS = 4;

/**
 * @param {string} from
 * @param {string} to
 * @returns {number} number of characters to insert, delete or replace (Levenshtein)
 */
function edits(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} known
 * @returns {string[]} a sentence for each
 */
function unknownNames(env, known) {
  const names = Object.keys(env).filter(
    (name) => name.startsWith('SEGANET_') && !known.includes(name) && !OTHERS.test(name)
  );
  return names.map((name) => {
    const [nearest] = known
      .map((each) => ({ each, distance: edits(name, each) }))
      .sort((a, b) => a.distance - b.distance);
    const hint = nearest.distance <= MAX_EDITS ? ` Did you mean ${nearest.each}?` : '';
    return `${name} is not a variable of the gateway.${hint} Correct its name or unset it; "npm start -- --help" lists all of them.`;
  });
}

exports.unknownNames = unknownNames;
