'use strict';

const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { once } = require('node:events');
const { checkFlow } = require('../../../flows/cli/check-flow');

test('names a socket of overlay services that is missing, or is none', async () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-check-'));
  const [socket, file] = [path.join(home, 'admin.sock'), path.join(home, 'gateway.json')];
  fs.writeFileSync(file, '[{ "id": "engine", "type": "seganet-engine" }]');
  const server = net.createServer();
  const findings = async (/** @type {string} */ SEGANET_OVERLAY_ADMIN) => {
    const env = { SEGANET_EDITOR_PORT: 'off', SEGANET_OVERLAY_ADMIN };
    const all = await checkFlow(home, env, { runs: true, isDropped: false });
    return all.filter(({ about }) => about === 'overlay').map(({ result, text }) => [result, text]);
  };
  try {
    expect(await findings('')).toEqual([]);
    expect(await findings(socket)).toEqual([['note', expect.stringContaining('while the services')]]);
    expect(await findings(file)).toEqual([['problem', expect.stringContaining('not a socket')]]);
    expect(await findings(path.join(file, 'x'))).toEqual([['problem', expect.stringContaining('ENOTDIR')]]);
    await once(server.listen(socket), 'listening');
    expect(await findings(socket)).toEqual([]);
  } finally {
    server.close();
    fs.rmSync(home, { recursive: true, force: true });
  }
});
