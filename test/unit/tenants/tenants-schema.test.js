'use strict';

const { parseTenants } = require('../../../nodes/lib/tenants/file/tenants-schema');
const { INVALID, VALID } = require('../../fixtures/tenants/files');
const { seeded } = require('../../fixtures/random');

test.each(VALID)('accepts a file with %s', (_name, text) => {
  expect(parseTenants(text)).toEqual(JSON.parse(text).tenants);
  expect(parseTenants(Buffer.from(text))).toHaveLength(JSON.parse(text).tenants.length);
});

test.each(INVALID)('refuses a file with %s, in a sentence', (_name, text) => {
  expect(() => parseTenants(text)).toThrow(RangeError);
  expect(() => parseTenants(text)).toThrow(/\.$/);
});

test('names the tenant and the key', () => {
  const text = JSON.stringify({ version: 1, tenants: [{ name: 'acme', driver: 'process', colour: 'red' }] });
  expect(() => parseTenants(text)).toThrow('Tenant 1 (acme) has the unknown key "colour".');
  const limits = { name: 'acme', driver: 'process', limits: { rate: -1 } };
  expect(() => parseTenants(JSON.stringify({ version: 1, tenants: [limits] }))).toThrow(
    /has the key "limits.rate", which must be a whole number from 0/
  );
});

test('throws nothing but sentences for changed bytes (seeded)', () => {
  const { integer } = seeded(19);
  const base = Buffer.from(VALID[2][1]);
  for (let round = 0; round < 3000; round++) {
    const bytes = Buffer.from(base);
    for (let i = 0; i <= integer(3); i++) bytes[integer(bytes.length)] = integer(256);
    try {
      expect(Array.isArray(parseTenants(bytes.subarray(0, 1 + integer(bytes.length))))).toBe(true);
    } catch (error) {
      expect(error).toBeInstanceOf(RangeError);
    }
  }
});
