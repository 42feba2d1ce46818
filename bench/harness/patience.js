'use strict';
// SEGANET_TEST_PATIENCE=4 gives every deadline of a test four times its time: those of waits (`eventually`,
// Child.until), of Jest's tests and hooks (test/environment.js), of pages, and of the core's tests. CI sets it because
// its tests run beside compilers. A bound that a test states for a quiet machine is multiplied by PATIENCE as well.

const given = process.env.SEGANET_TEST_PATIENCE || '1';
const PATIENCE = Number(given);
if (!(PATIENCE >= 1 && PATIENCE <= 100)) {
  throw new Error(`SEGANET_TEST_PATIENCE must be a number from 1 to 100, not "${given}".`);
}

module.exports = { PATIENCE };
