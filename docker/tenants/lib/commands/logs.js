'use strict';

const { request } = require('../api/client');

/** @type {import('./index').Command} */
module.exports = {
  name: 'logs',
  summary: 'prints the last lines of output of a tenant',
  usage: 'NAME [options]',
  options: { lines: { type: 'string', value: 'N', help: '1 to 1000, default 100' } },
  async run({ home, operands, values, isJson, print }) {
    const query = new URLSearchParams({ lines: values.lines ?? '100' });
    const path = `/v1/tenants/${encodeURIComponent(operands[0])}/logs?${query}`;
    const answer = await request(home.socket, 'GET', path);
    if (isJson) print(JSON.stringify(answer));
    else if (answer.text) print(answer.text);
  }
};
