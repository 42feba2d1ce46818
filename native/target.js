'use strict';

// The name of this platform's binary: platform, C library if there are several, architecture.

/**
 * @returns {string} 'musl' if the running Node uses musl, as on Alpine; a binary supports either musl or glibc. The
 *   answer is Node's own: a distribution other than Alpine may use musl, and Alpine can run a Node of glibc.
 */
function libc() {
  if (process.platform !== 'linux') return '';
  const report = /** @type {any} */ (process.report);
  const { excludeNetwork } = report;
  report.excludeNetwork = true; // otherwise the report looks up names of peers
  const { header } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header.glibcVersionRuntime ? '' : 'musl';
}

module.exports = `${process.platform}${libc()}-${process.arch}`;
