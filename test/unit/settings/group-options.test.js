'use strict';

// How the classes are divided into sessions, and the options of the sessions' sockets.

const { checkOptions } = require('../../../nodes/lib/settings/uplink-options');
const { parseGroups } = require('../../../nodes/lib/settings/group-options');

const check = (options) => checkOptions({ url: 'mqtts://x', gateway: 'g', ...options }, 'native');

test.each([
  [undefined, [[1, 2], [3, 4, 5, 6, 7, 8]]], // prettier-ignore
  ['', [[1, 2], [3, 4, 5, 6, 7, 8]]], // prettier-ignore
  ['1,2/3,4', [[1, 2], [3, 4, 5, 6, 7, 8]]], // prettier-ignore
  ['all', [[1, 2, 3, 4, 5, 6, 7, 8]]],
  [' All ', [[1, 2, 3, 4, 5, 6, 7, 8]]],
  ['1/2/3,4', [[1], [2], [3, 4, 5, 6, 7, 8]]],
  ['1 , 3 / 2', [[1, 3], [2, 4, 5, 6, 7, 8]]], // prettier-ignore
  ['1/2/3/4/5/6/7/8', [[1], [2], [3], [4], [5], [6], [7], [8]]],
  ['2,1', [[1, 2, 3, 4, 5, 6, 7, 8]]],
  [[[1], [2, 4]], [[1], [2, 3, 4, 5, 6, 7, 8]]] // prettier-ignore
])('reads %j as the groups %j', (entered, groups) => expect(parseGroups(entered)).toEqual(groups));

test.each([
  ['1,2/2', /names class 2 twice/],
  ['1/9', /has '9' where a class is expected/],
  ['0/1', /has '0'/],
  ['1//2', /has '' where/],
  ['1,', /has '' where/],
  ['critical', /has 'critical'/],
  ['1.5', /has '1.5'/],
  ['3,4/1,2', /does not begin with the group of the most urgent class/],
  ['2/3', /does not begin/],
  [[[1], []], /has '' where/]
])('refuses %j with a sentence that shows the form', (entered, sentence) => {
  expect(() => parseGroups(entered)).toThrow(sentence);
  expect(() => parseGroups(entered)).toThrow(/separated by \/, most urgent first: 1,2\/3,4, or all/);
});

test('numbers the client ids of several sessions, and uses the plain one for one session', () => {
  expect(check({}).clientIds).toEqual(['g-1', 'g-2']);
  expect(check({ groups: '1/2/3', clientId: 'gw' }).clientIds).toEqual(['gw-1', 'gw-2', 'gw-3']);
  expect(check({ groups: 'all' }).clientIds).toEqual(['g']);
});

const plan = (priority, dscp, notSentLowat, sendBuffer = 0) => ({ priority, dscp, notSentLowat, sendBuffer });

test.each([
  ['all', [plan(0, 0, 16384)]],
  ['1,2/3', [plan(6, 46, 0), plan(0, 0, 16384)]],
  ['1/2/3', [plan(6, 46, 0), plan(0, 0, 16384), plan(2, 0, 16384)]]
])('sets the sockets of %s by default', (groups, sockets) => {
  expect(check({ groups, priority: '', dscp: '' }).sockets).toEqual(sockets);
});

test('applies a list entry to its session, and defaults to omitted ones', () => {
  const { sockets } = check({ groups: '1/2/3', priority: '5,,1', dscp: ',8', sendBuffer: '0, 0, 32768' });
  expect(sockets).toEqual([plan(5, 46, 0), plan(0, 8, 16384), plan(1, 0, 16384, 32768)]);
});

test.each([
  [{ priority: '7' }, /priority is 7; each must be a whole number from 0 to 6/],
  [{ dscp: '46,64' }, /dscp is 46,64; each must be a whole number from 0 to 63/],
  [{ notSentLowat: '-1' }, /notSentLowat is -1/],
  [{ sendBuffer: 'much' }, /sendBuffer is much/],
  [{ priority: '6,0,2' }, /there are 2 sessions, so it must have at most 2/],
  [{ groups: 'all', dscp: '0,0' }, /there is one session/],
  [{ reserve: 2 }, /reserve is 2; it must be from 0 to 1/]
])('refuses %j with a sentence', (wrong, sentence) => expect(() => check(wrong)).toThrow(sentence));

test('reserves a quarter unless something else is entered', () => {
  expect(check({}).reserve).toBe(0.25);
  expect(check({ reserve: '0' }).reserve).toBe(0);
});
