'use strict';

const { plural, size, table } = require('../../../base/cli/cli-output');
const { shellWord } = require('../../../base/cli/shell-word');
const { commandOf } = require('../qdisc-steps');
const { rateText } = require('../verdict');

/** @typedef {{ tool: string, args: string[], why: string }} Step */

/** @param {Step} step */
const shellLine = ({ tool, args }) => [tool, ...args].map(shellWord).join(' ');

/** @param {Step[]} steps */
const stepsAsJson = (steps) => steps.map((step) => ({ command: [step.tool, ...step.args], why: step.why }));

/** @param {Step[]} steps @returns {string[]} */
const stepLines = (steps) => steps.flatMap((step) => [`# ${step.why}`, shellLine(step)]);

/** @param {{ scheme: string, rate: number, share: number }} made @returns {string} */
function summary({ scheme, rate, share }) {
  const shares = scheme === 'htb' ? `, ${share} % guaranteed to each lower band` : '';
  return `${scheme}, ${rateText(rate)}${shares}`;
}

/** @param {import('../verdict').BandCounters[]} bands @returns {string[]} */
function bandLines(bands) {
  if (bands.length === 0) return [];
  return table(
    ['band', 'packets', 'bytes', 'dropped', 'waiting'],
    bands.map((band) => [
      band.name,
      String(band.packets),
      String(band.bytes),
      String(band.dropped),
      band.backlogBytes === 0 ? '0' : size(band.backlogBytes)
    ])
  );
}

module.exports = { commandOf, plural, shellLine, stepsAsJson, stepLines, summary, bandLines };
