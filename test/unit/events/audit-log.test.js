'use strict';

const { auditHandler } = require('../../../nodes/lib/events');

const AUDIT = 98;

/** @param {object[]} messages of Node-RED */
function take(messages) {
  const [lines, wrong] = [[], []];
  const handler = auditHandler({
    level: AUDIT,
    add: (line) => lines.push(line),
    wrongLogin: (user) => wrong.push(user)
  });
  for (const message of messages) handler.emit('log', { level: AUDIT, ...message });
  return { lines, wrong };
}

test('keeps who changed what, and from where', () => {
  const user = { username: 'ada', permissions: '*' };
  const { lines } = take([
    { event: 'flows.set', type: 'full', user, ip: '192.0.2.7', path: '/flows' },
    { event: 'auth.login', username: 'bob', user: { username: 'bob' }, client: 'node-red-admin', scope: '' },
    { event: 'seganet.dead-letters.send', engine: 'gw', sent: 3, user, ip: '::1' }
  ]);
  expect(lines).toEqual([
    { user: 'ada', address: '192.0.2.7', what: 'flows.set', detail: 'type: full' },
    { user: 'bob', address: '', what: 'auth.login', detail: 'client: node-red-admin, scope: ' },
    { user: 'ada', address: '::1', what: 'seganet.dead-letters.send', detail: 'engine: gw, sent: 3' }
  ]);
});

test('ignores what changes nothing, what failed, and all that is no audit message', () => {
  const { lines, wrong } = take([
    { event: 'flows.get' },
    { event: 'flow.update', error: 'not_found' },
    { event: 'nodes.list.get' },
    { level: 40, msg: 'flows.set', event: 'flows.set' },
    { event: 7 },
    { event: 'auth.login.fail.credentials', username: 'eve' }
  ]);
  expect([lines, wrong]).toEqual([[], ['eve']]);
});

test('cuts long texts', () => {
  const { lines } = take([{ event: 'flows.set', type: 'x'.repeat(9999), username: 'u'.repeat(9999) }]);
  expect(JSON.stringify(lines).length).toBeLessThan(900);
});
