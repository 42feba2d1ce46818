'use strict';

/** @param {number} seed @returns {(n: number) => number} pseudo-random whole numbers below n */
function randomOf(seed) {
  return (n) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * n);
  };
}

module.exports = { randomOf };
