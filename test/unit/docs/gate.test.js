'use strict';
// The parts of Jest's suites in the gate.

const fs = require('node:fs');
const path = require('node:path');
const filter = require('../../../.ci/parts');

const root = path.join(__dirname, '..', '..', '..');

afterEach(() => delete process.env.CI_PART);

test('the gate runs every suite in one of its parts, and the part of the package names only suites that exist', async () => {
  const suites = fs
    .readdirSync(path.join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => path.join(root, 'test', name));
  /** @param {string} part */
  const partOf = async (part) => {
    process.env.CI_PART = part;
    return (await filter(suites)).filtered;
  };
  const [ofPackage, others] = [await partOf('package'), await partOf('others')];
  expect(ofPackage).toHaveLength(filter.PACKAGE.length);
  expect([...ofPackage, ...others].sort()).toEqual(suites.sort());
});
