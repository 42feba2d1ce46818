'use strict';
// The life of an ocf cloud node's cloud: opened twice, closed while it opens, and two with one store.

const { RunningCloud } = require('../../../nodes/lib/ocf/node/running-cloud');
const { DeviceReaders } = require('../../../nodes/lib/engine/device-readers');
const { newFile } = require('../../fixtures/ocf/control-plane');

/** The clouds get no request, so the engine has nothing to do. */
const engine = /** @type {any} */ ({ takeDesk: () => [] });

/** @type {RunningCloud[]} */
let clouds = [];
afterEach(async () => {
  for (const cloud of clouds) await cloud.close();
  clouds = [];
});

/** @param {string} file @param {object} [more] */
function newCloud(file, more = {}) {
  const cloud = new RunningCloud({
    file,
    password: '',
    sid: '',
    endpoint: () => 'coap+tcp://127.0.0.1:1',
    options: {},
    engine,
    stage: 1,
    onBell: () => () => {},
    warn: () => {},
    unrecorded: () => {},
    readers: new DeviceReaders(),
    http: null,
    oidc: null,
    region: null,
    report: () => {},
    log: () => {},
    problem: (error) => {
      throw error;
    },
    ...more
  });
  clouds.push(cloud);
  return cloud;
}

test('a cloud that is opened again while it opens is open once', async () => {
  const cloud = newCloud(newFile());
  await Promise.all([cloud.open(), cloud.open()]);
  const first = cloud.cloud;
  expect(first).not.toBeNull();
  await cloud.open();
  expect(cloud.cloud).toBe(first);
});

test('a cloud whose store is in use stays shut, and its end does not release the store', async () => {
  const file = newFile();
  const first = newCloud(file);
  await first.open();
  const second = newCloud(file);
  await expect(second.open()).rejects.toThrow(/in use by another ocf cloud node/);
  await second.close();
  const third = newCloud(file);
  await expect(third.open()).rejects.toThrow(/in use by another ocf cloud node/);
  await first.close();
  await third.open();
  expect(third.cloud).not.toBeNull();
});

test('a cloud that is closed while it opens does not open', async () => {
  const file = newFile();
  const cloud = newCloud(file);
  const openings = [cloud.open(), cloud.open()];
  const closed = cloud.close();
  for (const opening of openings) await expect(opening).rejects.toThrow('was closed');
  await closed;
  expect(cloud.cloud).toBeNull();
  await expect(cloud.open()).rejects.toThrow('was closed');
  expect(cloud.cloud).toBeNull();
  const next = newCloud(file);
  await next.open();
  expect(next.cloud).not.toBeNull();
});
