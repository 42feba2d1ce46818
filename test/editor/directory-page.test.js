'use strict';
// The page of the directory in a real browser, of a phone's width: a gateway with a login, records, and questions.

const { needs } = require('../../bench/harness/tools');
const { newHome, startFlow } = require('../fixtures/gateway/deployed');
const { until } = require('../runtime/process');
const { lowestContrast, misfits, overflow } = require('./support/appearance');
const { browserPath, openStatusPage } = require('./support/editor');

const { describe, test } = needs('chromium');
jest.setTimeout(120000);

/** Of the password "scrape me". */
const HASH = '$2b$08$XbjmKnzQk0mhehPYcDAtnOtJRWQUSwMP39siyK6UuquQghWdowd4C';
const RULES = [
  { device: 'th-*', type: 'saref:TemperatureSensor', room: '{1}', unit: '°C', ask: { command: 'get' } }
];

describe('the page of the directory', () => {
  /** @type {import('../fixtures/gateway/deployed').Deployed} */
  let gateway;
  /** @type {Awaited<ReturnType<typeof openStatusPage>>} */
  let opened;

  beforeAll(async () => {
    const box = { z: 'tab', x: 100, y: 100 };
    const sends = (
      /** @type {string} */ id,
      /** @type {string} */ device,
      /** @type {object} */ payload
    ) => ({
      ...box,
      id,
      type: 'inject',
      once: true,
      onceDelay: 0.1,
      wires: [['find']],
      props: [
        { p: 'payload', v: JSON.stringify(payload), vt: 'json' },
        { p: 'deviceId', v: device, vt: 'str' }
      ]
    });
    const many = Array.from({ length: 30 }, (_, i) =>
      sends(`hum-${i}`, `hum-${String(i).padStart(2, '0')}`, { humidity: i })
    );
    gateway = await startFlow(
      [
        { id: 'tab', type: 'tab', label: 'house' },
        { id: 'engine', type: 'seganet-engine', workers: '1' },
        { ...box, id: 'in', type: 'seganet-ingest', engine: 'engine', wires: [['out']] },
        { id: 'broker', type: 'seganet-uplink-broker', url: 'mqtt://127.0.0.1:1' },
        { ...box, id: 'out', type: 'seganet-uplink', engine: 'engine', broker: 'broker', wires: [] },
        {
          ...box,
          id: 'find',
          type: 'seganet-find',
          name: 'house',
          engine: 'engine',
          askMs: '2000',
          rules: JSON.stringify(RULES),
          wires: [[]]
        },
        sends('one', 'th-105', { temperature: 21.5, rssi: -60 }),
        sends('two', 'th-106', { rssi: -70 }),
        sends('hostile', 'th-<img src=x onerror=alert(1)>\u202e', { temperature: 1 }),
        ...many
      ],
      newHome(),
      { SEGANET_ADMIN_USER: 'admin', SEGANET_ADMIN_PASSWORD_HASH: HASH }
    );
    const url = `http://127.0.0.1:${gateway.adminPort}/`;
    opened = await openStatusPage(url, {
      executablePath: browserPath(),
      width: 360,
      query: 'directory.html'
    });
  }, 120000);
  afterAll(async () => {
    await opened?.browser.close();
    await gateway?.stop();
  }, 60000);

  async function logIn() {
    const { page } = opened;
    await page.getByLabel('User name').fill('admin');
    await page.getByLabel('Password').fill('scrape me');
    await page.keyboard.press('Enter');
    await page.waitForSelector('form:has-text("Password")', { state: 'detached' });
  }
  /** @param {string} selector @param {RegExp} wanted */
  const shows = async (selector, wanted) => {
    let text = '';
    await until(
      async () => {
        text = ((await opened.page.textContent(selector)) ?? '').replaceAll('\u00a0', ' ');
        return wanted.test(text);
      },
      { what: () => `${wanted} in: ${text}`, timeoutMs: 30000 }
    );
  };
  async function ask(/** @type {Record<string, string>} */ fields) {
    const { page } = opened;
    for (const label of ['What is measured', 'Room', 'Device', 'Words'])
      await page.getByLabel(label, { exact: true }).fill(fields[label] ?? '');
    await page.getByRole('button', { name: 'Ask', exact: true }).click();
  }
  const QUESTION = '[data-section="question"]';
  const THINGS = '[data-section="things"]';

  test('asks for a login, and shows the things in pages that fit a phone', async () => {
    const { page, errors } = opened;
    await page.waitForSelector('form:has-text("Password")');
    expect(await page.isHidden(QUESTION)).toBe(true);
    await logIn();
    // The requests before the login were refused.
    errors.length = 0;
    await until(
      async () => {
        await page.getByRole('button', { name: 'Back' }).isEnabled();
        await page.reload();
        await page.waitForSelector(`${THINGS} tbody tr`);
        return /Page 1 of 2: 33 things/.test((await page.textContent(`${THINGS} .pages`)) ?? '');
      },
      { timeoutMs: 30000, what: () => 'all things' }
    );
    await page.getByRole('button', { name: 'Next' }).click();
    await shows(THINGS, /Page 2 of 2/);
    await shows(`${THINGS} tbody`, /th-105105.*temperature/);
    await shows(`${THINGS} tbody`, /th-<img src=x onerror=alert\(1\)>\\u\{202e\}/);
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test('answers a question with the value, its device, and the others', async () => {
    const { page, errors } = opened;
    await ask({ 'What is measured': 'Temperature', Room: '105' });
    await shows(`${QUESTION} dl`, /Value21\.5 °CTime\d+ m?s agoDeviceth-105Room105Fromits latest record/);
    await shows(`${QUESTION} dl`, /signal -60 dBm/);
    await ask({ 'What is measured': 'humidity' });
    await shows(`${QUESTION} [role=status]`, /best of 30 candidates/);
    expect(await page.locator(`${QUESTION} tbody tr`).count()).toBe(10);
    await page.getByRole('button', { name: 'Ask th-105' }).click();
    await shows(`${QUESTION} dl`, /Deviceth-105/);
    expect(await page.inputValue('input[name=device]')).toBe('th-105');
    expect(await overflow(page)).toBe(0);
    expect(await misfits(page)).toEqual([]);
    expect((await lowestContrast(page, '.seganet-live')).ratio).toBeGreaterThanOrEqual(4.5);
    expect(errors).toEqual([]);
  });

  test('sends a command only after a login that may, and shows what the gateway says', async () => {
    const { page, errors } = opened;
    await ask({ 'What is measured': 'noise' });
    await shows(`${QUESTION} [role=status]`, /No thing measures noise/);
    await ask({ 'What is measured': 'Temperature', Room: '106' });
    await shows(`${QUESTION} [role=status]`, /There is no value\. th-106: .*permission seganet\.write/);
    await page.getByRole('button', { name: 'Log in to send commands' }).click();
    await logIn();
    await shows(`${QUESTION} [role=status]`, /There is no value\. th-106: The command was not delivered/);
    // The browser reports answers with an error status.
    expect(errors.filter((each) => !/Failed to load resource/.test(each))).toEqual([]);
  });
});
