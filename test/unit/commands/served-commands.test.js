'use strict';

// Commands.serve(): commands of the cloud that a capability answers instead of the device.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Commands } = require('../../../nodes/lib/commands');

const TAKEN = 0;
const OFFLINE = 1;

/** @type {any} */
let made;
beforeEach(() => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-served-'));
  made = { folder, time: 1e12, ends: {}, sent: [], results: [], reports: [], safe: [] };
  const engine = /** @type {any} */ ({
    command(ticket, device, topic) {
      made.sent.push(topic);
      made.results.push(ticket, made.ends[device] ?? OFFLINE);
      return 0;
    },
    takeCommandResults: () => made.results.splice(0)
  });
  const [now, wall] = [() => made.time, () => made.time];
  made.commands = new Commands({ engine, directory: folder, warn() {}, now, wall });
  made.commands.reportTo('b1', ({ body, ...where }) => made.reports.push({ ...where, ...body }));
});
afterEach(() => {
  made.commands.close();
  fs.rmSync(made.folder, { recursive: true });
});

function come(device, rest = '', more = {}) {
  const given = { device, rest, payload: Buffer.from('p'), qos: 1, ...more };
  made.commands.fromCloud('b1', given, () => made.safe.push(more.id ?? device));
}

function pass(ms) {
  made.time += ms;
  made.commands.ring();
}

const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

test('lets a capability answer what is meant for the gateway, without a place in the queue of the device', async () => {
  come('d', 'x');
  pass(1);
  await turn();
  /** @type {(served: any) => void} */
  let answer = () => {};
  const stop = made.commands.serve(({ device, origin, payload }) =>
    origin.rest === 'state'
      ? new Promise(
          (resolve) =>
            (answer = () => resolve({ status: 'taken', reason: '', body: { got: `${device} ${payload}` } }))
        )
      : null
  );
  made.commands.serve(({ origin }) => (origin.rest === 'no' ? Promise.resolve(null) : null));
  come('d', 'state', { id: 'order-2' });
  await turn();
  expect(made.safe).toEqual(['d']);
  answer(null);
  await turn();
  expect(made.safe).toEqual(['d', 'order-2']);
  expect(made.reports.at(-1)).toMatchObject({ rest: 'state', status: 'taken', id: 'order-2', got: 'd p' });
  // One that nobody serves is an ordinary command, also if that is found later.
  made.ends.e = TAKEN;
  come('e', 'no');
  stop();
  come('e', 'state');
  await turn();
  pass(1);
  pass(1);
  expect(made.sent.slice(-2).sort()).toEqual(['cmd/e/no', 'cmd/e/state']);
});

test('does not acknowledge what is served when the engine stops', async () => {
  made.commands.serve(
    () => new Promise((resolve) => setImmediate(() => resolve({ status: 'taken', reason: '' })))
  );
  come('d', 'state');
  made.commands.close();
  await turn();
  expect([made.safe, made.reports]).toEqual([[], []]);
});
