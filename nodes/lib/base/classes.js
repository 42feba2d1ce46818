'use strict';
// The priority classes of records, as in the native engine. Class 1 is the most urgent. Classes 1 to 4 have names.

const classNames = /** @type {const} */ (['', 'critical', 'high', 'normal', 'bulk', '5', '6', '7', '8']);
const CLASSES = classNames.length - 1;
/** How a class may be written, for error messages. */
const CLASS_WORDS = `1 to ${CLASSES}, or critical, high, normal or bulk`;

/**
 * @param {unknown} value class number, its digits, or its name in any case
 * @returns {number} 1..8, or 0 if the value is not a class
 */
function classOf(value) {
  if (typeof value === 'object') return 0;
  const word = String(value).trim().toLowerCase();
  if (/^\d$/.test(word) && Number(word) <= CLASSES) return Number(word);
  return Math.max(0, classNames.indexOf(/** @type {any} */ (word)));
}

/** @returns {number[]} a zero for each class; [0] is unused */
const zeroByClass = () => new Array(CLASSES + 1).fill(0);

module.exports = { classNames, CLASSES, CLASS_WORDS, classOf, zeroByClass };
