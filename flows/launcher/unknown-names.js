'use strict';

// Finds unknown variables whose names begin with SEGANET_: misspelled ones would be ignored silently.

const { meant } = require('../../nodes/lib/base/texts/meant');

/**
 * Variables of other readers of the environment: the launcher, the addon's loader, the keeper of tenants and its
 * tenants, and the tests.
 */
const OTHERS =
  /^SEGANET_(CACHE|NATIVE|LAUNCHER_PID|PYTHON|REQUIRE_TOOLS|TENANT|(TENANTS?|TEST|SHIM|OPENSSL|CRC32C|BENCH)_\w+)$/;
const MAX_EDITS = 4;

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} known
 * @returns {string[]} a sentence for each
 */
function unknownNames(env, known) {
  const names = Object.keys(env).filter(
    (name) => name.startsWith('SEGANET_') && !known.includes(name) && !OTHERS.test(name)
  );
  return names.map(
    (name) =>
      `${name} is not a variable of the gateway.${meant(name, known, MAX_EDITS)} Correct its name or unset it; "npm start -- --help" lists all of them.`
  );
}

exports.unknownNames = unknownNames;
