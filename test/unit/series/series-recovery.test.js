'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { KINDS, FailingCalls } = require('../../fixtures/store/failing-calls');
const { Rig } = require('../../fixtures/series/series-rig');

const OLD = ['pump', 'oven', 'boiler'];
const NEW = ['valve', 'gauge'];
const STEPS = 60;
/** In memory if possible: the syncs of a thousand recoveries take minutes on a disk. */
const ROOM = fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();

/** Values that are in the series, or may be, by device. */
class Model {
  constructor(at) {
    this.at = at;
    this.next = 1;
    this.acknowledged = new Map();
    this.tried = new Map();
  }

  /** @returns {boolean} true if it was acknowledged */
  put(device) {
    const value = this.next++;
    add(this.tried, device, value);
    try {
      this.at.put({ temp: value }, this.at.now + value, device);
    } catch {
      return false;
    }
    add(this.acknowledged, device, value);
    return true;
  }

  /** Forgets what only the database has: it is in the renamed file. */
  forgetWritten() {
    this.acknowledged.clear();
  }

  async check(what) {
    const of = (map, device) => map.get(device) ?? [];
    for (const device of [...OLD, ...NEW]) {
      const rows = await this.at.rows({}, 'temp', device);
      const values = rows.map(([, value]) => value);
      const foreign = values.filter((value) => !of(this.tried, device).includes(value));
      const lost = of(this.acknowledged, device).filter((value) => !values.includes(value));
      if (foreign.length + lost.length > 0)
        throw new Error(`${what}: ${device} has ${foreign} of others, and lost ${lost}`);
    }
  }
}

const add = (map, key, value) => map.set(key, [...(map.get(key) ?? []), value]);

/**
 * Recovers a store while calls fail, and checks the series then, after a crash, and after all is written.
 * @returns {Promise<boolean>} false if the recovery made fewer calls
 */
async function recover(trigger, failure) {
  const at = new Rig({ directory: fs.mkdtempSync(path.join(ROOM, 'seganet-series-')) });
  const model = new Model(at);
  let calls;
  try {
    for (const device of OLD) model.put(device);
    at.pass(120000);
    at.store.flush(true);
    if (trigger === 'damaged') model.forgetWritten();
    for (let i = 0; i < 2; i++) for (const device of OLD) model.put(device);
    calls = new FailingCalls(failure);
    at.store.fault(KINDS[trigger]());
    for (let step = 0; step < STEPS; step++) {
      const answers = [...NEW, ...OLD].map((device) => model.put(device));
      const isOver = calls.failed === 0 || calls.failed >= failure.count;
      if (isOver && answers.every(Boolean)) break;
      at.pass(7000);
      at.store.tick();
    }
    calls.end();
    const what = JSON.stringify({ trigger, ...failure });
    if (at.store.reason) throw new Error(`${what}: ${at.store.reason}`);
    await model.check(what);
    at.crash();
    await model.check(`${what}, after a crash`);
    at.pass(120000);
    at.store.tick();
    at.reopen();
    await model.check(`${what}, when all is written`);
    return calls.failed > 0;
  } finally {
    calls?.end();
    at.remove();
  }
}

const cases = ['damaged', 'io'].flatMap((trigger) => [
  { trigger, kind: 'full', count: 1, isLate: false },
  { trigger, kind: 'io', count: 9, isLate: false },
  { trigger, kind: 'io', count: 1, isLate: true }
]);
test.each(cases)(
  'after a fault ($trigger), with each call of the recovery failing ($kind, $count times, late: $isLate), each series has its points only, and all that were acknowledged',
  async ({ trigger, ...failure }) => {
    let first = 1;
    while (await recover(trigger, { first, ...failure })) first++;
    expect(first).toBeGreaterThan(20);
  },
  60000
);
