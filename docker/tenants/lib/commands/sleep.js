'use strict';

const { request } = require('../api/client');

/** @type {import('./index').Command} */
module.exports = {
  name: 'sleep',
  summary: 'stops a tenant, and waits until it has ended',
  usage: 'NAME [options]',
  options: {
    force: { type: 'boolean', help: 'although it is in use or starting' },
    pause: { type: 'boolean', help: 'pause instead: it keeps its memory, and wakes fast' }
  },
  async run({ home, operands, values, isJson, print }) {
    const [name] = operands;
    const body = { force: Boolean(values.force), pause: Boolean(values.pause) };
    const answer = await request(home.socket, 'POST', `/v1/tenants/${encodeURIComponent(name)}/sleep`, body);
    print(isJson ? JSON.stringify(answer) : `${name} is ${answer.state}`);
  }
};
