'use strict';

/** Why a place of files cannot be used; the message is a sentence with a remedy. */
class StoreError extends Error {
  /** @param {string} code @param {string} sentence @param {boolean} [mayPass] the next try may succeed */
  constructor(code, sentence, mayPass = false) {
    super(sentence);
    this.code = code;
    this.mayPass = mayPass;
  }
}

/** What to do about an error of the system, by its code. @type {Record<string, string>} */
const REMEDIES = {
  ENOSPC: 'The disk is full: free some space. The records wait.',
  EDQUOT: 'The disk quota is used up: free some space. The records wait.',
  EACCES: 'Let the user of the gateway write there.',
  EPERM: 'Let the user of the gateway write there.',
  EROFS: 'The file system is read-only. Choose another folder.',
  ENOTDIR: 'A part of the path is a file. Choose another folder.',
  EIO: 'The disk reports an error. Replace it.'
};

/**
 * @param {unknown} error of a store
 * @param {string} place
 * @returns {{ code: string, reason: string }} reason: a sentence
 */
function explain(error, place) {
  const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (error);
  if (error instanceof StoreError) return { code, reason: message };
  const remedy = REMEDIES[code] ?? 'The gateway tries again.';
  return { code: code || 'WRITE', reason: `The files in ${place} cannot be written (${message}). ${remedy}` };
}

module.exports = { StoreError, explain };
