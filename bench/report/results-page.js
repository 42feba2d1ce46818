'use strict';
// The measured section of bench/RESULTS.md, between two markers.

const { failures, ratioTable, roundsText } = require('./results');
const { list } = require('./report');

const begin = '<!-- bench:begin -->';
const end = '<!-- bench:end -->';

/**
 * Replaces what is between the markers.
 * @param {string} text of the page @param {string} section
 * @returns {string} @throws {Error} when the page does not have both markers once each, in order
 */
function replaceSection(text, section) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const once = text.lastIndexOf(begin) === from && text.lastIndexOf(end) === to;
  if (from < 0 || to < from || !once) {
    throw new Error(`bench/RESULTS.md must have the lines ${begin} and ${end} once each, in this order.`);
  }
  return `${text.slice(0, from + begin.length)}\n${section.trim()}\n${text.slice(to)}`;
}

/** Moves headings one level down: a chapter of the report is a part of the page's section. @param {string} text */
const demoted = (text) => text.replaceAll(/^(#{2,5}) /gm, '#$1 ');

/**
 * Returns the section as Markdown.
 * @param {import('./results').Results} results @param {import('./results').NamedSection[]} all @returns {string}
 */
function resultsSection(results, all) {
  const { command, date, conditions, plan, warnings, outcomes } = results;
  const failed = failures(outcomes);
  const doubts = [...warnings, ...all.flatMap((section) => section.warnings)];
  const parts = [
    plan.quick ? '**A quick look, not a result.**' : '',
    `Measured on ${date.slice(0, 10)} with these commands. Figures are medians over the rounds [lowest..highest]; a ratio compares runs of the same round.`,
    `\`\`\`sh\n${command}\n\`\`\``,
    list(conditions),
    ...all.flatMap(({ heading, rounds, summary, markdown, ratios }) => [
      `### ${heading}`,
      roundsText({ rounds }),
      demoted(summary ?? (ratios.length > 0 ? '' : markdown)),
      ratios.length > 0 ? ratioTable(ratios) : ''
    ]),
    failed.length > 0 ? `Failed:\n\n${failed.map((line) => `- ${line}`).join('\n')}` : '',
    doubts.length > 0 ? `Caveats:\n\n${doubts.map((line) => `- ${line}`).join('\n')}` : ''
  ];
  return parts.filter(Boolean).join('\n\n');
}

module.exports = { replaceSection, resultsSection, begin, end };
