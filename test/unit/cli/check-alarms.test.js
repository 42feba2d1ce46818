'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { checkFlow } = require('../../../flows/cli/check-flow');

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-check-'));
afterAll(() => fs.rmSync(home, { recursive: true, force: true }));

test.each([
  [{}, {}, '', /^$/],
  [{ ALARMS: 'all-paths' }, {}, 'problem', /list of paths is empty/],
  [
    { ALARMS: 'all-paths' },
    { paths: 'auto' },
    'note',
    /^Alarms are sent over two paths, so receivers get them twice/
  ],
  [{ ALARMS: 'all-paths' }, { paths: 'auto', sparkplugGroup: 'g' }, 'problem', /Sparkplug/],
  [{ ALARMS: 'all-paths' }, { paths: 'auto', protocolVersion: '4' }, 'note', /Choose MQTT 5/],
  [{ ALARMS: 'all-paths' }, { paths: 'auto', d: true }, '', /^$/],
  [{ ALARMS: 'all-paths' }, { redundantAlarms: undefined }, '', /^$/]
])('with %j and %j says %j: %s', async (env, properties, result, text) => {
  const broker = { id: 'broker', type: 'seganet-uplink-broker', redundantAlarms: '${ALARMS}', ...properties };
  const flow = [{ id: 'engine', type: 'seganet-engine' }, broker];
  fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow));
  const all = { SEGANET_EDITOR_PORT: 'off', ...env };
  const findings = await checkFlow(home, all, { runs: true, isDropped: false });
  const [found = { result: '', text: '' }, ...more] = findings.filter(({ about }) => about === 'alarms');
  expect([found.result, more]).toEqual([result, []]);
  expect(found.text).toMatch(text);
});
