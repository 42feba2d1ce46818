'use strict';
// seganet-gateway backup while an ocf cloud node runs: its accounts are beside the log, which the gateway has locked.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { root } = require('../../../bench/harness/gateway');
const { SqliteStore } = require('../../../nodes/lib/ocf/store');
const { newHome } = require('../../fixtures/gateway/deployed');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');

jest.setTimeout(120000);

test('a restored backup has the cloud, and the codes that it gave', async () => {
  const home = newHome();
  const storeFile = path.join(home, 'log', 'ocf.db');
  const cloud = await startGatewayCloud({ node: { storeFile } }, { home });
  const copies = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-copies-'));
  try {
    await cloud.codeFor('alice');
    expect(fs.statSync(`${storeFile}-wal`).size).toBeGreaterThan(0);
    const command = (/** @type {string[]} */ ...args) =>
      execFileSync(process.execPath, [path.join(root, 'flows/cli/seganet-gateway.js'), ...args], {
        encoding: 'utf8'
      });
    const file = path.join(copies, 'a.backup');
    expect(command('backup', file, '--home', home)).toMatch(/, 1 log,/);
    const restored = path.join(copies, 'home');
    command('restore', file, '--home', restored);
    expect(fs.readdirSync(path.join(restored, 'seganet-log', 'engine'))).toEqual(['log.db']);
    expect(fs.readdirSync(path.join(restored, 'log'))).toEqual(['ocf.db']);
    const store = new SqliteStore(path.join(restored, 'log', 'ocf.db'));
    try {
      expect(await store.read('cloudId')).toBe(await cloud.store.read('cloudId'));
      const codes = await store.tx.all('SELECT hash FROM code');
      expect(codes).toEqual(await cloud.store.tx.all('SELECT hash FROM code'));
      expect(codes).toHaveLength(1);
    } finally {
      await store.close();
    }
    expect(cloud.problems()).toEqual([]);
  } finally {
    await cloud.stop();
    fs.rmSync(copies, { recursive: true, force: true });
  }
});
