'use strict';

const { mayWrite, needsWrite } = require('../../../nodes/lib/base/permission');

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

describe('a change', () => {
  const audited = [];
  /** @param {object | null} login null: none is given, and one is needed */
  const passes = (login, refuse = undefined) => {
    const asked = [];
    const RED = {
      auth: {
        needsPermission: (permission) => (request, response, next) => {
          asked.push(permission);
          if (login) next();
          else response.status(401);
        }
      },
      log: { audit: (entry) => audited.push(entry) }
    };
    const answer = { status: 0, body: null, isPassed: false };
    const response = {
      status: (code) => ((answer.status = code), response),
      json: (body) => (answer.body = body)
    };
    needsWrite(/** @type {any} */ (RED), refuse)({ ...login }, response, () => (answer.isPassed = true));
    expect(asked).toEqual(['']);
    return answer;
  };

  test('needs a login', () => expect(passes(null)).toEqual({ status: 401, body: null, isPassed: false }));

  test('passes for a login that may write, and without logins', () => {
    for (const login of [{}, { user: {}, authInfo: { scope: 'seganet.write' } }])
      expect(passes(login)).toMatchObject({ status: 0, isPassed: true });
    expect(audited).toEqual([]);
  });

  test('is forbidden for a login that may only read, with the reason, and is audited', () => {
    const login = { user: {}, authInfo: { scope: 'seganet.read' } };
    expect(passes(login)).toEqual({
      status: 403,
      body: { error: expect.stringContaining('permission seganet.write') },
      isPassed: false
    });
    expect(audited).toEqual([{ event: 'permission.fail', permissions: 'seganet.write' }]);
    const told = [];
    passes(login, (_response, sentence) => told.push(sentence));
    expect(told).toEqual([expect.stringContaining('may only read')]);
  });
});
