'use strict';
// npm run tenants: a gateway with two tenants to try out. See --help.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { hashPassword } = require('../../../nodes/lib/login/password-hash');
const { Gateway, HOST } = require('../gateway');
const { checkPorts, print, runDemo, say } = require('../command');
const { makeFolder } = require('../command/folder');
const { HELP, readArguments } = require('./arguments');
const { startDevices } = require('./devices');
const { frontFlow, tenantFlow } = require('./flows');
const { Keeper } = require('./keeper');
const { temperatureOf } = require('./question');

const TENANTS = ['acme', 'beta'];
/** The device that is asked for is in room 105. */
const ROOM_OF = 5;
/** Port of a tenant's editor and pages, at an address of its own. */
const HTTP_PORT = 8080;
/** The passwords are random and for this run only, so a cheap hash is enough. */
const COST = { ln: 10, r: 8, p: 1 };

/** @typedef {import('./arguments').Options} Options */

/** @param {number | undefined} ms */
const seconds = (ms = 0) => `${(ms / 1000).toFixed(1)} s`;

/**
 * Makes the password file of the devices and of the pages' users.
 * @param {string} file
 * @param {number} devices of each tenant
 * @returns {Promise<(user: string) => string>} password of a user
 */
async function makePasswords(file, devices) {
  const users = TENANTS.flatMap((tenant) => [
    `${tenant}/alice`,
    ...Array.from({ length: devices }, (_, i) => `${tenant}/pump-${i + 1}`)
  ]);
  const passwords = new Map(users.map((user) => [user, crypto.randomBytes(6).toString('base64url')]));
  const lines = await Promise.all(
    [...passwords].map(
      async ([user, password]) => `${user}:${await hashPassword(Buffer.from(password), COST)}\n`
    )
  );
  fs.writeFileSync(file, lines.join(''), { mode: 0o600 });
  return (user) => passwords.get(user) ?? '';
}

/** @param {import('./keeper').KeeperEvent} event @param {(tenant: string) => string} commandOf */
function tell({ tenant, event, by = '', class: cls, ms, how, reason }, commandOf) {
  if (event === 'waking')
    say(`${tenant}: woken by ${by === 'records' ? `records (class ${cls})` : by || 'the operator'}`);
  else if (event === 'ready') say(`${tenant}: ready after ${seconds(ms)} (${how})`);
  else if (event === 'paused') say(`${tenant}: paused`);
  else if (event === 'stopped') say(`${tenant}: sleeps. Wake it again:\n         ${commandOf(tenant)}`);
  else if (event === 'crashed' || event === 'failed') say(`${tenant}: ${event}: ${reason}`);
}

/**
 * Asks each tenant what the temperature of a room is.
 * @param {{ pagesPort: number, devices: number, passwordOf: (user: string) => string }} parts
 */
async function ask({ pagesPort, devices, passwordOf }) {
  const room = `10${Math.min(devices, ROOM_OF)}`;
  for (const tenant of TENANTS) {
    const password = passwordOf(`${tenant}/alice`);
    const again = `Ask again:
         curl -u ${tenant}/alice:${password} 'http://${tenant}.localhost:${pagesPort}/seganet/q?property=Temperature&room=${room}'`;
    try {
      const { value, unit, device, why, ms } = await temperatureOf({
        port: pagesPort,
        tenant,
        password,
        room
      });
      const answered = `answered in ${Math.ceil(ms)} ms (${device}: ${why})`;
      say(`${tenant}: room ${room} has ${value} ${unit}, ${answered}. ${again}`);
    } catch (error) {
      say(`${tenant}: no answer for room ${room}: ${/** @type {Error} */ (error).message} ${again}`);
    }
  }
}

/**
 * Starts everything, and tells the user what there is.
 * @param {Options} options
 * @param {import('../command').Life} life
 */
async function start(options, { onEnd, fail }) {
  const { port, editorPort, pagesPort, devices, sleepSeconds } = options;
  await checkPorts({ '--port': port, '--editor-port': editorPort, '--pages-port': pagesPort });
  const { home, remove } = makeFolder('t');
  onEnd(remove);
  const passwordFile = path.join(home, 'users');
  const passwordOf = await makePasswords(passwordFile, devices);
  const keeper = new Keeper(home);
  onEnd(() => keeper.stop());
  for (const tenant of TENANTS) {
    const volume = path.join(home, 'tenants', 'volumes', tenant);
    fs.mkdirSync(volume, { recursive: true, mode: 0o700 });
    fs.writeFileSync(path.join(volume, 'gateway.json'), JSON.stringify(tenantFlow()), { mode: 0o600 });
    await keeper.add(tenant, '--http', `${HTTP_PORT}`, '--idle', `${sleepSeconds}`, '--cold');
  }
  await keeper.start();
  const flow = frontFlow({ home, port, pagesPort, passwordFile });
  const front = new Gateway({ id: 'front', home, flow, editorPort });
  onEnd(() => front.stop());
  await front.listens(port);
  const page = (/** @type {string} */ tenant) => `http://${tenant}.localhost:${pagesPort}/values`;
  print(`The front is ready, on this machine only. Its tenants are processes, not isolated from each other. Ctrl-C ends all.

  devices  mqtt://${HOST}:${port}  (users ${TENANTS.map((tenant) => `${tenant}/pump-1`).join(', ')} and so on)
  pages    ${TENANTS.map((tenant) => `${page(tenant)}  (log in as ${tenant}/alice: ${passwordOf(`${tenant}/alice`)})`).join('\n           ')}
  editor   http://${HOST}:${editorPort}/  (of the front)
`);
  const commandOf = (/** @type {string} */ tenant) => {
    const user = `${tenant}/pump-1`;
    return `mosquitto_pub -h ${HOST} -p ${port} -i by-hand -u ${user} -P ${passwordOf(user)} -q 1 -t temperature -m 21.5`;
  };
  front.follow((line) => print(`front: ${line}`));
  front.ended.then((how) => fail(new Error(`The front ended (${how}).\n${front.output.trim()}`)));
  keeper.ended.then(
    (how) => keeper.isEnding || fail(new Error(`The keeper ended (${how}).\n${keeper.output}`))
  );
  onEnd(await keeper.follow((event) => tell(event, commandOf)));
  const fleet = await startDevices({
    port,
    tenants: TENANTS,
    devices,
    passwordOf,
    onError: (error) => say(`devices: ${error.message}`)
  });
  onEnd(() => fleet.stop());
  say(`${devices} devices of each tenant are connected, and send for 5 s`);
  await fleet.send((tenant, ms) =>
    say(`${tenant}: its first record is acknowledged after ${Math.ceil(ms)} ms`)
  );
  say('the devices are silent now, and stay connected');
  await ask({ pagesPort, devices, passwordOf });
}

if (require.main === module) runDemo({ readArguments, help: HELP, start });
