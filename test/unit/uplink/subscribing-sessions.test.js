'use strict';
// Which sessions tell the engine that they also receive messages: the real engine, a scripted broker.

const native = require('../../../native');
const { until } = require('../../../bench/harness/broker');
const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { checkStage, compileStage } = require('../../../nodes/lib/uplink/sending/uplink-stage');
const { Group } = require('../../../nodes/lib/uplink/session-group');
const { Pacer } = require('../../../nodes/lib/uplink/sending/pacer');
const { TenantSession } = require('../../../nodes/lib/tenants/uplink/tenant-session');
const { ScriptedBroker } = require('../../fixtures/uplink/scripted-broker');

jest.setTimeout(30000);

const STAGE = 1;
const UPLINK = 1;
const now = () => performance.now();
const stage = { id: STAGE, stage: compileStage(checkStage({ topic: 't' }), 'gw1') };

/** @type {(() => unknown)[]} */
const cleanups = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) {
    await cleanup();
    // A session that ends calls back while it uses its connection. The engine's end waits for that.
    await new Promise((resolve) => setImmediate(resolve));
  }
});

/** The engine, with the arguments of each entry of the express path. */
function watched() {
  /** @type {import('../../../native').ExpressOptions[]} */
  const entries = [];
  class UplinkConnection extends native.UplinkConnection {
    /** @param {Parameters<import('../../../native').UplinkConnection['enter']>} all */
    enter(...all) {
      entries.push(all[3]);
      return super.enter(...all);
    }
  }
  return { entries, engine: { ...native, UplinkConnection } };
}

/** Starts a broker and an engine with one uplink. */
async function start() {
  const broker = await ScriptedBroker.start({});
  cleanups.push(() => broker.close());
  const engine = new native.Engine({ workers: 1, memoryMiB: 32 }, () => {});
  cleanups.push(() => engine.close());
  engine.applyPlan({
    stages: [{ id: STAGE, kind: 'uplink', uplink: UPLINK, next: [], messages: false }]
  });
  return { broker, engine, options: checkOptions({ url: broker.url, gateway: 'gw1', groups: 'all' }, '') };
}

test("a tenant's session does, so that its commands are read at once", async () => {
  const { engine, options } = await start();
  const seen = watched();
  const session = new TenantSession({
    options,
    native: seen.engine,
    stage,
    now,
    engine: { token: engine.token, number: UPLINK },
    wake: () => setImmediate(() => session.turn()),
    problem: () => {},
    onState: () => {},
    onEnd: () => {},
    onCommand: () => {}
  });
  session.start();
  cleanups.push(() => session.stop());
  await until(() => seen.entries.length > 0, 10000, 'the express path is entered');
  expect(seen.entries[0]).toMatchObject({ subscribes: true });
});

test('a session that only sends does not', async () => {
  const { engine, options } = await start();
  const seen = watched();
  const group = new Group(0, {
    options,
    native: seen.engine,
    now,
    pacer: new Pacer({ rate: options.backlogRate, share: options.backlogShare, now }),
    wake: () => setImmediate(() => group.turn()),
    problem: () => {},
    onStatus: () => {}
  });
  group.feeder.setStages(new Map([[stage.id, stage.stage]]));
  group.attach(engine.token, UPLINK);
  group.session.start();
  cleanups.push(() => group.stop());
  await until(() => seen.entries.length > 0, 10000, 'the express path is entered');
  expect(seen.entries[0]).toMatchObject({ subscribes: false });
});
