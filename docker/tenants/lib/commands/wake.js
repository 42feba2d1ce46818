'use strict';

const { request } = require('../api/client');

/** @type {import('./index').Command} */
module.exports = {
  name: 'wake',
  summary: 'wakes a tenant, also one that failed, and waits until it is ready',
  more: 'If it is not used, it sleeps again after its idle time.',
  usage: 'NAME',
  options: {},
  async run({ home, operands, isJson, print }) {
    const [name] = operands;
    const answer = await request(home.socket, 'POST', `/v1/tenants/${encodeURIComponent(name)}/wake`, {});
    if (isJson) return print(JSON.stringify(answer));
    const { how, host, port, readyMs } = answer;
    const done = how === 'running' ? 'runs already' : `is ready after ${readyMs} ms (${how})`;
    print(`${name} ${done}${port ? `: ${host}:${port}` : `: ${host}`}`);
  }
};
