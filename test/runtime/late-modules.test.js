'use strict';

const { spawnSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const path = require('path');
const { lateExpress } = require('../../flows/launcher/late-express');
const { standIn, standInWith } = require('../../flows/launcher/stand-in');
const { startGateway } = require('./gateway');
const { ROOT, cleanUp, temporaryFolder, until } = require('./process');

jest.setTimeout(90000);

afterEach(cleanUp);

describe('a stand-in', () => {
  test('loads on first use, and then behaves as the module', () => {
    const load = jest.fn(() => Object.assign((/** @type {number} */ a) => a + 1, { b: 2 }));
    const late = standIn(load);
    expect(load).not.toHaveBeenCalled();
    expect(late(1)).toBe(2);
    expect(load).toHaveBeenCalledTimes(1);
    expect(late.b).toBe(2);
    late.c = 3;
    expect(Object.keys(late)).toEqual(['b', 'c']);
    expect({ ...late }).toEqual({ b: 2, c: 3 });
    expect('c' in late).toBe(true);
    delete late.c;
    expect(late.c).toBeUndefined();
  });

  test('stands for a class and for an object that cannot change', () => {
    class Module {}
    const late = standIn(() => Module);
    expect(new late()).toBeInstanceOf(Module);
    const frozen = standIn(() => Object.freeze({ a: 1 }));
    expect(Object.entries(frozen)).toEqual([['a', 1]]);
    expect(Object.getOwnPropertyNames(frozen)).toEqual(['a']);
  });

  test('has stand-ins for its members', () => {
    const load = jest.fn(() => ({ auth: { needs: (/** @type {string} */ what) => `needs ${what}` } }));
    const { auth } = standInWith(load, ['auth']);
    expect(load).not.toHaveBeenCalled();
    expect(auth.needs('a')).toBe('needs a');
  });

  test('passes an error of the module on each use', () => {
    const late = standIn(() => {
      throw new Error('no such file');
    });
    expect(() => late.a).toThrow('no such file');
    expect(() => late()).toThrow('no such file');
  });
});

describe('Express', () => {
  /** @returns an Express that notes what its app gets */
  function express() {
    /** @type {string[]} */
    const calls = [];
    const app = Object.assign((/** @type {string} */ request) => calls.push(`request ${request}`), {
      calls,
      settings: { a: 1 },
      get: (/** @type {any[]} */ ...args) =>
        args.length === 1 ? app.settings.a : calls.push(`get ${args[0]}`),
      set: (/** @type {string} */ name) => calls.push(`set ${name}`),
      use: (/** @type {string} */ root) => calls.push(`use ${root}`)
    });
    const load = jest.fn(() => Object.assign(() => app, { json: () => 'json' }));
    return { load, late: lateExpress(load) };
  }

  test('is not loaded by endpoints that nobody asks', () => {
    const { late, load } = express();
    const app = late();
    expect(app.set('a', false).get('/a', () => {})).toBe(app);
    app.use('/b');
    expect(load).not.toHaveBeenCalled();
  });

  test('gets them in their order with the first request', () => {
    const { late, load } = express();
    const app = late();
    app.get('/a', () => {});
    app.use('/b');
    app('c');
    app.get('/d', () => {});
    expect(app.calls).toEqual(['get /a', 'use /b', 'request c', 'get /d']);
    expect(load).toHaveBeenCalledTimes(1);
  });

  test('is loaded to read a setting, and for its other functions', () => {
    expect(express().late().get('a')).toBe(1);
    expect(express().late.json()).toBe('json');
    expect(express().late().settings).toEqual({ a: 1 });
  });
});

/** Runs a script with `late`, the module. @param {string} script @returns {any} what it prints as JSON */
function inProcess(script) {
  const file = JSON.stringify(path.join(ROOT, 'flows/launcher/late-modules'));
  const whole = `const late = require(${file});
    const isLoaded = (name) => Object.keys(require.cache).some((file) => file.includes('/node_modules/' + name + '/'));
    (async () => { ${script} })();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', whole], { cwd: ROOT, encoding: 'utf8' });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('Node-RED loads without the modules, and gets them when it uses them', () => {
  const shown = inProcess(`
    late.loadLate({ hasEditor: false });
    const RED = require('node-red');
    const names = ['passport', 'oauth2orize', 'moment', 'minipass', 'body-parser'];
    const before = names.map(isLoaded);
    const { util } = RED;
    const node = { _flow: {}, context: () => ({ global: {} }) };
    const expression = util.prepareJSONataExpression('$sum(a) & $moment("2026-01-01").format("YYYY")', node);
    const evaluate = require('util').promisify(util.evaluateJSONataExpression);
    const value = await evaluate(expression, { a: [1, 2] });
    const after = names.map(isLoaded);
    const middleware = RED.auth.needsPermission('a.read');
    console.log(JSON.stringify({ before, value, after, type: typeof middleware, passport: isLoaded('passport') }));`);
  expect(shown).toEqual({
    before: [false, false, false, false, false],
    value: '32026',
    after: [false, false, true, false, false],
    type: 'function',
    passport: true
  });
});

test('an app of Express that is made late answers as any other', () => {
  const shown = inProcess(`
    late.loadLate({ hasEditor: false });
    const express = require('module').createRequire(require.resolve('node-red'))('express');
    const app = express();
    app.set('greeting', 'hello').get('/:name', (request, response) => response.send(app.get('greeting') + request.params.name));
    const before = isLoaded('body-parser');
    const outer = express();
    outer.use('/a', app);
    const server = require('http').createServer(outer).listen(0, '127.0.0.1', async () => {
      const url = 'http://127.0.0.1:' + server.address().port + '/a/';
      const texts = [await (await fetch(url + 'b')).text(), (await fetch(url + 'b/c')).status];
      console.log(JSON.stringify({ before, texts, after: isLoaded('body-parser') }));
      server.close();
    });`);
  expect(shown).toEqual({ before: false, texts: ['hellob', 404], after: true });
});

test('leaves a module that is loaded already', () => {
  const shown = inProcess(`
    const moment = require('moment-timezone');
    late.loadLate({ hasEditor: false });
    console.log(JSON.stringify(require('moment-timezone') === moment));`);
  expect(shown).toBe(true);
});

test('the nodes http request and html of a gateway with an editor work', async () => {
  /** @type {string[]} */
  const posted = [];
  const server = http.createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => {
      if (request.method === 'POST') posted.push(body);
      response.end('<p>no</p><h1>a title</h1>');
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('net').AddressInfo} */ (server.address());
  const url = `http://127.0.0.1:${port}/`;
  const common = { z: 'tab', persist: false, senderr: false };
  const flow = [
    { id: 'tab', type: 'tab', label: '' },
    { id: 'a', type: 'inject', z: 'tab', props: [], once: true, onceDelay: 0.1, wires: [['b']] },
    { id: 'b', type: 'http request', ...common, method: 'GET', ret: 'txt', url, wires: [['c']] },
    {
      id: 'c',
      type: 'html',
      z: 'tab',
      property: 'payload',
      tag: 'h1',
      ret: 'text',
      as: 'multi',
      wires: [['d']]
    },
    { id: 'd', type: 'http request', ...common, method: 'POST', ret: 'txt', url, wires: [[]] }
  ];
  const home = temporaryFolder();
  fs.writeFileSync(path.join(home, 'gateway.json'), JSON.stringify(flow));
  try {
    const { gateway } = await startGateway({ SEGANET_HOME: home, SEGANET_UPLINK_URL: 'mqtt://127.0.0.1:1' });
    await until(() => posted.length > 0, { within: 20000, what: () => gateway.output });
    expect(posted).toEqual(['a title']);
  } finally {
    server.close();
    server.closeAllConnections();
  }
});

test('the module of the node html is loaded on first use, with and without an editor', () => {
  const shown = inProcess(`
    for (const hasEditor of [true, false]) late.loadLate({ hasEditor });
    const { createRequire } = require('module');
    const nodes = createRequire(require.resolve('@node-red/nodes/package.json'));
    const cheerio = nodes('cheerio');
    const before = isLoaded('cheerio-select');
    const text = cheerio.load('<b>x</b>')('b').text();
    console.log(JSON.stringify({ before, text, after: isLoaded('cheerio-select') }));`);
  expect(shown).toEqual({ before: false, text: 'x', after: true });
});
