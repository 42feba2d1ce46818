'use strict';

const { CliError } = require('../../../base/cli/cli-error');
const { ISSUER } = require('../access-codes');
const { EXIT } = require('./usage');

/** @typedef {{ uid: string, issuer: string, sub: string, devices: number }} User */

/**
 * Returns the user with a name or id. A user of access codes comes before one of a provider with the same name.
 * @param {User[]} users
 * @param {string} name
 */
function userNamed(users, name) {
  const found =
    users.find((user) => user.sub === name && user.issuer === ISSUER) ??
    users.find((user) => user.uid === name) ??
    users.find((user) => user.sub === name);
  if (!found) throw new CliError(`There is no user or device ${name}.`, EXIT.NO);
  return found;
}

exports.userNamed = userNamed;
