'use strict';
// The login of "http in" nodes, of a gateway as a user starts it.

const { once } = require('events');
const fs = require('fs');
const http = require('http');
const { createRequire } = require('module');
const path = require('path');
const { startGateway } = require('./gateway');
const { temporaryFolder, cleanUp, until } = require('./process');

afterEach(cleanUp);

test('"http in" nodes ask for the login, and wrong passwords delay neither the right one nor the rest', async () => {
  const home = temporaryFolder();
  const flow = [
    { id: 'tab', type: 'tab', label: 'own' },
    { id: 'in', z: 'tab', type: 'http in', url: '/hello', method: 'get', wires: [['out']] },
    { id: 'out', z: 'tab', type: 'http response', statusCode: '200', wires: [] }
  ];
  fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow));
  const bcrypt = createRequire(require.resolve('node-red'))('@node-rs/bcrypt');
  const { editor } = await startGateway({
    SEGANET_HOME: home,
    SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1',
    SEGANET_ADMIN_USER: 'admin',
    // A check takes some 100 ms.
    SEGANET_ADMIN_PASSWORD_HASH: await bcrypt.hash('right', 11)
  });
  const ask = async (password, from = '127.0.0.1') => {
    const agent = new http.Agent({ localAddress: from });
    const auth = password && { auth: `admin:${password}` };
    const request = http.get(`${editor}hello`, { agent, ...auth });
    const [response] = await once(request, 'response');
    response.resume();
    return response.statusCode;
  };
  expect(await ask('')).toBe(401);
  await until(async () => (await ask('right')) === 200, { what: 'the flow' });
  const wrong = Array.from({ length: 200 }, (_, i) => ask(`wrong ${i}`, '127.0.0.2'));
  await wrong[0].catch(() => {});
  const beganAt = performance.now();
  expect(await ask('right')).toBe(200);
  expect((await fetch(`${editor}seganet/healthz`)).status).toBeLessThan(600);
  // 200 checks take 20 s.
  expect(performance.now() - beganAt).toBeLessThan(2000);
  const codes = await Promise.all(wrong);
  expect(new Set(codes)).toEqual(new Set([401, 503]));
}, 120000);
