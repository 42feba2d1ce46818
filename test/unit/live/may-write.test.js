'use strict';

const { mayWrite } = require('../../../nodes/lib/live/may-write');

test.each([
  [true, {}],
  [true, { user: {}, authInfo: { scope: '*' } }],
  [true, { user: {}, authInfo: { scope: ['seganet.read', 'seganet.write'] } }],
  [true, { user: {}, authInfo: { scope: 'seganet.read seganet.write' } }],
  [true, { user: {}, authInfo: { scope: ['write'] } }],
  [false, { user: {}, authInfo: { scope: 'read' } }],
  [false, { user: {}, authInfo: { scope: ['seganet.read', 'flows.write'] } }],
  [false, { user: {}, authInfo: { scope: [] } }],
  [false, { user: {} }]
])('may write is %s for %j', (wanted, request) => {
  expect(mayWrite(/** @type {any} */ (request))).toBe(wanted);
});
