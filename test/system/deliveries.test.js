'use strict';
// Acknowledge messages: delivered. The limit of the records that wait for a flow, and the http request node.

const { Child } = require('../../bench/harness/child');
const { root } = require('../../bench/harness/gateway');
const flows = require('../nodes/support/delivery-flow');

const { DeliveryFlow, helper, host, node, turns } = flows;

/** @type {InstanceType<typeof DeliveryFlow>} */
let gateway;

beforeAll(() => helper.startServer());
beforeEach(async () => {
  gateway = new DeliveryFlow();
  await gateway.prepare();
});
afterEach(() => gateway.end());
afterAll(() => helper.stopServer());

test('stops reading while 10,000 records wait, and continues after them', async () => {
  await gateway.start(
    gateway.source('mqtt-devices', { deliveryTimeoutS: '3600' }, 'old'),
    node('old', 'helper', {})
  );
  /** @type {object[]} */
  const kept = [];
  const dones = [];
  helper.getNode('old').on('input', (msg, _send, done) => {
    kept.push(msg);
    dones.push(done);
  });
  let acknowledged = 0;
  for (let i = 0; i < 14; i++) {
    const client = await gateway.device();
    for (let n = 0; n < 1000; n++) client.publish('t', 'x', { qos: 1 }, (error) => !error && acknowledged++);
  }
  const waiting = () => host().engine.stats().deferredRecords;
  const slow = async (/** @type {() => boolean} */ condition) => {
    for (let i = 0; i < 1500 && !condition(); i++) await turns(10);
    expect(condition()).toBe(true);
  };
  await slow(() => waiting() >= 10000);
  await turns(500);
  // One read of 16 KiB holds up to 2,340 of these records.
  expect(waiting()).toBeLessThan(12400);
  expect(acknowledged).toBe(0);
  const timer = setInterval(() => dones.splice(0).forEach((done) => done()), 20);
  await slow(() => acknowledged === 14000);
  clearInterval(timer);
  expect(waiting()).toBe(0);
}, 120000);

test('follows an http request node', async () => {
  const child = new Child(process.execPath, ['test/system/deliveries/http-request.js'], {
    name: 'http request',
    cwd: root
  });
  await child.exited;
  expect(child.output).toContain('[["ok"],"waits","acknowledged"]');
}, 60000);
