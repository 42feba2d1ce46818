'use strict';

const { CliError } = require('../../base/cli/cli-error');
const { ISSUER } = require('../cloud/access-codes');
const { EXIT } = require('./usage');

/** @typedef {{ uid: string, issuer: string, sub: string, devices: number }} User */

/**
 * Returns the user with a name or id. A user of access codes comes before one of a provider with the same name.
 * @param {User[]} users
 * @param {string} name
 * @param {string} issuer of the user, '' = any
 */
function userNamed(users, name, issuer) {
  const named = users.filter(({ sub }) => sub === name);
  const found = issuer
    ? named.find((user) => user.issuer === issuer)
    : (named.find((user) => user.issuer === ISSUER) ?? users.find(({ uid }) => uid === name) ?? named[0]);
  if (found) return found;
  const of = issuer ? ` of ${issuer}` : ' or device';
  throw new CliError(`There is no user${of} ${name}.`, EXIT.NO);
}

/**
 * Returns a note for a command about a user of access codes, '' = none: a provider may have a user with the same name,
 * who is another one.
 * @param {User[]} users
 * @param {string} name
 */
function otherUserNote(users, name) {
  const others = users.filter(({ sub, issuer }) => sub === name && issuer !== ISSUER);
  if (others.length === 0) return '';
  const options = others.map(({ issuer }) => `--issuer ${issuer}`);
  return `This is not the ${name} of a provider. For that one, add ${options.join(' or ')}.`;
}

module.exports = { userNamed, otherUserNote };
