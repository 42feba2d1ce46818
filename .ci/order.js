'use strict';
// The order of Jest's suites in the gate: the quick ones last, so that no long one runs alone at the end while the
// other workers have nothing to do.

const { default: Sequencer } = require('@jest/test-sequencer');

/** @param {import('@jest/test-result').Test} suite @returns {boolean} */
const isQuick = ({ context }) => context.config.displayName?.name === 'quick';

module.exports = class QuickLast extends Sequencer {
  /** @param {import('@jest/test-result').Test[]} suites */
  async sort(suites) {
    const sorted = await super.sort(suites);
    return [...sorted.filter((suite) => !isQuick(suite)), ...sorted.filter(isQuick)];
  }
};
