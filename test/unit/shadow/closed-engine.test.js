'use strict';

const { EventEmitter } = require('node:events');
const { setImmediate: turn } = require('node:timers/promises');
const v8 = require('node:v8');
const vm = require('node:vm');
const { shadowsOf } = require('../../../nodes/lib/shadow');

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc');

/** Makes the shadows of an engine whose node closes, as a full deploy closes it. */
async function closed() {
  const node = Object.assign(new EventEmitter(), { warn: () => {} });
  const host = { commands: { serve: () => () => {} }, deviceEvents: {}, directory: '', engine: {} };
  const RED = { events: new EventEmitter() };
  const shadows = shadowsOf(/** @type {any} */ (host), /** @type {any} */ (node), /** @type {any} */ (RED));
  await new Promise((resolve) => node.emit('close', false, resolve));
  return [new WeakRef(host), new WeakRef(shadows)];
}

test('leaves nothing of an engine that has closed in memory', async () => {
  const refs = await closed();
  for (let i = 0; i < 10 && refs.some((ref) => ref.deref()); i++) {
    await turn();
    gc();
  }
  expect(refs.filter((ref) => ref.deref())).toEqual([]);
});
