'use strict';
// The performance section of README.md, between two markers.

const { failures, ratioTable, roundsText } = require('./results');
const { list } = require('./report');

const begin = '<!-- bench:begin -->';
const end = '<!-- bench:end -->';

/**
 * @param {string} text of the file @param {string} section what comes between the markers
 * @returns {string} @throws {Error} when the markers are not there once each, in order
 */
function replaceSection(text, section) {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  const once = text.lastIndexOf(begin) === from && text.lastIndexOf(end) === to;
  if (from < 0 || to < from || !once) {
    throw new Error(`README.md must have the lines ${begin} and ${end} once each, in this order.`);
  }
  return `${text.slice(0, from + begin.length)}\n${section.trim()}\n${text.slice(to)}`;
}

/** A heading of a chapter is one level below that of the report. @param {string} text */
const demoted = (text) => text.replaceAll(/^(#{2,5}) /gm, '#$1 ');

/** @param {import('./results').Results} results @param {import('./results').NamedSection[]} all @returns {string} */
function readmeSection(results, all) {
  const { command, date, conditions, plan, complete, warnings, outcomes } = results;
  const failed = failures(outcomes);
  const doubts = [...warnings, ...all.flatMap((section) => section.warnings)];
  const parts = [
    plan.quick || !complete ? '**A quick look or an unfinished run, no result.**' : '',
    `Made by the command, on ${date.slice(0, 10)}; medians over the rounds [lowest..highest], ratios of runs of the same round.`,
    `\`\`\`sh\n${command}\n\`\`\``,
    list(conditions),
    ...all.flatMap(({ heading, rounds, summary, markdown, ratios }) => [
      `### ${heading}`,
      roundsText({ rounds }),
      demoted(summary ?? (ratios.length > 0 ? '' : markdown)),
      ratios.length > 0 ? ratioTable(ratios) : ''
    ]),
    failed.length > 0 ? `Failed:\n\n${failed.map((line) => `- ${line}`).join('\n')}` : '',
    doubts.length > 0 ? `To be considered:\n\n${doubts.map((line) => `- ${line}`).join('\n')}` : ''
  ];
  return parts.filter(Boolean).join('\n\n');
}

module.exports = { replaceSection, readmeSection, begin, end };
