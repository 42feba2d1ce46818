'use strict';
// Backups of volumes that are replaced meanwhile, or whose gateway is hostile.

const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { ask, jsonOf } = require('../../../docker/tenants/lib/backup/gateway-copies');
const { nothingSaved, tarOf } = require('../../../docker/tenants/lib/backup/save');

/** @type {string} */
let root;
beforeEach(() => (root = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-backup-'))));
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

test('refuses a volume that is replaced while it is saved', async () => {
  const [volume, staging] = [path.join(root, 'volume'), path.join(root, 'staging')];
  for (const folder of [volume, staging]) fs.mkdirSync(folder);
  for (let i = 0; i < 20; i++) fs.writeFileSync(path.join(volume, `data-${i}`), crypto.randomBytes(1 << 20));
  const saved = nothingSaved();
  const source = { tenant: 'acme', definition: null, volume, staging, most: 2 ** 30 };
  let bytes = 0;
  const read = async () => {
    for await (const chunk of tarOf(source, saved, new Date())) {
      bytes += chunk.length;
      if (saved.entries.length !== 2 || fs.readdirSync(volume).length === 0) continue;
      // As a restore does it: what is walked is set aside, and deleted.
      fs.renameSync(volume, `${volume}.before`);
      fs.mkdirSync(volume);
      fs.rmSync(`${volume}.before`, { recursive: true });
    }
  };
  await expect(read()).rejects.toThrow(/was replaced or removed while it was saved/);
  expect(bytes).toBeGreaterThan(1 << 20);
});

test('waits only a limited time for the whole of an answer', async () => {
  const server = http.createServer((_, response) => {
    const timer = setInterval(() => response.write('['), 50);
    response.once('close', () => clearInterval(timer));
  });
  const socket = path.join(root, 'gateway.sock');
  await once(server.listen(socket), 'listening');
  try {
    const answer = async () => jsonOf(await ask(socket, '/engines', 300));
    await expect(answer()).rejects.toThrow('no whole answer within 0.3 s');
  } finally {
    server.close().closeAllConnections();
  }
});
