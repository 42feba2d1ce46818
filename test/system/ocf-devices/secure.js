'use strict';
// A device of iotivity-lite with security: the onboarding tool takes it over ("just works") and gives it the cloud.

const { randomUUID } = require('node:crypto');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { eventually } = require('../../../bench/harness/net');
const { Authority } = require('../../fixtures/devices/authority');
const { startGatewayCloud } = require('../../fixtures/ocf/gateway-cloud');
const { WAIT, findLink, observeAndChange, read, signedIn } = require('./controller');
const { Menu, placeOf } = require('./menu');

const USER = 'alice';
const CONFIGURATION = '/CoapCloudConfResURI';
const [NO, YES] = [0, 1];

/**
 * @param {string} programs folder
 * @param {string} folder for files
 * @param {import('./run').Report} report
 */
async function secure(programs, folder, report) {
  report.part('iotivity-lite with security, over TLS 1.2');
  const authority = new Authority();
  const sid = randomUUID();
  const own = authority.issue({ name: `uuid:${sid}`, usage: 'serverAuth, clientAuth' });
  const files = { cert: own.certFile, key: own.keyFile, ca: authority.caFile };
  const cloud = await startGatewayCloud({
    node: { sid, transport: 'tls', tls: 'tls', clientCert: 'wanted' },
    more: [{ id: 'tls', type: 'tls-config', ...files, verifyservercert: true }]
  });
  const { cwd, command } = placeOf(path.join(programs, 'cloud_server'), path.join(folder, 'secure'));
  const [first, ...rest] = [...command, 'lamp'];
  const start = () => new Child(first, rest, { name: 'cloud_server', cwd });
  let device = start();
  const tool = new Menu(placeOf(path.join(programs, 'onboarding_tool'), path.join(folder, 'secure')), []);
  try {
    const discover = async () => {
      await tool.until(/Select option/);
      for (let attempt = 1; ; attempt++) {
        try {
          return void (await tool.choose(/Discovered unowned device/, 1));
        } catch (error) {
          if (attempt === 3) throw error;
        }
      }
    };
    await report.step('is found by the onboarding tool', discover);
    await report.step('is taken over', async () => {
      await tool.choose(/Successfully performed OTM/, 8, 0);
    });
    /** An entry of its access list for one resource or all. @param {(string | number)[]} lines */
    const allow = async (...lines) => {
      await tool.choose(/Successfully provisioned ACE/, 13, 0, ...lines);
    };
    await report.step('lets the tool configure its cloud', () =>
      allow(1, 1, YES, CONFIGURATION, NO, YES, YES, NO, NO)
    );
    await report.step('lets the cloud use all resources', () =>
      allow(3, sid, 1, NO, YES, 1, YES, YES, YES, YES, YES)
    );
    await report.step('takes the authority of the cloud', async () => {
      await tool.choose(/Successfully installed trust anchor/, 32, 0, sid, `${authority.ca.trim()}\ndone`);
    });
    await report.step('takes the address of the cloud and an access code', async () => {
      const code = await cloud.codeFor(USER);
      const cis = `coaps+tcp://127.0.0.1:${cloud.port}`;
      await tool.choose(/POST response: CHANGED/, 30, 0, CONFIGURATION, code, 'seganet', cis, sid);
    });
    await report.step('5, 8: signs up and in over TLS', async () => {
      await device.until((output) => output.includes('-Logged In'), WAIT.timeoutMs);
    });
    const client = await signedIn(cloud, USER, { ca: authority.ca });
    const isLight = (/** @type {any} */ each) => each.rt.includes('core.light');
    const link = await report.step('10, 12: its links are found', () => findLink(client, isLight));
    if (!link) return;
    await report.step('14: is read', () => read(client, link.href));
    await report.step('15 to 17: is observed, changed, and notifies', () =>
      observeAndChange(client, link.href, { state: true, power: 7 })
    );
    await device.stop('SIGKILL');
    device = start();
    await report.step('signs in again after a crash, with the token that it keeps', async () => {
      await device.until((output) => output.includes('-Logged In'), WAIT.timeoutMs);
      return eventually(() => read(client, link.href).catch(() => ''), { ...WAIT, what: 'a read' });
    });
    client.destroy();
  } finally {
    if (process.env.SEGANET_SHOW) console.log(tool.output.slice(-3000), device.output.slice(-3000));
    tool.end();
    await device.stop('SIGKILL');
    await cloud.stop();
    authority.remove();
  }
}

module.exports = { secure };
