'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { checkFlow } = require('../../../flows/cli/check-flow');

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-check-'));
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

test.each([
  [{ SEGANET_SUBSCRIBERS: 'dashboard=#' }, {}, true],
  [{ SEGANET_SUBSCRIBERS: '' }, {}, false],
  [{ SEGANET_SUBSCRIBERS: 'dashboard=#', LOGIN: 'passwords' }, {}, false],
  [{ SEGANET_SUBSCRIBERS: 'dashboard=#' }, { clientCert: 'required' }, false],
  [{ SEGANET_SUBSCRIBERS: 'dashboard=#' }, { d: true }, false],
  [{}, { subscribers: undefined }, false]
])('with %j and %j reminds of an open listener: %j', async (env, properties, reminds) => {
  const devices = {
    id: 'devices',
    type: 'seganet-mqtt-devices',
    z: 'tab',
    login: '${LOGIN}',
    clientCert: 'no',
    subscribers: '${SEGANET_SUBSCRIBERS}',
    port: '0',
    ...properties
  };
  const flow = [{ id: 'tab', type: 'tab' }, { id: 'engine', type: 'seganet-engine' }, devices];
  fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow));
  const all = { LOGIN: 'none', SEGANET_EDITOR_PORT: 'off', ...env };
  const findings = await checkFlow(home, all, { runs: true, isDropped: false });
  const text =
    'The node devices has subscribers and no login, so any client that reaches its port can pose as one of them and ' +
    'read all records. Choose a login, unless only trusted clients reach the port.';
  const expected = reminds ? [{ about: 'readers', result: 'note', text }] : [];
  expect(findings.filter(({ about }) => about === 'readers')).toEqual(expected);
});
