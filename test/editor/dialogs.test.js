'use strict';

// What the dialogs ask and do: one screen, folded sections, an engine for all nodes, a test of the broker.

const { needs } = require('../../bench/harness/tools');
const { cleanUp } = require('../runtime/process');
const { browserPath, openEditor, nodesOf, openDialog, closeDialog } = require('./support/editor');
const { startDemo } = require('./support/gateway');
const manifest = require('../../package.json');

const { describe, test } = needs('chromium');
const TYPES = Object.keys(manifest['node-red'].nodes);
const CONFIG_TYPES = ['seganet-engine', 'seganet-uplink-broker', 'seganet-kafka', 'seganet-overlay'];

describe('the dialogs', () => {
  /** @type {Awaited<ReturnType<typeof openEditor>>} */
  let editor;

  beforeAll(async () => {
    const { url } = await startDemo();
    editor = await openEditor(url, { executablePath: browserPath() });
  }, 200000);

  afterAll(async () => {
    await editor?.browser.close();
    await cleanUp();
  });

  afterEach(() => expect(editor.errors).toEqual([]));

  test.each(TYPES)(
    'shows %s in one screen, with its other settings folded, and "none" for what it does not need',
    async (type) => {
      const { page } = editor;
      await page.setViewportSize({ width: 1400, height: 900 });
      const config = CONFIG_TYPES.includes(type);
      const id = await page.evaluate(([nodeType, isConfig]) => {
        const { RED } = /** @type {any} */ (window);
        if (isConfig) return '_ADD_';
        return RED.nodes.add(RED.view.createNode(nodeType, 100, 100).node).id;
      }, /** @type {const} */ ([type, config]));
      const node = { id, type, config };
      await openDialog(page, node, { unfolds: false });
      const form = config ? '#node-config-dialog-edit-form' : '#dialog-form';
      expect(await page.$eval(form, ({ scrollHeight }) => scrollHeight)).toBeLessThanOrEqual(700);
      expect(
        await page.$$eval(`${form} .seganet-fold[open] h4`, (all) =>
          all.map(({ textContent }) => textContent)
        )
      ).toEqual([]);
      // What is chosen from config nodes: name, text of the choice that chooses none, and whether one is needed.
      const choices = await page.evaluate(
        ([name, selector]) => {
          const { defaults } = /** @type {any} */ (window).RED.nodes.getType(name);
          return [...document.querySelectorAll(`${selector} option[value="_ADD_"]`)].map(
            ({ parentElement, textContent }) => {
              const property = parentElement?.id.replace(/^node-(config-)?input-/, '') ?? '';
              return [property, textContent === 'none', Boolean(defaults[property].required)];
            }
          );
        },
        [type, form]
      );
      for (const [property, isNone, isRequired] of choices)
        expect([property, isNone || isRequired]).toEqual([property, true]);
      await closeDialog(page, node, 'cancel');
      if (!config) await page.evaluate((added) => /** @type {any} */ (window).RED.nodes.remove(added), id);
    },
    60000
  );

  test('opens a fold whose values are not the defaults', async () => {
    const { page } = editor;
    const id = await page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      const { node } = RED.view.createNode('seganet-mqtt-devices', 100, 100);
      return RED.nodes.add(Object.assign(node, { rate: '7', devices: [{ device: 'pump', class: 1 }] })).id;
    });
    const node = { id, type: 'seganet-mqtt-devices', config: false };
    await openDialog(page, node, { unfolds: false });
    expect(
      await page.$$eval('.seganet-fold[open] h4', (all) => all.map(({ textContent }) => textContent))
    ).toEqual(['Registered devices', 'Limits']);
    expect(await page.inputValue('.seganet-device')).toBe('pump');
    await closeDialog(page, node, 'cancel');
    await page.evaluate((added) => /** @type {any} */ (window).RED.nodes.remove(added), id);
  }, 60000);

  test('shows the value of a variable below its field, but not that of a password', async () => {
    const { page } = editor;
    const nodes = await nodesOf(page);
    const of = (/** @type {string} */ wanted) =>
      /** @type {any} */ (nodes.find(({ type }) => type === wanted));
    const listener = of('seganet-mqtt-devices');
    await openDialog(page, listener);
    const below = (/** @type {string} */ field) =>
      page.textContent(`.form-row:has(#${field}) + .seganet-now`);
    expect(await below('node-input-host')).toBe('= 127.0.0.1');
    await closeDialog(page, listener, 'cancel');
    const broker = of('seganet-uplink-broker');
    await openDialog(page, broker);
    expect(await below('node-config-input-url')).toMatch(/^= mqtts:\/\/127\.0\.0\.1:\d+$/);
    expect(await page.$$('.form-row:has(#node-config-input-password) + .seganet-now')).toEqual([]);
    await closeDialog(page, broker, 'cancel');
  }, 60000);

  test('gives a first engine that a dialog makes to all nodes without one, in one step to undo', async () => {
    const { page } = editor;
    const before = await page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      /** @type {{ id: string, type: string, engine: string }[]} */
      const nodes = [];
      RED.nodes.eachNode((/** @type {any} */ { id, type, engine, _def }) => {
        if (_def.defaults.engine?.required) nodes.push({ id, type, engine });
      });
      return nodes;
    });
    expect(before.length).toBeGreaterThan(4);
    /** The engines that the nodes have. */
    const engines = () =>
      page.evaluate(
        (ids) => ids.map((id) => /** @type {any} */ (window).RED.nodes.node(id).engine),
        before.map(({ id }) => id)
      );
    await page.evaluate((nodes) => {
      const { RED } = /** @type {any} */ (window);
      for (const { id } of nodes) RED.nodes.node(id).engine = '';
      RED.nodes.remove(nodes[0].engine);
    }, before);
    // As the dialog of a new engine does with its button Add.
    await page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      const made = { id: 'made-engine', type: 'seganet-engine', name: 'made', version: 1, users: [] };
      const engine = { ...made, _def: RED.nodes.getType('seganet-engine') };
      RED.history.push({ t: 'add', nodes: [engine.id], dirty: RED.nodes.dirty() });
      RED.nodes.add(engine);
    });
    expect(new Set(await engines())).toEqual(new Set(['made-engine']));
    await page.evaluate(() => /** @type {any} */ (window).RED.history.pop());
    expect(new Set(await engines())).toEqual(new Set(['']));
    await page.evaluate((nodes) => {
      const { RED } = /** @type {any} */ (window);
      RED.nodes.import([{ id: nodes[0].engine, type: 'seganet-engine', name: 'engine', version: 1 }], {
        addFlow: false
      });
      for (const { id, engine } of nodes) RED.nodes.node(id).engine = engine;
    }, before);
  }, 60000);

  test('tests the connection of a broker with the values in its dialog', async () => {
    const { page } = editor;
    const broker = (await nodesOf(page)).find(({ type }) => type === 'seganet-uplink-broker');
    if (!broker) throw new Error('The flow has no broker.');
    await openDialog(page, broker);
    const steps = () =>
      page.$$eval('.seganet-steps li', (all) => all.map(({ textContent }) => textContent?.trim()));
    /** Presses the button and waits for the answer. */
    const press = async () => {
      await page.click('.seganet-test');
      await page.waitForFunction(
        () =>
          document.querySelector('.seganet-steps li') && !document.querySelector('.seganet-steps .fa-spinner')
      );
      return steps();
    };
    // The address of the demo's cloud, which speaks MQTT 3.1.1 only, comes from the environment.
    expect(await press()).toEqual([
      expect.stringMatching(/^Connection: 127\.0\.0\.1:\d+$/),
      'TLS: TLSv1.3',
      expect.stringMatching(/^Login: MQTT 3\.1\.1, client id .*-test$/),
      expect.stringMatching(/^Publishing: gw\/.*\/normal$/)
    ]);
    await page.fill('#node-config-input-url', 'mqtt://127.0.0.1:1');
    expect(await press()).toEqual([
      'Connection: Nothing listens at 127.0.0.1:1. Check the address and the port, and that the broker is running.'
    ]);
    await page.fill('#node-config-input-url', 'cloud');
    expect(await press()).toEqual([expect.stringMatching(/^The address of the uplink broker must be a URL/)]);
    await closeDialog(page, broker, 'cancel');
  }, 60000);
});
