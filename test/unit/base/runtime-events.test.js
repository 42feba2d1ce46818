'use strict';

const { EventEmitter } = require('node:events');
const { onRuntimeEvent } = require('../../../nodes/lib/base/runtime-events');
const { watchStatuses } = require('../../../flows/launcher/watch');

test('reports a listener that throws; neither the emitter nor other listeners notice it', () => {
  const events = new EventEmitter();
  const report = jest.fn();
  const other = jest.fn();
  const remove = onRuntimeEvent(
    events,
    'flows:started',
    () => {
      throw new Error('broken');
    },
    report
  );
  events.on('flows:started', other);
  expect(() => events.emit('flows:started')).not.toThrow();
  expect(report.mock.calls).toEqual([
    [
      expect.stringMatching(
        /^The handler of the Node-RED event "flows:started" failed \(broken\)\. Please report/
      )
    ]
  ]);
  expect(other).toHaveBeenCalledTimes(1);
  remove();
  events.emit('flows:started');
  expect(report).toHaveBeenCalledTimes(1);
});

test('lets the launcher take a node status of any shape', () => {
  const logged = jest.spyOn(console, 'log').mockImplementation(() => {});
  const errors = jest.spyOn(console, 'error').mockImplementation(() => {});
  const events = new EventEmitter();
  const nodes = { getNode: () => ({ type: 'seganet-uplink' }), eachNode: () => {} };
  watchStatuses({ events, nodes }, () => {});
  const shapes = [{ id: 'u' }, { id: 'u', status: null }, { id: 'u', status: 'text' }, {}];
  for (const shape of shapes) expect(() => events.emit('node-status', shape)).not.toThrow();
  expect(errors.mock.calls).toEqual([]);
  // Not even these: the guard states its own error.
  for (const shape of [null, undefined, { id: 'u', status: { fill: 'red', text: 5 } }])
    expect(() => events.emit('node-status', shape)).not.toThrow();
  logged.mockRestore();
  errors.mockRestore();
});

test('the launcher shows the whole reason of an uplink to a broker and to Kafka', () => {
  const logged = jest.spyOn(console, 'log').mockImplementation(() => {});
  const events = new EventEmitter();
  const configs = [
    { id: 'u', type: 'seganet-uplink', broker: 'b' },
    { id: 'k', type: 'seganet-kafka-uplink', cluster: 'c' }
  ];
  const links = {
    b: { state: 'refused', reason: 'not authorized' },
    c: { state: 'waiting', reason: 'no answer' }
  };
  const nodes = {
    getNode: (id) => configs.find((config) => config.id === id) ?? { link: { state: links[id] } },
    eachNode: (fn) => configs.forEach(fn)
  };
  watchStatuses({ events, nodes }, () => {});
  for (const { id } of configs) events.emit('node-status', { id, status: { fill: 'red', text: 'not' } });
  const lines = logged.mock.calls.flat().join('\n');
  logged.mockRestore();
  expect(lines).toContain('uplink: refused: not authorized');
  expect(lines).toContain('uplink: waiting: no answer');
});
