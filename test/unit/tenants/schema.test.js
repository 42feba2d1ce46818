'use strict';
// The keeper's check of a tenants file; the gateway's is run against the same files.

const { VALID, INVALID } = require('../../fixtures/tenants/files');
const { parseTenants } = require('../../../docker/tenants/lib/file/schema');

test.each(VALID)('accepts %s', (_, text) => {
  expect(Array.isArray(parseTenants(text))).toBe(true);
});

test.each(INVALID)('refuses %s and names the place', (_, text, place) => {
  expect(() => parseTenants(text)).toThrow(place);
});

test('fills in the standards', () => {
  expect(parseTenants('{"version":1,"tenants":[{"name":"acme","driver":"process"}]}')).toEqual([
    {
      name: 'acme',
      driver: 'process',
      image: '',
      command: [],
      port: 1883,
      http: 0,
      tcp: 0,
      limits: {
        memoryMiB: 256,
        cpus: 1,
        pids: 128,
        files: 4096,
        volumeMiB: 1024,
        writeMiBps: 32,
        rate: 0,
        waitingMiB: 64
      },
      idleMs: 600000,
      stopMs: 3600000,
      warm: true,
      always: false
    }
  ]);
});
