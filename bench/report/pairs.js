'use strict';
// Evaluates variants that ran in interleaved rounds: medians, and ratios of pairs of the same round, so that other load
// of the machine affects both.

/**
 * @typedef {import('../runs/measure').Result & {variant: string, round: number}} VariantRun
 */

/**
 * Returns the order of a round: each round begins with a different element.
 * @template T
 * @param {T[]} all @param {number} round @returns {T[]}
 */
function turned(all, round) {
  const turn = round % all.length;
  return [...all.slice(turn), ...all.slice(0, turn)];
}

/**
 * Returns value / base value of each round that has both.
 * @param {VariantRun[]} runs @param {string} variant @param {string} base
 * @param {(run: any) => number | undefined} value
 * @returns {number[]}
 */
function ratios(runs, variant, base, value) {
  return runs
    .filter((run) => run.variant === variant)
    .map((run) => {
      const other = runs.find((each) => each.variant === base && each.round === run.round);
      return (value(run) ?? NaN) / ((other && value(other)) || NaN);
    })
    .filter(Number.isFinite);
}

module.exports = { turned, ratios };
