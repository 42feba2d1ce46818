'use strict';

// The editor as a user sees it: the nodes in a real browser, against a running gateway.

const { lockInterfaces } = require('../fixtures/network/interfaces-lock');
const { needs } = require('../../bench/harness/tools');
const { cleanUp } = require('../runtime/process');
const { browserPath, openEditor, nodesOf, openDialog, closeDialog } = require('./support/editor');
const { startDemo } = require('./support/gateway');
const flow = require('../../flows/gateway.json');
const manifest = require('../../package.json');

const { describe, test } = needs('chromium');
const TYPES = Object.keys(manifest['node-red'].nodes);
/** Those that the default flow uses. */
const inFlow = flow.map(({ type }) => type).filter((type) => TYPES.includes(type));
const CONFIG_TYPES = ['seganet-engine', 'seganet-uplink-broker', 'seganet-kafka', 'seganet-overlay'];

describe('the editor', () => {
  /** @type {Awaited<ReturnType<typeof openEditor>>} */
  let editor;
  /** @type {() => void} */
  let unlock = () => {};

  beforeAll(async () => {
    unlock = await lockInterfaces();
    const { url } = await startDemo();
    editor = await openEditor(url, { executablePath: browserPath() });
  }, 200000);

  afterAll(async () => {
    await editor?.browser.close();
    unlock();
    await cleanUp();
  });

  afterEach(() => expect(editor.errors).toEqual([]));

  test('has all nodes in the palette, each with its name', async () => {
    const shown = await editor.page.$$eval('.red-ui-palette-node', (nodes) =>
      nodes.map((node) => [node.getAttribute('data-palette-type'), node.textContent?.trim()])
    );
    const own = new Map(shown.filter(([type]) => type?.startsWith('seganet-')));
    expect([...own.keys()].sort()).toEqual(TYPES.filter((type) => !CONFIG_TYPES.includes(type)).sort());
    for (const label of own.values()) expect(label).toMatch(/^[a-z][a-z ]+$/);
  });

  test('finds no fault in the default flow, whose addresses, files and logins come from the environment', async () => {
    const nodes = await nodesOf(editor.page);
    expect(nodes.filter(({ valid }) => valid === false)).toEqual([]);
  });

  test('opens and closes the dialog of every node of the flow', async () => {
    const nodes = (await nodesOf(editor.page)).filter(({ type }) => type.startsWith('seganet-'));
    expect(new Set(nodes.map(({ type }) => type))).toEqual(new Set(inFlow));
    for (const node of nodes) {
      await openDialog(editor.page, node);
      const labels = await editor.page.$$eval('.red-ui-tray .form-row label', (found) =>
        found.map((label) => label.textContent?.trim())
      );
      // A missing string shows its key.
      expect(labels.filter((label) => /^[a-z-]+\.[a-z.-]+$/i.test(label ?? ''))).toEqual([]);
      await closeDialog(editor.page, node, 'cancel');
    }
  }, 60000);

  test.each([
    ['01 - devices to cloud', 'rules'],
    ['08 - priority down to the wire', 'devices'],
    ['10 - coap devices', 'permissions'],
    ['13 - ble devices', 'characteristics'],
    ['14 - coap observe', 'resources']
  ])(
    'keeps each row of the lists in example %s: %s',
    async (name, list) => {
      const { page } = editor;
      const example = require(`../../examples/${name}.json`);
      const given = example.find(
        (/** @type {any} */ node) => TYPES.includes(node.type) && node[list]?.length > 0
      );
      await page.evaluate((nodes) => /** @type {any} */ (window).RED.nodes.import(nodes), example);
      await openDialog(page, { ...given, config: false });
      const labels = await page.$$eval('.red-ui-tray .form-row label, .red-ui-tray option', (found) =>
        found.map((each) => each.textContent?.trim())
      );
      expect(labels.filter((label) => /^[a-z-]+\.[a-z.-]+$/i.test(label ?? ''))).toEqual([]);
      await closeDialog(page, { config: false }, 'ok');
      const kept = await page.evaluate(
        ([id, key]) => {
          const node = /** @type {any} */ (window).RED.nodes.node(id);
          return { rows: node[key], valid: node.valid };
        },
        [given.id, list]
      );
      expect(kept).toEqual({ rows: given[list], valid: true });
      // Restores it: later tests use the default flow.
      await page.evaluate((nodes) => {
        const { RED } = /** @type {any} */ (window);
        const isTab = (/** @type {any} */ { type }) => type === 'tab';
        for (const { id } of nodes.filter(isTab)) RED.workspaces.delete(RED.nodes.workspace(id));
        for (const { id } of nodes) if (RED.nodes.node(id)) RED.nodes.remove(id);
      }, example);
    },
    60000
  );

  test('changes no setting when a dialog is opened and closed with Done, not even one that is a ${variable}', async () => {
    const nodes = (await nodesOf(editor.page)).filter(({ type }) => type.startsWith('seganet-'));
    for (const node of nodes) {
      await openDialog(editor.page, node);
      await closeDialog(editor.page, node, 'ok');
    }
    expect((await nodesOf(editor.page)).filter(({ changed }) => changed)).toEqual([]);
  }, 60000);

  test('shows the settings of the log where one is kept, and explains what an acknowledgement means', async () => {
    const { page } = editor;
    const engine = (await nodesOf(page)).find(({ type }) => type === 'seganet-engine');
    if (!engine) throw new Error('The flow has no engine.');
    await openDialog(page, engine);
    for (const [how, kept, meaning] of /** @type {[string, boolean, RegExp]} */ ([
      ['received', false, /no log is kept/],
      ['stored', true, /Every record is written/],
      ['safe', true, /almost nothing is written/],
      ['${SEGANET_ACKNOWLEDGE}', true, /^$/]
    ])) {
      await page.selectOption('#node-config-input-acknowledge', how);
      expect([how, await page.isVisible('#node-config-input-logMiB')]).toEqual([how, kept]);
      expect(await page.textContent('.seganet-acknowledge')).toMatch(meaning);
    }
    await closeDialog(page, engine, 'cancel');
  }, 60000);

  test('shows the limits of a batch where they apply, and shows the sessions where they are not a preset', async () => {
    const { page } = editor;
    const nodes = await nodesOf(page);
    const of = (/** @type {string} */ type) => /** @type {any} */ (nodes.find((node) => node.type === type));
    const batch = of('seganet-batch');
    await openDialog(page, batch);
    await page.evaluate(() => {
      const { $ } = /** @type {any} */ (window);
      $('#node-input-flush').append($('<option>').val('${FLUSH}').text('a variable'));
    });
    for (const [flush, shown] of /** @type {[string, boolean[]]} */ ([
      ['limits', [true, true, true, false, false, false]],
      ['adaptive', [false, false, true, true, false, false]],
      ['balanced', [false, false, false, false, true, true]],
      ['thrifty', [false, false, false, false, true, true]],
      ['${FLUSH}', [true, true, true, true, true, true]]
    ])) {
      await page.selectOption('#node-input-flush', flush);
      const fields = ['minDevices', 'maxBytes', 'maxDelayMs', 'gapMs', 'patience', 'drainAhead'].map(
        (name) => `#node-input-${name}`
      );
      expect([flush, await Promise.all(fields.map((field) => page.isVisible(field)))]).toEqual([
        flush,
        shown
      ]);
    }
    await closeDialog(page, batch, 'cancel');
    const broker = of('seganet-uplink-broker');
    await openDialog(page, broker);
    const groups = '#node-config-input-groups';
    // The default flow has a variable there.
    expect(await page.inputValue(groups)).toBe('${SEGANET_SESSIONS}');
    expect(await page.isVisible(groups)).toBe(true);
    await page.selectOption('#seganet-sessions', 'all');
    expect([await page.inputValue(groups), await page.isVisible(groups)]).toEqual(['all', false]);
    expect(await page.isVisible('#node-config-input-dscp')).toBe(true);
    await closeDialog(page, broker, 'cancel');
  }, 60000);

  test('shows a node of an older flow as the gateway runs it, saves that, and marks a newer node as invalid', async () => {
    const { page } = editor;
    const engine = (await nodesOf(page)).find(({ type }) => type === 'seganet-engine')?.id;
    const add = (/** @type {object} */ properties) =>
      page.evaluate((given) => {
        const { RED } = /** @type {any} */ (window);
        const z = RED.workspaces.active();
        const [node] = RED.nodes.import([{ z, x: 100, y: 100, wires: [], ...given }], {
          addFlow: false
        }).nodes;
        RED.editor.validateNode(node);
        return { id: node.id, valid: node.valid, errors: node.validationErrors ?? [] };
      }, properties);
    const saved = (/** @type {string} */ id) =>
      page.evaluate((nodeId) => {
        const { RED } = /** @type {any} */ (window);
        const { version, flush, allowAnonymous, valid } = RED.nodes.node(nodeId);
        RED.nodes.remove(nodeId);
        return { version: Number(version), flush, allowAnonymous, valid };
      }, id);

    const batch = { id: 'old-batch', type: 'seganet-batch', engine, mode: 'envelope', maxBytes: '2048' };
    expect((await add(batch)).valid).toBe(true);
    await openDialog(page, { ...batch, config: false });
    expect(await page.inputValue('#node-input-flush')).toBe('limits');
    expect(await page.isVisible('#node-input-maxBytes')).toBe(true);
    await closeDialog(page, { config: false }, 'ok');
    expect(await saved(batch.id)).toMatchObject({ version: 2, flush: 'limits', valid: true });

    const listener = { id: 'old-mqtt', type: 'seganet-mqtt-devices', engine, host: '0.0.0.0', port: '1884' };
    expect((await add(listener)).errors.join()).not.toMatch(/any client/);
    await openDialog(page, { ...listener, config: false });
    expect(await page.isChecked('#node-input-allowAnonymous')).toBe(true);
    await closeDialog(page, { config: false }, 'ok');
    expect(await saved(listener.id)).toMatchObject({ version: 2, allowAnonymous: true, valid: true });

    const newer = await add({ ...batch, id: 'new-batch', version: 3 });
    expect([newer.valid, newer.errors.join()]).toEqual([
      false,
      expect.stringMatching(/A newer version of SegaNet Gateway made this node \(version 3;.*up to 2\)/)
    ]);
    // The editor keeps the version of a node whose type has no migrations, too.
    const tap = await add({ id: 'new-tap', type: 'seganet-tap', engine, version: 2 });
    expect([tap.valid, await saved('new-batch'), await saved('new-tap')]).toMatchObject([
      false,
      { version: 3 },
      { version: 2 }
    ]);
  }, 60000);

  test('shows values from the environment in the lists of a device node, and hides no row for them', async () => {
    const { page } = editor;
    const listener = (await nodesOf(page)).find(({ type }) => type === 'seganet-mqtt-devices');
    if (!listener) throw new Error('The flow has no mqtt devices node.');
    const given = flow.find(({ id }) => id === listener.id);
    await openDialog(page, listener);
    for (const name of ['transport', 'minTls', 'login', 'identity', 'clientCert', 'certIdentity']) {
      expect([name, await page.inputValue(`#node-input-${name}`)]).toEqual([
        name,
        /** @type {any} */ (given)[name]
      ]);
    }
    for (const name of ['minTls', 'wsPath', 'passwordFile', 'pskFile', 'clientCert', 'certIdentity']) {
      expect([name, await page.isVisible(`#node-input-${name}`)]).toEqual([name, true]);
    }
    await closeDialog(page, listener, 'cancel');
  }, 60000);

  test('gives a new node the only engine and the only broker, and requires a choice with two engines', async () => {
    const { page } = editor;
    /** Drags nodes of all types that need an engine into the flow. @returns the engines and brokers that they took */
    const drag = () =>
      page.evaluate(() => {
        const { RED } = /** @type {any} */ (window);
        const types = RED.nodes.registry
          .getNodeTypes()
          .filter((/** @type {string} */ type) => /^seganet-/.test(type));
        return types.flatMap((/** @type {string} */ type) => {
          const { defaults, category } = RED.nodes.getType(type);
          // A find node works without an engine.
          if (!defaults.engine?.required || category === 'config') return [];
          const { node } = RED.view.createNode(type, 100, 100);
          const added = RED.nodes.add(node, { source: 'palette' });
          RED.editor.validateNode(added);
          const { engine, broker = '', validationErrors = [] } = added;
          RED.nodes.remove(node.id);
          const asked = validationErrors.filter((/** @type {string} */ each) => /engine/i.test(each)).length;
          return [{ type, engine, broker, asked }];
        });
      });
    const nodes = await nodesOf(page);
    const idOf = (/** @type {string} */ type) => nodes.find((node) => node.type === type)?.id;
    const alone = await drag();
    expect(alone.length).toBeGreaterThan(10);
    for (const { type, ...taken } of alone) {
      const broker = type === 'seganet-uplink' ? idOf('seganet-uplink-broker') : '';
      expect([type, taken]).toEqual([type, { engine: idOf('seganet-engine'), broker, asked: 0 }]);
    }
    await page.evaluate(() => {
      const { RED } = /** @type {any} */ (window);
      RED.nodes.import([{ id: 'second-engine', type: 'seganet-engine' }], { addFlow: false });
    });
    for (const { type, engine, asked } of await drag()) expect([type, engine, asked]).toEqual([type, '', 1]);
    await page.evaluate(() => /** @type {any} */ (window).RED.nodes.remove('second-engine'));
  }, 60000);

  test('keeps the registered devices that were entered', async () => {
    const { page } = editor;
    const listener = /** @type {any} */ (
      (await nodesOf(page)).find(({ type }) => type === 'seganet-mqtt-devices')
    );
    await openDialog(page, listener);
    await page.click('.node-input-devices-row .red-ui-editableList-addButton');
    await page.fill('.seganet-device', ' pump-* ');
    await page.selectOption('.node-input-devices-row .seganet-class', '7');
    await closeDialog(page, listener, 'ok');
    const devices = await page.evaluate(
      (id) => /** @type {any} */ (window).RED.nodes.node(id).devices,
      listener.id
    );
    expect(devices).toEqual([{ device: 'pump-*', class: 7 }]);
  }, 60000);

  test('deploys a changed flow, and the gateway keeps running', async () => {
    const { page } = editor;
    const listener = (await nodesOf(page)).find(({ type }) => type === 'seganet-mqtt-devices');
    if (!listener) throw new Error('The flow has no mqtt devices node.');
    await openDialog(page, listener);
    await page.fill('#node-input-name', 'field');
    await closeDialog(page, listener, 'ok');
    const answer = page.waitForResponse(
      (response) => response.url().endsWith('/flows') && response.request().method() === 'POST'
    );
    await page.click('#red-ui-header-button-deploy');
    expect((await answer).status()).toBe(200);
    await page.waitForFunction((id) => {
      const text = document.getElementById(id)?.textContent ?? '';
      return text.startsWith('field') && /64 devices/.test(text);
    }, listener.id);
  }, 60000);
});
