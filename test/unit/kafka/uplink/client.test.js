'use strict';

const { isSupported, loadClient } = require('../../../../nodes/lib/kafka/uplink/client');

test.each([
  ['20.20.2', false],
  ['22.16.0', false],
  ['22.22.0', true],
  ['24.5.0', false],
  ['24.6.0', true],
  ['26.0.0', true]
])('knows whether the client supports Node.js %s', (version, supported) =>
  expect(isSupported(version)).toBe(supported)
);

test('explains an old Node.js, a missing package and a broken one', () => {
  const missing = Object.assign(new Error("Cannot find module '@platformatic/kafka'"), {
    code: 'MODULE_NOT_FOUND'
  });
  const load = (/** @type {Error} */ error) => () => {
    throw error;
  };
  expect(() => loadClient({ version: '22.16.0' })).toThrow(/22\.22 or newer, or 24\.6.*22\.16\.0/);
  expect(() => loadClient({ load: load(missing) })).toThrow(
    /^Kafka needs the package @platformatic\/kafka: run "npm install @platformatic\/kafka@\S+" in \S+, then restart\.$/
  );
  expect(() => loadClient({ load: load(new Error('syntax')) })).toThrow(/does not load \(syntax\)/);
});

test('names the version that the tests use', () => {
  const { devDependencies } = require('../../../../package.json');
  const missing = Object.assign(new Error("Cannot find module '@platformatic/kafka'"), {
    code: 'MODULE_NOT_FOUND'
  });
  const load = () => {
    throw missing;
  };
  expect(() => loadClient({ load })).toThrow(`@platformatic/kafka@${devDependencies['@platformatic/kafka']}`);
});
