'use strict';
// Explains why the database of series does not work: a sentence with a remedy.

const { Refusal, isDamage, isFull } = require('../store/log-reasons');

/** An expected error, whose message is a sentence for the user. */
class SeriesError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'SeriesError';
  }
}

/**
 * @param {any} error
 * @param {string} directory
 * @returns {string}
 */
function explain(error, directory) {
  if (error instanceof Refusal || error instanceof SeriesError) return error.message;
  if (isFull(error))
    return `The disk of the series (${directory}) is full. Free space on it; the node then continues on its own.`;
  if (isDamage(error)) return `The series in ${directory} are damaged.`;
  if (['EACCES', 'EPERM', 'EROFS'].includes(error?.code))
    return `The gateway may not write to the folder of the series (${directory}). Grant its user write access, or choose another folder.`;
  if (['ENOTDIR', 'EEXIST'].includes(error?.code))
    return `The folder of the series (${directory}) is not a folder. Choose another one.`;
  return `The series in ${directory} cannot be written (${error?.message ?? error}). Check the disk (dmesg) and the permissions of the folder; the node tries again on its own.`;
}

module.exports = { SeriesError, explain };
