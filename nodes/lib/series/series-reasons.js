'use strict';
// Explains why the database of series does not work: a sentence with a remedy.

const { shown } = require('../base/values');
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
  const where = shown(directory);
  if (error instanceof Refusal || error instanceof SeriesError) return error.message;
  if (isFull(error))
    return `The disk of the series (${where}) is full. Free space on it; the node then continues on its own.`;
  if (isDamage(error)) return `The series in ${where} are damaged.`;
  if (['EACCES', 'EPERM', 'EROFS'].includes(error?.code))
    return `The gateway may not write to the folder of the series (${where}). Grant its user write access, or choose another folder.`;
  if (['ENOTDIR', 'EEXIST'].includes(error?.code))
    return `The folder of the series (${where}) is not a folder. Choose another one.`;
  if (error?.code === 'ENAMETOOLONG')
    return `The name of the folder of the series is too long for the file system: ${where}. Choose a shorter one.`;
  return `The series in ${where} cannot be written (${shown(String(error?.message ?? error))}). Check the disk (dmesg) and the permissions of the folder; the node tries again on its own.`;
}

exports.SeriesError = SeriesError;
exports.explain = explain;
