'use strict';
// The names under which the HTTP API of a directory answers without a login.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const helper = require('node-red-node-test-helper');

const find = require('../../nodes/seganet-find');
const ROOT = '/seganet/directory/things-of-test';

/** @type {string} */
let folder;
beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-directory-names-'));
  await new Promise((resolve) => helper.startServer(resolve));
  helper.settings(/** @type {any} */ ({ seganetFindHosts: ['gateway.example.org'] }));
  const flow = [{ id: 'things-of-test', type: 'seganet-find', version: 1, folder, wires: [[]] }];
  await helper.load([find], flow);
});
afterAll(async () => {
  await helper.unload();
  await new Promise((resolve) => helper.stopServer(resolve));
  fs.rmSync(folder, { recursive: true, force: true });
});

const request = (method, url, headers) => {
  let sent = helper.request()[method](url.startsWith('/') ? url : `${ROOT}/${url}`);
  for (const [name, value] of Object.entries(headers)) sent = sent.set(name, value);
  return sent;
};

const addresses = [
  ['get', '/seganet/directory'],
  ['get', '/seganet/q?property=Temperature'],
  ['get', '/.well-known/wot'],
  ['get', ''],
  ['get', 'q?property=Temperature'],
  ['get', 'value?thing=a&property=b'],
  ['get', 'things'],
  ['post', 'things'],
  ['get', 'things/urn:x'],
  ['put', 'things/urn:x'],
  ['patch', 'things/urn:x'],
  ['delete', 'things/urn:x'],
  ['get', 'search/jsonpath?query=$'],
  ['get', 'search/sparql?query=ASK%20%7B%7D'],
  ['post', 'search/sparql'],
  ['get', 'search/xpath'],
  ['get', 'events'],
  ['get', 'events/thing_created']
];

test.each(addresses)('refuses %s %p to a page whose name resolves to the gateway', async (method, url) => {
  // All that a browser sends to http://evil.example:1880 for a page from there, and what such a page may add.
  const headers = {
    Host: 'evil.example:1880',
    Origin: 'http://evil.example:1880',
    'Sec-Fetch-Site': 'same-origin',
    'X-Forwarded-Host': 'gateway.example.org'
  };
  const response = await request(method, url, headers);
  expect(response.status).toBe(403);
  expect(response.body.detail).toMatch(/not at "evil\.example:1880"\. Add this name to seganetFindHosts/);
});

test('answers at an address, at the name of the machine, and at a name of the setting', async () => {
  for (const host of ['10.0.0.7:1880', 'localhost:1880', os.hostname(), 'gateway.example.org'])
    await request('get', '/seganet/directory', { Host: host }).expect(200);
});
