'use strict';

const { request } = require('../api/client');

/** @type {import('./index').Command} */
module.exports = {
  name: 'reload',
  summary: 'makes the keeper read the tenants file again',
  usage: '',
  options: {},
  async run({ home, isJson, print }) {
    const answer = await request(home.socket, 'POST', '/v1/reload', {});
    if (isJson) return print(JSON.stringify(answer));
    for (const what of ['added', 'removed', 'changed']) {
      if (answer[what].length > 0) print(`${what}: ${answer[what].join(', ')}`);
    }
  }
};
