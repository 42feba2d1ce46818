'use strict';

const { partSettings, tenantRule } = require('../../../nodes/lib/settings/tenant-rule');

const values = (tenantFrom, more = {}) => ({
  tenantFrom,
  tenantName: '',
  login: 'none',
  clientCert: 'no',
  host: '127.0.0.1',
  ...more
});

test.each([
  ['user', { login: 'passwords' }],
  ['user', { login: 'flow' }],
  ['user', { login: 'tokens', clientCert: undefined }],
  ['user', { login: 'passwords', clientCert: 'required' }],
  ['certificate', { login: 'certificate' }],
  ['certificate', { login: 'none', clientCert: 'required' }],
  ['psk', { login: 'psk' }]
])('takes the tenant from the %s with %j', (from, more) => {
  const rule = tenantRule(values(from, more));
  expect(rule).toEqual({ from, name: '' });
  expect(partSettings(rule)).toEqual({ parted: true });
});

test.each([
  ['user', {}],
  ['user', { login: 'psk' }],
  ['user', { login: 'passwords', clientCert: 'wanted' }],
  ['certificate', {}],
  ['certificate', { clientCert: 'wanted' }],
  ['certificate', { login: 'passwords', clientCert: 'required' }],
  ['certificate', { login: 'psk', clientCert: 'wanted' }],
  ['psk', {}],
  ['psk', { login: 'psk', clientCert: 'wanted' }],
  ['port', {}],
  ['port', { tenantName: 'Acme' }],
  ['port', { tenantName: 'acme', host: '0.0.0.0' }],
  ['port', { tenantName: 'acme', overlay: 'net' }],
  ['port', { tenantName: 'acme', host: '0.0.0.0', allowAnonymous: true }]
])('refuses the tenant from the %s without proof: %j', (from, more) => {
  expect(() => tenantRule(values(from, more))).toThrow(/^[A-Z].*\.$/s);
});

test('gives a port to one tenant', () => {
  const rule = { from: 'port', name: 'acme' };
  expect(tenantRule(values('port', { tenantName: 'acme' }))).toEqual(rule);
  expect(tenantRule(values('port', { tenantName: 'acme', overlay: 'net', login: 'passwords' }))).toEqual(
    rule
  );
  expect(tenantRule(values('port', { tenantName: 'acme', host: '::', login: 'passwords' }))).toEqual(rule);
  expect(partSettings(rule)).toEqual({ parted: true, part: 'acme' });
});

test('has no rule by default', () => {
  const rule = tenantRule(values('none', { tenantName: 'acme' }));
  expect(rule).toEqual({ from: 'none', name: '' });
  expect(partSettings(rule)).toEqual({});
});
