'use strict';
// Admin endpoint with the values of the gateway's variables, which dialogs show beside ${NAME}.

const { TABLE } = require('../settings/table');

/**
 * Adds GET /seganet/variables: the variables that are set, as {NAME: value}. Passwords are not among them.
 * @param {import('node-red').NodeAPI} RED
 * @param {NodeJS.ProcessEnv} [env]
 */
function addVariables(RED, env = process.env) {
  RED.httpAdmin.get(
    '/seganet/variables',
    RED.auth.needsPermission('seganet.read'),
    (/** @type {any} */ _request, /** @type {any} */ response) => {
      const rows = Object.values(TABLE).flatMap((each) => Object.values(each));
      const names = rows.flatMap(({ variable, type }) => (variable && type !== 'secret' ? [variable] : []));
      response.json(
        Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
      );
    }
  );
}

exports.addVariables = addVariables;
