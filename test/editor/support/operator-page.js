'use strict';
// The operator's page of the tenants in a browser: a real keeper with tenants that are processes, and a gateway with a
// login.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Child } = require('../../../bench/harness/child');
const { newHome, startFlow } = require('../../fixtures/gateway/deployed');
const { until } = require('../../runtime/process');
const { browserPath, openStatusPage } = require('./editor');

const KEEPER = path.join(__dirname, '../../../docker/tenants/main.js');
/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const SECTION = '[data-section="tenants"]';
const ONE = `${SECTION} .tenant`;

class OperatorPage {
  /** Of the keeper. */
  home = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-k-'));
  /** Of the gateway. */
  own = newHome();
  url = '';
  /** @type {Child} */
  keeper;
  /** @type {import('../../fixtures/gateway/deployed').Deployed} */
  gateway;
  /** @type {Awaited<ReturnType<typeof openStatusPage>>} */
  opened;

  /**
   * @param {object} content of the tenants file
   * @param {{ settings?: object, nodes?: object[], width: number }} options settings: of the tenants node; nodes: more
   *   of the flow
   */
  async open(content, { settings = {}, nodes = [], width }) {
    fs.mkdirSync(path.join(this.home, 'tenants'), { mode: 0o700 });
    fs.writeFileSync(this.file, JSON.stringify({ version: 1, ...content }));
    await this.startKeeper();
    const box = { z: 'tab', x: 100, y: 100, engine: 'engine' };
    const front = { ...box, id: 'tenants', type: 'seganet-tenants', file: this.file, socket: this.socket };
    this.gateway = await startFlow(
      [
        { id: 'tab', type: 'tab', label: 'front' },
        { id: 'engine', type: 'seganet-engine', workers: '1', acknowledge: 'safe' },
        { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
        { ...front, ...settings, wires: [] },
        ...nodes.map((node) => ({ ...box, ...node })),
        { ...box, id: 'out', y: 200, type: 'seganet-uplink', broker: 'broker', wires: [] }
      ],
      this.own,
      { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH }
    );
    this.url = `http://127.0.0.1:${this.gateway.adminPort}/`;
    this.opened = await openStatusPage(this.url, { executablePath: browserPath(), width });
    await this.logIn();
    // The stream before the login was refused.
    this.opened.errors.length = 0;
  }

  get file() {
    return path.join(this.home, 'tenants', 'tenants.json');
  }

  get socket() {
    return path.join(this.home, 'tenants', 'keeper.sock');
  }

  async startKeeper() {
    this.keeper = new Child(process.execPath, [KEEPER, 'run'], { env: this.#environment(), name: 'keeper' });
    await this.keeper.until((output) => output.includes('listens on'), 30000);
  }

  /** @param {string[]} args of seganet-tenants */
  run(...args) {
    return new Child(process.execPath, [KEEPER, ...args], { env: this.#environment() }).exited;
  }

  /** @param {string[]} names of tenants that may run */
  async close(...names) {
    await this.opened?.browser.close();
    await this.gateway?.stop();
    await this.keeper?.stop('SIGKILL');
    // Tenants outlive a keeper that is killed.
    for (const name of names) await this.run('remove', name, '--delete-data');
    fs.rmSync(this.home, { recursive: true, force: true });
  }

  async logIn() {
    const { page } = this.opened;
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('scrape me');
    await page.keyboard.press('Enter');
    await page.waitForSelector('form', { state: 'detached' });
  }

  /** @param {string} scope */
  async tokenFor(scope) {
    const body = new URLSearchParams({
      client_id: 'node-red-admin',
      grant_type: 'password',
      username: 'admin',
      password: 'scrape me',
      scope
    });
    const answer = await fetch(`${this.url}auth/token`, { method: 'POST', body });
    return (await answer.json()).access_token;
  }

  /** @param {string} action @param {{ token?: string, body?: object, type?: string, node?: string }} [options] */
  post(action, { token = '', body = {}, type = 'application/json', node = 'tenants' } = {}) {
    return fetch(`${this.url}seganet/tenants/${node}/${action}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': type, ...(token && { authorization: `Bearer ${token}` }) }
    });
  }

  /** @param {string} selector @param {RegExp} wanted */
  async shows(selector, wanted) {
    let text = '';
    await until(
      async () => {
        text = ((await this.opened.page.textContent(selector)) ?? '').replaceAll('\u00a0', ' ');
        return wanted.test(text);
      },
      { what: () => `${wanted} in: ${text}`, timeoutMs: 30000 }
    );
  }

  /** @param {string} text */
  search(text) {
    return this.opened.page.fill(`${SECTION} input[type=search]`, text);
  }

  /** Presses a button of the tenant that is shown. @param {string} name */
  press(name) {
    return this.opened.page.locator(ONE).getByRole('button', { name, exact: true }).click();
  }

  #environment() {
    return { ...process.env, SEGANET_HOME: this.home };
  }
}

module.exports = { ONE, OperatorPage, SECTION };
