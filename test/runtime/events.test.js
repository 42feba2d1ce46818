'use strict';
// Events, audit log and logins of a running gateway: real devices, real HTTP, kill -9 and restarts.

const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { execFile } = require('node:child_process');
const { promisify } = require('node:util');
const mqtt = require('mqtt');
const { root } = require('../../bench/harness/gateway');
const { freePort, waitForPort } = require('../../bench/harness/net');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('./process');

jest.setTimeout(120000);

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const place = { z: 'tab', x: 0, y: 0 };
const flow = (port, file, url = '') => [
  { id: 'tab', type: 'tab', label: 'events' },
  { id: 'gw', type: 'seganet-engine', name: 'hall', workers: '2', notifyUrl: url, notifySeverity: 'info' },
  { id: 'broker', type: 'seganet-uplink-broker', name: 'cloud', url: 'mqtt://127.0.0.1:1' },
  {
    ...place,
    id: 'in',
    type: 'seganet-mqtt-devices',
    name: 'sensors',
    engine: 'gw',
    port: String(port),
    login: 'passwords',
    identity: 'clientId',
    passwordFile: file,
    wires: [['out']]
  },
  { ...place, id: 'out', type: 'seganet-uplink', engine: 'gw', broker: 'broker', wires: [] }
];

class Site {
  constructor() {
    this.home = newHome();
    this.file = path.join(this.home, 'devices');
    fs.writeFileSync(this.file, '# our devices\n', { mode: 0o600 });
    cleanups.push(() => fs.rmSync(this.home, { recursive: true, force: true }));
  }

  async start(url) {
    this.port ??= await freePort();
    this.gateway = await startFlow(flow(this.port, this.file, url), this.home);
    cleanups.push(() => this.gateway.end('SIGKILL'));
    await waitForPort(this.port, '127.0.0.1', 30000);
  }

  async ask(what, body) {
    const response = await fetch(`http://127.0.0.1:${this.gateway.adminPort}/seganet/${what}`, {
      ...(body && {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body)
      })
    });
    return { status: response.status, body: await response.json() };
  }

  async events(kind) {
    const { events } = (await this.ask('events?limit=200')).body;
    return events.filter((each) => each.kind === kind);
  }

  /** Connects a device; resolves to it, or to the code of the refusal. */
  device(clientId, username, password) {
    const url = `mqtt://127.0.0.1:${this.port}`;
    const client = mqtt.connect(url, {
      clientId,
      username,
      password,
      protocolVersion: 5,
      reconnectPeriod: 0
    });
    cleanups.push(() => client.endAsync(true));
    return new Promise((resolve) => {
      client.once('connect', () => resolve(client));
      client.once('error', (/** @type {any} */ error) => resolve(error.code));
    });
  }
}

