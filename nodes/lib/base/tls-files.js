'use strict';

const { WatchedFiles } = require('./watched-files');

const NAMES = {
  ca: "authority's certificate",
  cert: 'certificate of this gateway',
  key: 'private key',
  pfx: 'PFX file'
};

/**
 * @typedef {keyof typeof NAMES} Role
 * @typedef {Partial<Record<Role, Buffer>>} Contents
 * @typedef {WatchedFiles<Role>} TlsFiles
 */

/**
 * Returns the files of a certificate and its key, which the caller reads for each connection or listener, so that
 * renewed ones are used without a restart.
 * @param {Partial<Record<Role, string>>} paths
 * @param {string} [meanwhile] see WatchOptions
 * @returns {TlsFiles} its errors have the code TLS_FILE
 */
function watchTlsFiles(paths, meanwhile = '') {
  return new WatchedFiles(paths, NAMES, { code: 'TLS_FILE', meanwhile });
}

exports.watchTlsFiles = watchTlsFiles;
