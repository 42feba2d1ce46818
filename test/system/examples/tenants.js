'use strict';
// The example of tenants: with a keeper that knows where its second tab listens.

const fs = require('node:fs');
const path = require('node:path');
const { eventually } = require('../../../bench/harness/net');
const { TestKeeper } = require('../../fixtures/tenants/keeper');

/**
 * @param {{ nodeRed: import('../../fixtures/gateway/palette').NodeRed, idOf: (type: string) => string }} context
 * @param {{ file: string, socket: string }} places where the tenants node looks
 */
async function runTenants({ nodeRed, idOf }, { file, socket }) {
  const status = () => nodeRed.statuses.get(idOf('seganet-tenants'))?.text;
  await eventually(() => status() === 'no tenants file', { timeoutMs: 30000 });
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const keeper = new TestKeeper({ wake: () => ({ host: '127.0.0.1', port: 1885 }), socket });
  fs.writeFileSync(file, '{"version":1,"tenants":[{"name":"acme","driver":"process","port":1885}]}');
  await keeper.open();
  try {
    // The file is looked at each second, and the plan follows.
    await eventually(() => /1 asleep/.test(status() ?? ''), { timeoutMs: 30000 });
    await nodeRed.inject(idOf('inject'));
    await nodeRed.shows('arrived at acme', /bar.*4\.2/s, 30000);
    await eventually(() => keeper.streams.size > 0);
    keeper.tell({ at: Date.now(), tenant: 'acme', event: 'ready', ms: 12 });
    await nodeRed.shows('what tenants do', /ready/);
  } finally {
    await keeper.close();
  }
}

module.exports = { runTenants };