test('a login is added, works at once, and its revocation ends its connections and no other', async () => {
  const site = new Site();
  await site.start();
  const { file } = site;
  const added = await site.ask('logins/add', { file, name: 'hall' });
  expect(added).toMatchObject({ status: 200, body: { name: 'hall', replaced: false, ended: 0 } });
  const { password } = added.body;
  expect(password).toMatch(/^[\w-]{24}$/);
  const given = await site.ask('logins/add', { file, name: 'other', password: 'chosen by hand' });
  expect(given.body.password).toBe(undefined);
  const listed = await site.ask('logins');
  expect(listed.body.files).toEqual([
    { file, nodes: ['sensors'], hasTenants: false, readOnly: '', users: ['hall', 'other'], more: 0 }
  ]);
  expect(JSON.stringify(listed.body)).not.toContain('scrypt');
  expect(fs.readFileSync(file, 'utf8')).toMatch(/^# our devices\nhall:\$scrypt\$.*\nother:\$scrypt\$.*\n$/);

  const clients = [];
  for (const id of ['pump-1', 'pump-2', 'pump-3']) clients.push(await site.device(id, 'hall', password));
  const bystander = await site.device('fan', 'other', 'chosen by hand');
  const codes = [];
  for (const client of clients) client.on('disconnect', ({ reasonCode }) => codes.push(reasonCode));
  expect((await site.ask('logins/revoke', { file, name: 'hall' })).body).toEqual({ name: 'hall', ended: 3 });
  await until(() => clients.every(({ connected }) => !connected));
  expect(codes).toEqual([0x98, 0x98, 0x98]);
  expect(bystander.connected).toBe(true);
  expect(await site.device('pump-1', 'hall', password)).toBe(0x86);

  // A new password ends the connections of the old one.
  expect((await site.ask('logins/add', { file, name: 'other', password: 'another one' })).body.ended).toBe(1);
  await until(() => !bystander.connected);

  await until(async () => (await site.events('login')).length > 0, { within: 15000 });
  expect((await site.events('login'))[0]).toMatchObject({ subject: 'sensors', count: 1, until: null });
  const { lines } = (await site.ask('audit')).body;
  expect(lines.map(({ what }) => what)).toEqual(
    expect.arrayContaining(['seganet.logins.revoke', 'seganet.logins.add'])
  );
  expect(JSON.stringify(lines)).not.toContain(password);
});

test('changes no other file, and refuses wrong names', async () => {
  const site = new Site();
  // A file elsewhere can be read, and used, but not changed.
  const elsewhere = path.join(newHome(), 'devices');
  cleanups.push(() => fs.rmSync(path.dirname(elsewhere), { recursive: true, force: true }));
  fs.writeFileSync(elsewhere, 'hall:x\n', { mode: 0o600 });
  fs.rmSync(site.file);
  fs.symlinkSync(elsewhere, site.file);
  await site.start();
  const { file } = site;
  const [listed] = (await site.ask('logins')).body.files;
  expect(listed.readOnly).toMatch(/outside the gateway's folder.*seganet-passwd/);
  const wrong = [
    [{ file, name: 'x' }, /outside the gateway's folder/],
    [{ file: '/etc/passwd', name: 'x' }, /No open listener uses/],
    [{ name: 'x' }, /No open listener uses/],
    [{ file, name: 'a:b' }, /contains a colon/],
    [{ file, name: 'a\nroot' }, /control characters/],
    [{ file, name: ['x'] }, /must be text/]
  ];
  for (const what of ['logins/add', 'logins/revoke']) {
    for (const [body, expected] of wrong) {
      const answer = await site.ask(what, body);
      expect([answer.status, answer.body.error]).toEqual([400, expect.stringMatching(expected)]);
    }
  }
  expect(fs.readFileSync(elsewhere, 'utf8')).toBe('hall:x\n');
});

test('a kill -9 is an event, open events stay, and a webhook hears of both', async () => {
  const taken = [];
  const hook = http.createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += part));
    request.on('end', () => {
      taken.push(JSON.parse(body));
      response.end();
    });
  });
  await new Promise((resolve) => hook.listen(0, '127.0.0.1', () => resolve(undefined)));
  cleanups.push(() => (hook.closeAllConnections(), hook.close()));
  const url = `http://127.0.0.1:${/** @type {any} */ (hook.address()).port}/`;

  const site = new Site();
  await site.start(url);
  await until(async () => (await site.events('uplink')).length === 1, { within: 20000 });
  const [down] = await site.events('uplink');
  expect(down).toMatchObject({
    subject: 'cloud',
    until: null,
    sentence: expect.stringMatching(/not connected/)
  });
  await until(() => taken.length === 2, { within: 10000 });
  expect(taken.map(({ gateway, kind, change }) => [gateway, kind, change]).sort()).toEqual([
    ['gw-test', 'restart', 'began'],
    ['gw-test', 'uplink', 'began']
  ]);
  // What was written a second ago is in the file.
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await site.gateway.end('SIGKILL');

  await site.start(url);
  await until(async () => (await site.events('restart')).length === 2, { within: 10000 });
  expect((await site.events('restart')).map(({ key }) => key)).toEqual(['restartUnclean', 'restart']);
  expect((await site.events('uplink'))[0]).toMatchObject({ id: down.id, count: 1, until: null });
  const shown = await runCommand(site.home, ['events', '--open']);
  expect(shown).toMatch(/ error .* lasts .*The uplink cloud is not connected/);
  expect(await runCommand(site.home, ['events', '--acknowledge', String(down.id)])).toMatch(
    /^acknowledged: The uplink/
  );
  expect((await site.events('uplink'))[0].acknowledged).toMatchObject({ by: 'seganet-gateway' });

  await site.gateway.end();
  await site.start(url);
  await until(async () => (await site.events('restart')).length === 3, { within: 10000 });
  expect((await site.events('restart'))[0].key).toBe('restart');
  expect((await site.events('uplink'))[0]).toMatchObject({
    id: down.id,
    acknowledged: { by: 'seganet-gateway' }
  });
});

/** @param {string} home @param {string[]} args of seganet-gateway @returns {Promise<string>} standard output */
async function runCommand(home, args) {
  const command = ['native/node/run.js', 'flows/cli/seganet-gateway.js', ...args, '--home', home];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: root });
  return stdout;
}
