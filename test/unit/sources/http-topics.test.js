'use strict';
// Topics that a device may publish to by HTTP.

const { openDoor } = require('../../fixtures/devices/http-bench');

/** @type {Awaited<ReturnType<typeof openDoor>>} */
let bench;
const open = async (...given) => (bench = await openDoor(...given));
afterEach(async () => {
  await bench.server.close(0);
  expect(bench.errors).toEqual([]);
});

const JSON_TYPE = { 'Content-Type': 'application/json' };

describe('topics', () => {
  const tokens = { find: () => ({ name: 'n', allows: () => true }) };
  const asDevice = (post, target, body = '1', type = {}) =>
    post(target, body, type).then(({ status }) => status);

  test('gives a device with a token the topics of its own address alone', async () => {
    const { post, engine } = await open({ login: 'tokens', tokenFile: '/x' }, { tokens });
    for (const [target, status] of [
      ['/r/cam-1', 200],
      ['/r/cam-1/a/b', 200],
      ['/r/cam-1?t=r/cam-1/x', 200],
      ['/r/cam%2F1/x', 200],
      ['/r/cam-1/x?t=r/pump-7/alarm', 403],
      ['/r/cam-1/x?t=$SYS/broker/x', 403],
      ['/r/cam-1/x?t=r/cam-10', 403],
      ['/r/cam-1?t=', 403]
    ]) {
      expect([target, await asDevice(post, target)]).toEqual([target, status]);
    }
    const list = '[{"deviceId":"a","payload":1},{"deviceId":"a","topic":"r/b","payload":1}]';
    expect(await asDevice(post, '/r', list, JSON_TYPE)).toBe(403);
    expect(engine.taken.map(({ topic }) => topic)).toEqual([
      'r/cam-1',
      'r/cam-1/a/b',
      'r/cam-1/x',
      'r/cam/1/x'
    ]);
  });

  test.each([['tokens'], ['none']])(
    'gives it the topics of its row with permissions (login %s)',
    async (login) => {
      const permissionsJson = JSON.stringify([
        { device: 'cam-*', publish: ['d/{device}/#', 'shared/+'] },
        { device: 'lamp', publish: [] }
      ]);
      const { post } = await open(
        { login, tokenFile: '/x', permissionsJson },
        { tokens: login === 'tokens' ? tokens : null }
      );
      for (const [target, status] of [
        ['/r/cam-1?t=d/cam-1/x', 200],
        ['/r/cam-1?t=shared/x', 200],
        ['/r/cam-1?t=shared/x/y', 403],
        ['/r/cam-1', 403],
        ['/r/cam-2?t=d/cam-1/x', 403],
        ['/r/lamp', 403],
        ['/r/pump', 403]
      ]) {
        expect([target, await asDevice(post, target)]).toEqual([target, status]);
      }
    }
  );
});
