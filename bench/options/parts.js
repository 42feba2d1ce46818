'use strict';
// Chapters that consist of parts: --systems chooses them, and each has cases and requirements of its own.

/**
 * @typedef {import('./chapter').Plan} Plan @typedef {import('./chapter').Case} Case
 *
 * @typedef {Case & { isLong?: boolean }} PartCase isLong: measured in the first round only
 *
 * @typedef {object} Part
 * @property {boolean} [isExtra] only if it is chosen by --systems
 * @property {(plan: Plan) => string} [lacking] returns '' if the part can run here, else what is missing
 * @property {(plan: Plan) => PartCase[]} cases
 */

/**
 * Returns a part with one case.
 * @param {string} key of the case @param {(plan: Plan) => Omit<PartCase, 'key'>} caseOf
 * @param {Omit<Part, 'cases'>} [how]
 * @returns {Part}
 */
const onePart = (key, caseOf, how = {}) => ({ ...how, cases: (plan) => [{ key, ...caseOf(plan) }] });

/**
 * Returns the part that runs the tests which prove criteria. The option --tests chooses it, too.
 * @param {object} options
 * @param {() => number[]} options.numbers of the criteria @param {number} options.seconds of one
 * @param {(number: number) => Promise<any>} options.run
 * @param {(plan: Plan) => string} [options.lacking]
 * @returns {Part}
 */
const testsPart = ({ numbers, seconds, run, lacking }) => ({
  isExtra: true,
  lacking,
  cases: () =>
    numbers().map((number) => ({
      key: `test-${number}`,
      label: `tests of criterion ${number}`,
      seconds,
      isLong: true,
      run: () => run(number)
    }))
});

/**
 * Returns `cases` and `lacking` of a chapter.
 * @param {Record<string, Part>} parts by name; `tests`: of testsPart()
 * @param {object} [options]
 * @param {Record<string, string[]>} [options.groups] names for --systems that stand for several parts
 * @param {() => string} [options.lacking] the requirement of all parts
 * @returns {Required<Pick<import('./chapter').Chapter, 'cases' | 'lacking'>>}
 */
function partsChapter(parts, { groups = {}, lacking = () => '' } = {}) {
  const chosen = (/** @type {Plan} */ { systems, tests }) => {
    const names = systems.flatMap((name) => groups[name] ?? [name]);
    return Object.entries(parts).filter(
      ([name, { isExtra }]) =>
        (name === 'tests' && tests) || (systems.length === 0 ? !isExtra : names.includes(name))
    );
  };
  /** @param {Plan} plan @param {Part} part */
  const problemOf = (plan, part) => lacking() || (part.lacking?.(plan) ?? '');
  return {
    cases: (plan) =>
      chosen(plan)
        .filter(([, part]) => !problemOf(plan, part))
        .flatMap(([, part]) => part.cases(plan))
        .map(({ isLong, run, ...each }) => ({
          ...each,
          run: async (context) => (isLong && context.round > 0 ? { isLeftOut: true } : run(context))
        })),
    lacking: (plan) =>
      chosen(plan)
        .map(([label, part]) => ({ label, why: problemOf(plan, part) }))
        .filter(({ why }) => why)
  };
}

module.exports = { onePart, partsChapter, testsPart };
