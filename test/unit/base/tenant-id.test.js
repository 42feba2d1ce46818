'use strict';

const { idByRule, isTenant, splitName, tenantId } = require('../../../nodes/lib/base/tenant-id');

test.each(['a', 'acme', 'a-b', '0', `a${'b'.repeat(31)}`])('takes %j as a tenant', (name) => {
  expect(isTenant(name)).toBe(true);
});

test.each(
  [
    ['', '-a', 'a-', 'A', 'a:b', 'a/b', 'a b', 'ä', 'a\n', 'a\0', '..', 'a'.repeat(33), null, 5, {}].map(
      (name) => [name]
    )
  ].flat()
)('refuses %j as a tenant', (name) => {
  expect(isTenant(name)).toBe(false);
});

test('makes no id that is empty, too long or without a tenant', () => {
  expect(tenantId('acme', 'pump-1')).toBe('acme:pump-1');
  expect(tenantId('acme', 'other:x')).toBe('acme:other:x');
  expect(tenantId('acme', '')).toBe('');
  expect(tenantId('', 'pump-1')).toBe('');
  expect(tenantId('Acme', 'pump-1')).toBe('');
  expect(tenantId('acme', 'x'.repeat(251))).toHaveLength(256);
  expect(tenantId('acme', 'x'.repeat(252))).toBe('');
  expect(tenantId('acme', 'ä'.repeat(126))).toBe('');
});

test('splits a name at its first slash', () => {
  expect(splitName('acme/pump-1')).toEqual({ tenant: 'acme', device: 'pump-1' });
  expect(splitName('acme/a/b')).toEqual({ tenant: 'acme', device: 'a/b' });
  for (const name of ['acme', '/pump-1', 'Acme/pump-1', 'acme:x/pump-1', '']) {
    expect(splitName(name)).toEqual({ tenant: '', device: name });
  }
});

const rule = (from, name = '') => ({ from, name });

test('keeps the id without a rule', () => {
  expect(idByRule(rule('none'), { device: 'other:x' })).toBe('other:x');
  expect(idByRule(rule('none'), { user: 'pump-1' })).toBe('pump-1');
});

test('puts each device of a port into its tenant', () => {
  expect(idByRule(rule('port', 'acme'), { device: 'pump-1' })).toBe('acme:pump-1');
  expect(idByRule(rule('port', 'acme'), { device: 'other:pump-1' })).toBe('acme:other:pump-1');
});

test('takes the tenant from the user, whatever the client id says', () => {
  expect(idByRule(rule('user'), { user: 'acme/pump-1' })).toBe('acme:pump-1');
  expect(idByRule(rule('user'), { user: 'acme/x', device: 'other:pump-1' })).toBe('acme:other:pump-1');
  expect(idByRule(rule('user'), { user: 'acme/x', device: 'other/pump-1' })).toBe('acme:other/pump-1');
  expect(idByRule(rule('user'), { user: 'acme/x', device: 'acme/x' })).toBe('acme:acme/x');
  expect(idByRule(rule('user'), { user: 'x', device: 'acme:pump-1' })).toBe('');
  expect(idByRule(rule('user'), { user: 'acme:pump-1' })).toBe('');
  expect(idByRule(rule('user'), { user: 'acme/' })).toBe('');
  expect(idByRule(rule('user'), { user: '', device: 'acme/pump-1' })).toBe('');
});

test('takes the tenant from the organization of a certificate', () => {
  expect(idByRule(rule('certificate'), { device: 'pump-1', organization: 'acme' })).toBe('acme:pump-1');
  expect(idByRule(rule('certificate'), { device: 'acme:pump-1' })).toBe('');
  expect(idByRule(rule('certificate'), { device: 'pump-1', organization: 'Acme Inc.' })).toBe('');
});

test('takes the tenant from the identity of a key', () => {
  expect(idByRule(rule('psk'), { device: 'acme/pump-1' })).toBe('acme:pump-1');
  expect(idByRule(rule('psk'), { device: 'acme:pump-1' })).toBe('');
});
