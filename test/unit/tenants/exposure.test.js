'use strict';
// Which listeners tenants in containers could reach: as the gateway and as the keeper see it.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { exposureOf, openPorts, rangesOf } = require('../../../docker/tenants/lib/net/exposure');
const { removeRecord, saveRecord } = require('../../../docker/tenants/lib/net/record');
const { readRecord } = require('../../../nodes/lib/tenants/file/rules-record');
const { readEnvironment } = require('../../../flows/launcher/environment');
const { areRulesApplied, exposureProblem } = require('../../../nodes/lib/tenants/exposure');
const { DIGEST } = require('../../fixtures/tenants/digest');
const { rulesFor } = require('../../../docker/tenants/lib/net/rules');
const { needs } = require('../../../bench/harness/tools');

const { test: withNftables } = needs('nft', 'unshare', ...(process.getuid?.() === 0 ? [] : ['root']));

/** @type {string} */
let folder;
/** @type {string} */
let rulesFile;
beforeEach(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tenants-'));
  rulesFile = path.join(folder, 'run', 'rules.json');
  fs.mkdirSync(path.join(folder, 'tenants'));
});
afterEach(() => {
  jest.restoreAllMocks();
  fs.rmSync(folder, { recursive: true, force: true });
});

/** @param {...object} tenants @returns {NodeJS.ProcessEnv} */
function homeOf(...tenants) {
  fs.writeFileSync(path.join(folder, 'tenants', 'tenants.json'), JSON.stringify({ version: 1, tenants }));
  return { SEGANET_HOME: folder };
}
const container = { name: 'acme', driver: 'docker', image: DIGEST };
const program = { name: 'blue', driver: 'process' };

/** Every address but loopback: a container reaches each of them by its bridge. */
const OPEN = ['0.0.0.0', '::', '192.0.2.5', '2001:db8::1', 'gateway.example', '0', '::ffff:192.0.2.5'];

test.each(OPEN)('a listener at %s is refused while a tenant runs in a container', (host) => {
  expect(exposureProblem(host, { env: homeOf(program, container), rulesFile })).toMatch(
    `At ${host}, the tenants in containers (${path.join(folder, 'tenants', 'tenants.json')}) would reach this port`
  );
});

test.each(['127.0.0.1', '127.9.9.9', '::1', 'localhost'])('a listener at %s is allowed', (host) => {
  expect(exposureProblem(host, { env: homeOf(container), rulesFile })).toBe('');
});

test('without tenants in containers every address is allowed: a process reaches loopback, too', () => {
  expect(exposureProblem('0.0.0.0', { env: { SEGANET_HOME: folder }, rulesFile })).toBe('');
  expect(exposureProblem('0.0.0.0', { env: homeOf(program), rulesFile })).toBe('');
});

test('a tenants file that cannot be used counts as one with containers: a keeper may run them', () => {
  const env = { SEGANET_HOME: folder };
  const file = path.join(folder, 'tenants', 'tenants.json');
  fs.writeFileSync(file, '{');
  expect(exposureProblem('0.0.0.0', { env, rulesFile })).toMatch(
    `tenants in containers may reach this port by the bridge of their network: the tenants file ${file} cannot be used (The file is not JSON`
  );
  expect(exposureProblem('127.0.0.1', { env, rulesFile })).toBe('');
  saveRecord('10.213.0.0/16', rulesFile);
  expect(exposureProblem('0.0.0.0', { env, rulesFile })).toBe('');
});

test('a tenants file that cannot be reached counts as one with containers', () => {
  const env = homeOf(container);
  const file = path.join(folder, 'tenants', 'tenants.json');
  const { readFileSync, statSync } = fs;
  const refuse =
    (/** @type {Function} */ work) =>
    (/** @type {any[]} */ ...args) => {
      if (args[0] === file) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
      return work(...args);
    };
  jest.spyOn(fs, 'existsSync').mockReturnValue(false);
  jest.spyOn(fs, 'readFileSync').mockImplementation(refuse(readFileSync));
  jest.spyOn(fs, 'statSync').mockImplementation(/** @type {any} */ (refuse(statSync)));
  expect(exposureProblem('0.0.0.0', { env, rulesFile })).toMatch(
    `the tenants file ${file} cannot be used (EACCES: permission denied)`
  );
});

