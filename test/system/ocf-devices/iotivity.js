'use strict';
// A device and a controller of iotivity-lite over TCP.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { WAIT, demand, findLink, observeAndChange, presence, read, signedIn } = require('./controller');
const { Menu, placeOf } = require('./menu');

const USER = 'alice';
/** Long enough for a refresh 10 s before the end (over 20 s), and short enough to see it. */
const ACCESS_SECONDS = 30;
/** The cloud sends a Ping after 20 s of silence, and closes after 20 more. */
const SILENT_MS = 45000;

/**
 * @param {string} programs folder
 * @param {string} folder for files
 * @param {import('./run').Report} report
 */
async function iotivity(programs, folder, report) {
  report.part('iotivity-lite over TCP');
  const parts = { node: { accessSeconds: String(ACCESS_SECONDS) } };
  let cloud = await startGatewayCloud(parts);
  const uri = `coap+tcp://127.0.0.1:${cloud.port}`;
  const sid = await cloud.store.read('cloudId');
  /** The arguments of a program that signs up. @param {string} name @param {string} code */
  const account = (name, code) => [name, code, uri, sid, 'seganet'];
  const { cwd, command } = placeOf(path.join(programs, 'cloud_server'), folder);
  const [first, ...rest] = [...command, ...account('lamp', await cloud.codeFor(USER))];
  const device = new Child(first, rest, { name: 'cloud_server', cwd });
  try {
    await report.step('A, 5: signs up, without a CSM', async () => {
      await device.until((output) => output.includes('-Registered'), WAIT.timeoutMs);
    });
    await report.step('8: signs in', async () => {
      await device.until((output) => output.includes('-Logged In'), WAIT.timeoutMs);
    });
    let client = await signedIn(cloud, USER);
    const isLight = (/** @type {any} */ link) => link.rt.includes('core.light');
    const link = await report.step('10, 12: its links are found', () => findLink(client, isLight));
    if (!link) return;
    const di = link.anchor.slice('ocf://'.length);
    await report.step('13: href has at most 63 characters', async () => {
      demand(link.href.length <= 63 && link.href.startsWith(`/oic/route/${di}/`), link.href);
      return link.href;
    });
    await report.step('14: is read', () => read(client, link.href, 'if=oic.if.baseline'));
    await report.step('15 to 17: is observed, changed, and notifies', () =>
      observeAndChange(client, link.href, { state: true, power: 7 })
    );
    const menu = path.join(programs, 'cloud_client');
    if (fs.existsSync(menu)) {
      await controls(placeOf(menu, folder), account('controller', await cloud.codeFor(USER)), link, report);
    }
    await report.step('26: refreshes its token', async () => {
      await device.until((output) => output.includes('-Refreshed Token'), 2 * WAIT.timeoutMs);
    });
    await new Promise((resolve) => setTimeout(resolve, SILENT_MS));
    client.destroy();
    client = await signedIn(cloud, USER);
    await report.step(`keep-alive: on after ${SILENT_MS / 1000} s, and is read`, async () => {
      demand((await presence(client, di)) === 'on', 'it is off');
      return read(client, link.href);
    });
    client.destroy();
    const { home } = cloud.gateway;
    await cloud.store.close();
    await cloud.gateway.end();
    cloud = await startGatewayCloud(parts, { home, port: cloud.port });
    client = await signedIn(cloud, USER);
    await report.step('Q: signs in again after the gateway ended and started', () =>
      eventually(() => read(client, link.href).catch(() => ''), {
        ...WAIT,
        timeoutMs: 120000,
        what: 'a read'
      })
    );
    await device.stop('SIGKILL');
    await report.step('30: off after its end', async () => {
      const isOff = async () => (await presence(client, di)) === 'off';
      await eventually(isOff, { ...WAIT, what: 'off' });
    });
    client.destroy();
  } finally {
    if (!device.exit) await device.stop('SIGKILL');
    await cloud.stop();
  }
}

/**
 * The controller is a menu: 1 discovers, 2 and a number read one of the found resources.
 * @param {{ cwd: string, command: string[] }} place
 * @param {string[]} account
 * @param {{ href: string }} link
 * @param {import('./run').Report} report
 */
async function controls(place, account, link, report) {
  const menu = new Menu(place, account);
  try {
    await report.step('cloud_client: signs up and in', async () => {
      await menu.until(/-Logged In/);
    });
    const number = await report.step('cloud_client: finds the device', async () => {
      await menu.choose(/Discovered resources on the Cloud/, 1);
      const [, found] = await menu.choose(new RegExp(`\\[(\\d+)\\]: ${link.href}`), 2);
      return found;
    });
    await report.step('cloud_client: reads the device', async () => {
      await menu.choose(new RegExp(`uri: ${link.href}\\npayload:`), number ?? 0);
    });
  } finally {
    menu.end();
  }
}

module.exports = { iotivity };
