'use strict';
// The names under which a directory without a login may be asked.

const { hostCheck } = require('../../../nodes/lib/directory/host-names');

const check = hostCheck(['gateway.example.org', 'Proxy.Example.org:8443'], () => 'Plant-7.factory.example');

describe('a request without a login', () => {
  test.each([
    ['127.0.0.1:1880'],
    ['10.0.0.7'],
    ['[::1]:1880'],
    ['[fd00::7]'],
    ['localhost:1880'],
    ['LocalHost.'],
    ['plant-7.factory.example:1880'],
    ['plant-7'],
    ['PLANT-7.local:1880'],
    ['gateway.example.org'],
    ['gateway.example.org:443'],
    ['gateway.example.org.'],
    ['proxy.example.org'],
    [undefined]
  ])('is answered at %p', (host) => expect(check({ host })).toBe(''));

  test.each([
    ['evil.example'],
    ['evil.example:1880'],
    ['localhost.evil.example'],
    ['127.0.0.1.evil.example'],
    ['plant-7.evil.example'],
    ['evil.local'],
    ['127.0.0.1@evil.example'],
    ['evil.gateway.example.org'],
    ['local'],
    [''],
    [' '],
    ['[::1'],
    ['a\0b'],
    ['x'.repeat(70000)]
  ])('is refused at %p', (host) => expect(check({ host })).toContain('seganetFindHosts'));

  test('is refused by its Host, whatever X-Forwarded-Host says', () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': '127.0.0.1', origin: 'http://evil.example' };
    expect(check(headers)).toBe(
      'Without a login, the directory is at IP addresses, localhost, the name of this machine and the names in seganetFindHosts only, not at "evil.example". Add this name to seganetFindHosts in Node-RED\'s settings.js, or set a login (adminAuth).'
    );
  });

  test('is refused at an empty name of the machine', () =>
    expect(hostCheck(undefined, () => '')({ host: '.local' })).not.toBe(''));
});

describe('the setting', () => {
  test.each([[undefined], [null], [''], [[]]])('allows no other name if it is %p', (setting) =>
    expect(hostCheck(setting)({ host: 'gateway.example.org' })).not.toBe('')
  );

  test('may be one text with commas', () => {
    const named = hostCheck(' a.example, b.example:1880,');
    expect(['a.example', 'b.example', 'c.example'].map((host) => named({ host }) === '')).toEqual([
      true,
      true,
      false
    ]);
  });

  test.each([[{}], [7], [['*.example.org']], [['https://a.example']], [[7]], [['a b']]])(
    'is refused with a sentence if it is %p',
    (setting) => expect(() => hostCheck(setting)).toThrow(/seganetFindHosts must/)
  );
});