test('a service that may not look into its home folder has no tenants there', () => {
  // The home folder of users such as nobody.
  jest.spyOn(os, 'homedir').mockReturnValue('/dev/null');
  expect(exposureProblem('0.0.0.0', { env: {}, rulesFile })).toBe('');
  jest.spyOn(fs, 'readFileSync').mockImplementation(() => {
    throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' });
  });
  expect(exposureProblem('0.0.0.0', { env: {}, rulesFile })).toBe('');
  for (const env of [{ SEGANET_HOME: folder }, { SEGANET_TENANTS: path.join(folder, 'tenants.json') }])
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).toMatch('cannot be used (EACCES');
  expect(exposureProblem('0.0.0.0', { files: ['/srv/tenants.json'], env: {}, rulesFile })).toMatch('EACCES');
});

test('the file of a node counts, too', () => {
  homeOf(container);
  const files = [path.join(folder, 'tenants', 'tenants.json')];
  expect(exposureProblem('0.0.0.0', { env: { SEGANET_HOME: '/none' }, files, rulesFile })).toMatch(
    'net apply'
  );
});

describe('the record of the rules', () => {
  test('allows every address until the rules are removed', () => {
    const env = homeOf(container);
    saveRecord('10.213.0.0/16', rulesFile);
    expect(fs.statSync(rulesFile).mode & 0o777).toBe(0o644);
    expect(readRecord(rulesFile)).toBe('10.213.0.0/16');
    expect(areRulesApplied(rulesFile)).toBe(true);
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).toBe('');
    removeRecord(rulesFile);
    removeRecord(rulesFile);
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).not.toBe('');
  });

  test('does not count for networks of another range', () => {
    const env = { ...homeOf(container), SEGANET_TENANTS_SUBNETS: '10.99.0.0/16' };
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).not.toMatch('rules of nftables');
    saveRecord('10.213.0.0/16', rulesFile);
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).toMatch(
      'The rules of nftables are not for their networks, which are of 10.99.0.0/16 (SEGANET_TENANTS_SUBNETS). Run'
    );
    saveRecord('10.99.0.0/16', rulesFile);
    expect(exposureProblem('0.0.0.0', { env, rulesFile })).toBe('');
  });

  test('is compared with the range of a keeper that is not root', async () => {
    jest.spyOn(process, 'getuid').mockReturnValue(1000);
    const look = (/** @type {NodeJS.ProcessEnv} */ env) => exposureOf([/** @type {any} */ (container)], { env, recordFile: rulesFile }); // prettier-ignore
    expect((await look({})).problem).toMatch(/^Tenants in containers /);
    saveRecord('10.213.0.0/16', rulesFile);
    expect(await look({})).toMatchObject({ fact: expect.stringContaining('keep tenants away'), problem: '' });
    const other = await look({ SEGANET_TENANTS_SUBNETS: '10.99.0.0/16' });
    expect(other.fact).toBe('');
    expect(other.problem).toMatch(
      'The rules of nftables are for 10.213.0.0/16, but the networks of tenants are of 10.99.0.0/16;'
    );
    expect(await exposureOf([/** @type {any} */ (program)])).toEqual({ fact: '', problem: '' });
  });

  test('does not count after a restart of the machine', () => {
    saveRecord('10.213.0.0/16', rulesFile);
    fs.writeFileSync(rulesFile, JSON.stringify({ range: '10.213.0.0/16', boot: 'another' }));
    expect([areRulesApplied(rulesFile), readRecord(rulesFile)]).toEqual([false, '']);
  });

  test('does not count if other users may write to it', () => {
    saveRecord('10.213.0.0/16', rulesFile);
    fs.chmodSync(rulesFile, 0o666);
    expect(areRulesApplied(rulesFile)).toBe(false);
  });

  test.each(['', '{', 'null', '[]', '"x"', '{"boot":1}', ' '.repeat(5000)])(
    'does not count as %j',
    (text) => {
      saveRecord('10.213.0.0/16', rulesFile);
      fs.writeFileSync(rulesFile, text);
      expect([areRulesApplied(rulesFile), readRecord(rulesFile)]).toEqual([false, '']);
    }
  );
});

