'use strict';

const path = require('node:path');
const { ask } = require('../api/client');
const { CliError, messageOf } = require('../base/errors');
const { folderOf } = require('../../../../nodes/lib/tenants/file/locations');

/** Socket of the gateway in SEGANET_HOME. */
const GATEWAY = 'gateway.sock';

/**
 * @param {string} socket
 * @param {string} path_ of the request
 * @param {string} absent sentence if nothing listens
 * @returns {Promise<{ body: any, problem: string }>} body null: there is a problem
 */
async function side(socket, path_, absent) {
  try {
    const answer = await ask(socket, 'GET', path_);
    if (!answer) return { body: null, problem: absent };
    const { status, body } = answer;
    return status < 400
      ? { body, problem: '' }
      : { body: null, problem: body.error ?? `It answered ${status}.` };
  } catch (error) {
    return { body: null, problem: messageOf(error) };
  }
}

/** @type {import('./index').Command} */
module.exports = {
  name: 'why',
  summary: 'tells why records of a tenant wait, as the gateway and the keeper see it',
  more: `The gateway is the one of SEGANET_HOME, if seganet-gateway runs it; another one answers
GET /seganet/tenants/NODE/why?tenant=NAME of its admin API.`,
  usage: 'NAME',
  options: {},
  async run({ home, env, operands, isJson, print }) {
    const name = encodeURIComponent(operands[0]);
    const socket = path.join(path.dirname(folderOf(env)), GATEWAY);
    const [gateway, keeper] = await Promise.all([
      side(socket, `/why/${name}`, `No gateway answers at ${socket}.`),
      side(
        home.socket,
        `/v1/tenants/${name}/why`,
        `No keeper runs at ${home.socket}. Start it with "seganet-tenants run".`
      )
    ]);
    const answers = gateway.body?.answers ?? [];
    if (!gateway.body && !keeper.body) throw new CliError(`${gateway.problem} ${keeper.problem}`);
    if (isJson) return print(JSON.stringify({ gateway: answers, keeper: keeper.body }));
    if (!gateway.body) print(`gateway: ${gateway.problem}`);
    else if (answers.length === 0) print('gateway: Its flow has no tenants node that runs.');
    for (const { text } of answers) print(`gateway: ${text}`);
    print(`keeper:  ${keeper.body?.text ?? keeper.problem}`);
  }
};
