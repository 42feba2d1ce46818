'use strict';

const { CliError } = require('../base/errors');
const { ask } = require('./client');

/**
 * Notifies a running keeper that the tenants file changed.
 * @param {string} socket
 * @param {(line: string) => void} note
 * @returns {Promise<boolean>} false: no keeper runs
 */
async function notifyKeeper(socket, note) {
  const answer = await ask(socket, 'POST', '/v1/reload', {});
  if (!answer) note('No keeper runs; the next one reads the file.');
  else if (answer.status >= 400) {
    throw new CliError(`The file is changed, but the keeper did not take it over: ${answer.body.error}`);
  }
  return answer !== null;
}

module.exports = { notifyKeeper };