const RULES = rulesFor('10.213.0.0/16');
test.each([
  ['no rules', '', []],
  ['rules as they are applied', RULES, ['10.213.0.0/16']],
  [
    'rules as nft lists them',
    RULES.replace('counter drop', 'counter packets 3 bytes 180 drop'),
    ['10.213.0.0/16']
  ],
  ['rules that accept', RULES.replace('counter drop', 'counter accept'), []],
  ['rules of forwarding alone', RULES.replace('input {', 'other {'), []]
])('%s keep the right ranges away from the machine', (_name, rules, ranges) => {
  expect(rangesOf(rules)).toEqual(ranges);
});

/** Runs in a network of its own, so that the rules of the machine stay as they are. */
const WITH_RULES = `
const [net, recordFile] = process.argv.slice(1);
const { apply } = require(net + '/rules');
const { saveRecord } = require(net + '/record');
const { exposureOf } = require(net + '/exposure');
const look = async (SEGANET_TENANTS_SUBNETS) => {
  const { fact, problem } = await exposureOf([{ driver: 'docker' }], { env: { SEGANET_TENANTS_SUBNETS }, recordFile });
  return fact ? 'fact' : problem;
};
(async () => {
  const seen = [];
  await apply('10.99.0.0/16');
  saveRecord('10.99.0.0/16', recordFile);
  seen.push(await look('10.99.0.0/16'), await look(''));
  require('node:child_process').execFileSync('nft', ['flush', 'ruleset']);
  seen.push(await look('10.99.0.0/16'), await look('10.99.0.0/16'));
  console.log(JSON.stringify(seen));
})();`;

withNftables('a keeper of root asks nftables, and removes the record of rules that are gone', () => {
  const net = path.join(__dirname, '../../../docker/tenants/lib/net');
  const PATH = `${process.env.PATH}:/usr/sbin:/sbin`;
  const args = ['--net', process.execPath, '-e', WITH_RULES, net, rulesFile];
  const output = execFileSync('unshare', args, { env: { ...process.env, PATH }, encoding: 'utf8' });
  const [same, other, gone, later] = JSON.parse(output);
  expect(same).toBe('fact');
  expect(other).toMatch(
    /^The rules of nftables are for 10\.99\.0\.0\/16, but the networks of tenants are of 10\.213/
  );
  expect(gone).toMatch(
    /^The rules of nftables are gone, so their record was removed\. Tenants in containers/
  );
  expect(later).toMatch(/^Tenants in containers/);
  expect(fs.existsSync(rulesFile)).toBe(false);
});

test('the launcher refuses each of its addresses', () => {
  const login = {
    SEGANET_ADMIN_USER: 'admin',
    SEGANET_ADMIN_PASSWORD_HASH: '$2b$08$wuAqPiKJlVN27eF5qJp.RuQYuy6ZYONW7a/UWYxDTtwKFCdB8F19y'
  };
  const env = /** @type {Record<string, string>} */ ({ ...homeOf(container), ...login });
  expect(() => readEnvironment(env)).not.toThrow();
  for (const more of [
    { SEGANET_DEVICE_HOST: '0.0.0.0', SEGANET_DEVICE_ALLOW_ANONYMOUS: 'yes' },
    { SEGANET_EDITOR_HOST: '::' },
    { SEGANET_STATUS_HOST: '192.0.2.5', SEGANET_STATUS_PORT: '1881' }
  ]) {
    const name = Object.keys(more)[0];
    expect(() => readEnvironment({ ...env, ...more })).toThrow(
      `${name}: At ${Object.values(more)[0]}, the tenants in containers`
    );
  }
  const isOff = { SEGANET_EDITOR_HOST: '::', SEGANET_EDITOR_PORT: 'off' };
  expect(() => readEnvironment({ ...env, ...isOff })).not.toThrow();
});

test('the keeper finds the ports that are open beyond loopback', () => {
  const row = (/** @type {string} */ local, state = '0A') =>
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000`;
  const text = [
    '  sl  local_address rem_address   st tx_queue rx_queue',
    row('0100007F:0016'),
    row('0900407F:0017'),
    row('00000000:0050'),
    row('0502000A:01BB'),
    row('00000000:0051', '01'),
    row('00000000000000000000000001000000:0052'),
    row('0000000000000000FFFF00000100007F:0053'),
    row('00000000000000000000000000000000:1F90'),
    row('0000000000000000FFFF00000502000A:0438'),
    'x',
    ''
  ].join('\n');
  expect(openPorts(text)).toEqual([80, 443, 8080, 1080]);
});
