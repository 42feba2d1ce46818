'use strict';

const { DeviceTopics } = require('../../../nodes/lib/commands/device-topics');
const { parseCommandTopics } = require('../../../nodes/lib/settings/command-topics');

const RULES = 'tasmota_* = cmnd/{device}/{rest}, shelly*={device}/{rest} ,zigbee=zigbee2mqtt/{rest}';

/** @param {string} text */
function topicsOf(text) {
  const topics = new DeviceTopics();
  return { topics, remove: topics.add(parseCommandTopics(text)) };
}

test.each([
  ['tasmota_A1', 'cmd/tasmota_A1/POWER', 'cmnd/tasmota_A1/POWER'],
  ['shellyplus1-08', 'cmd/shellyplus1-08/rpc', 'shellyplus1-08/rpc'],
  ['zigbee', 'cmd/zigbee/lamp/set', 'zigbee2mqtt/lamp/set'],
  ['pump', 'cmd/pump/start', null],
  // A flow that names the whole topic means it.
  ['tasmota_A1', 'cmnd/tasmota_A1/POWER', null],
  ['tasmota_A1', 'cmd/tasmota_A1', null],
  // What replaceAll() would take for a pattern.
  ['tasmota_$&', "cmd/tasmota_$&/$'", "cmnd/tasmota_$&/$'"]
])('gives a command for %s at %s to %s', (device, topic, own) => {
  expect(topicsOf(RULES).topics.of({ device, topic })).toBe(own);
});

test('the first rule that matches applies, and none after its removal', () => {
  const { topics, remove } = topicsOf('*=first/{rest}');
  topics.add(parseCommandTopics('a=second/{rest}'));
  const command = { device: 'a', topic: 'cmd/a/x' };
  expect(topics.of(command)).toBe('first/x');
  remove();
  expect(topics.of(command)).toBe('second/x');
});

test.each([
  ['tasmota', 'must be DEVICES=TOPIC'],
  ['=cmnd/{rest}', 'must be DEVICES=TOPIC'],
  ['a b=cmnd/{rest}', 'must be DEVICES=TOPIC'],
  ['*=cmnd/{device}', 'lacks {rest}'],
  ['*=cmnd/{topic}/{rest}', '{topic}. Use {device}, {rest}.'],
  ['*=cmnd/{/{rest}', 'unmatched brace'],
  ['*=cmnd/#/{rest}', 'contains + or #'],
  [Array(65).fill('*={rest}').join(','), 'there may be 64 at most']
])('refuses %j with a sentence', (text, reason) => {
  expect(() => parseCommandTopics(text)).toThrow(reason);
});

test('takes none from a blank text', () => expect(parseCommandTopics(' , ')).toEqual([]));
