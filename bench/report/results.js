'use strict';
// Reads and writes results.json, and makes the report from it, at once or later.

const fs = require('node:fs');
const path = require('node:path');
const { isMet } = require('./criteria');
const { headline, markdown, list } = require('./report');
const { faultWarnings, runWarnings } = require('./warnings');

/**
 * @typedef {import('../options/chapter').Chapter} Chapter @typedef {import('../options/chapter').Outcome} Outcome
 * @typedef {import('../options/chapter').Section & {name: string, rounds: number}} NamedSection
 *
 * @typedef {object} Results
 * @property {1} format @property {string} command @property {string} date ISO 8601
 * @property {boolean} complete false = aborted with Ctrl-C
 * @property {Record<string, string>} conditions
 * @property {import('../options/chapter').Plan} plan
 * @property {{chapter: string, label: string, why: string}[]} notRun
 * @property {string[]} warnings of the machine
 * @property {Outcome[]} outcomes
 * @property {Results[]} [parts] the joined results, each with different chapters
 */

/** Fields that are too long for results.json; no report uses them. */
const left = new Set(['samples', 'streams']);

/** @param {string} folder @param {Results} results */
function writeResults(folder, results) {
  fs.mkdirSync(folder, { recursive: true });
  const { outcomes, ...head } = results;
  const lines = outcomes.map((each) =>
    JSON.stringify(each, (name, value) => (left.has(name) ? undefined : value))
  );
  // One line per run, so that runs are easy to read and compare.
  const text = `${JSON.stringify(head, null, 1).slice(0, -2)},\n "outcomes": [\n${lines.join(',\n')}\n ]\n}\n`;
  // If the process is killed during the write, the previous file survives.
  const file = path.join(folder, 'results.json');
  fs.writeFileSync(`${file}.new`, text);
  fs.renameSync(`${file}.new`, file);
}

/** @param {string} file @returns {Results} */
function readResults(file) {
  const results = JSON.parse(fs.readFileSync(file, 'utf8'));
  if (results.format !== 1) throw new Error(`${file} is not a results.json of this seganet-bench`);
  return results;
}

/**
 * Joins the results of several runs with different chapters, and possibly different numbers of rounds.
 * @param {Results[]} parts at least one @returns {Results} @throws {Error} if two have the same chapter
 */
function joinResults(parts) {
  if (parts.length === 1) return parts[0];
  const names = parts.flatMap(({ outcomes }) => [...new Set(outcomes.map(({ chapter }) => chapter))]);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice) throw new Error(`The chapter ${twice} is in two of the results, so they cannot be joined.`);
  const lengths = [...new Set(parts.map(({ conditions }) => conditions.length))];
  return {
    ...parts[0],
    command: parts.map(({ command }) => command).join('\n'),
    date: parts[parts.length - 1].date,
    complete: parts.every(({ complete }) => complete),
    conditions: { ...parts[0].conditions, length: lengths.join('; ') },
    notRun: parts.flatMap(({ notRun }) => notRun),
    warnings: [...new Set(parts.flatMap(({ warnings }) => warnings))],
    outcomes: parts.flatMap(({ outcomes }) => outcomes),
    parts
  };
}

/**
 * Returns the sections of the chapters that ran. A report that throws becomes a warning and does not stop the others.
 * @param {Results} results @param {Chapter[]} chapters @returns {NamedSection[]}
 */
function sections({ outcomes, plan, parts }, chapters) {
  if (parts) return parts.flatMap((part) => sections(part, chapters));
  const ran = chapters.filter(({ name }) => outcomes.some(({ chapter }) => chapter === name));
  return ran.map((chapter) => {
    const own = outcomes.filter((outcome) => outcome.chapter === chapter.name);
    const doubts = [...runWarnings(own, plan), ...faultWarnings(own)];
    const rounds = new Set(own.map(({ round }) => round)).size;
    try {
      const section = chapter.report(own, plan);
      return { name: chapter.name, rounds, ...section, warnings: [...section.warnings, ...doubts] };
    } catch (error) {
      const why = `This chapter has no report: ${error instanceof Error ? error.message : error}`;
      const none = { markdown: '', ratios: [], plots: [], warnings: [why, ...doubts] };
      return { name: chapter.name, rounds, heading: chapter.title, ...none };
    }
  });
}

/** @param {number} value */
const short = (value) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2));

/** @param {import('../options/chapter').Ratio[]} ratios @returns {string} Markdown */
function ratioTable(ratios) {
  const rows = ratios.map((ratio) => {
    const { name, target = '–', median, low, high } = ratio;
    const range = low === high ? '' : ` [${short(low)}..${short(high)}]`;
    const met = isMet(ratio.target, median);
    return [name, `${short(median)}${range}`, target, met === undefined ? '–' : met ? 'yes' : '**no**'];
  });
  return markdown(['ratio', 'measured', 'target', 'met'], rows);
}

/** @param {Outcome[]} outcomes @returns {string[]} */
const failures = (outcomes) =>
  outcomes
    .filter(({ error }) => error)
    .map(({ chapter, key, round, error }) => `${chapter} ${key}, round ${round + 1}: ${headline(error)}`);

/** @param {string[]} lines */
const bullets = (lines) => lines.map((line) => `- ${line}`).join('\n');

/** @param {{rounds: number}} section */
const roundsText = ({ rounds }) =>
  rounds === 1 ? '_One round, so there is no range: not a result to compare._' : `_${rounds} rounds._`;

/** @param {NamedSection} section @param {Results} results @returns {string[]} paragraphs */
function chapterText(section, { notRun }) {
  const lacking = notRun.filter(({ chapter }) => chapter === section.name);
  return [
    `## ${section.heading}`,
    roundsText(section),
    section.markdown,
    section.ratios.length > 0 ? ratioTable(section.ratios) : '',
    section.plots.map(({ name }) => `![${name}](${name}.svg)`).join('\n'),
    bullets(section.warnings.map((warning) => `**Warning**: ${warning}`)),
    bullets(lacking.map(({ label, why }) => `Not run: ${label}. ${why}`))
  ];
}

/** @param {Results} results @param {NamedSection[]} all @returns {string} report.md */
function reportText(results, all) {
  const { plan, complete, conditions, command, date, warnings, outcomes } = results;
  const fence = '```';
  const failed = failures(outcomes);
  const parts = [
    '# Benchmark',
    plan.quick ? '**This was a quick check (one short round), not a result.**' : '',
    complete ? '' : '**Aborted: this report has only the runs until then.**',
    `${fence}sh\n${command}\n${fence}`,
    `${date}. Medians over the rounds [lowest..highest]; a ratio compares two runs of the same round.`,
    list(conditions),
    bullets(warnings.map((warning) => `**Warning**: ${warning}`)),
    ...all.flatMap((section) => chapterText(section, results)),
    failed.length > 0 ? `## Failed\n\n${bullets(failed)}` : ''
  ];
  return `${parts.filter(Boolean).join('\n\n')}\n`;
}

/** Writes report.md and the plots. @param {string} folder @param {Results} results @param {NamedSection[]} all */
function writeReport(folder, results, all) {
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(path.join(folder, 'report.md'), reportText(results, all));
  for (const { name, svg } of all.flatMap(({ plots }) => plots)) {
    fs.writeFileSync(path.join(folder, `${name}.svg`), svg);
  }
}

module.exports = {
  writeResults,
  readResults,
  joinResults,
  roundsText,
  sections,
  reportText,
  writeReport,
  ratioTable,
  failures
};
