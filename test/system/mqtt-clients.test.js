'use strict';
// Third-party client libraries against the device listener: QoS 0, 1 and 2, and a command (docs/use/mqtt.md).

const path = require('node:path');
const { Engine, CommandEnd } = require('../../native');
const { Child } = require('../../bench/harness/child');
const { stage, usualPlan, until } = require('../native/support/addon');
const { needs, python } = require('../../bench/harness/tools');

jest.setTimeout(30000);

const script = path.join(__dirname, '../fixtures/devices/mqtt-device.py');

/** @type {InstanceType<typeof Engine>} */
let engine;
let port = 0;
beforeEach(() => {
  engine = new Engine({ workers: 2 }, () => {});
  engine.applyPlan(usualPlan());
  port = engine.listen(stage.source, { host: '127.0.0.1', port: 0 });
});
afterEach(() => engine.close());

/** @param {string} device */
const listens = (device) => engine.agents('', 10).some((agent) => agent.device === device && agent.listening);

const libraries = /** @type {const} */ ([
  ['paho', 'python:paho.mqtt'],
  ['gmqtt', 'python:gmqtt']
]);
for (const [library, tool] of libraries) {
  const { describe } = needs(tool);
  describe.each([4, 5])(`${library} with protocol level %i`, (level) => {
    test('publishes with each QoS, and takes a command', async () => {
      const device = `${library}-${level}`;
      const child = new Child(python(), [script, library, String(level), String(port)]);
      await until(() => listens(device) && engine.stats().counters.recordsReceived === 3);
      expect(engine.command(1, device, `cmd/${device}/set`, Buffer.from('on'), 1, 10000)).toBe(0);
      expect((await child.exited).code).toBe(0);
      expect(child.jsonLines()).toEqual([{ command: `cmd/${device}/set`, payload: 'on' }]);
      expect(engine.takeCommandResults()).toEqual([1, CommandEnd.TAKEN]);
      expect(engine.stats().protocolErrors).toEqual({});
    });
  });
}
