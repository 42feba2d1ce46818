'use strict';
// Criteria that tests of the overlay program prove: which, the command, and its result.

const fs = require('node:fs');
const path = require('node:path');
const { Child } = require('../harness/child');
const { FOLDER, findGo } = require('../../native/overlay/go');
const { goEnv } = require('./network/programs');

const LIMIT_MS = 900_000;
const INTERNAL = path.join(FOLDER, 'internal');

/**
 * Packages below native/overlay/internal, and tests.
 * @type {Record<number, { packages: string[], tests: string[] }>}
 */
const proofs = {
  12: { packages: ['engine'], tests: ['TestPacketsStayInOrder', 'TestOrderHoldsOnEachPath'] },
  13: { packages: ['engine'], tests: ['TestAReplayedPacketIsDeliveredOnce'] },
  14: {
    packages: ['node', 'serve'],
    tests: [
      'TestARevokedNodeIsCutOffWithinASecond',
      'TestRevocationsAreRequestedWhileTheNodeServicesAreDown',
      'TestARevocationReachesEveryNodeWithinASecond'
    ]
  },
  15: {
    packages: ['serve'],
    tests: ['TestALyingNodeServiceIsDetected', 'TestALyingNodeServiceCannotForgeDocuments']
  },
  16: {
    packages: ['node', 'paths'],
    tests: [
      'TestARestartedNodeComesBackWhileTheServicesAreDown',
      'TestSessionsContinueWhileTheServicesAreDown'
    ]
  },
  23: {
    packages: ['policy', 'engine', 'stack'],
    tests: [
      'TestNewFlows',
      'TestDevicesHaveTheirOwnGroupsAndPorts',
      'TestAStrangersAddressAndKeyAreRefused',
      'TestUnofferedPortsAreRefused'
    ]
  },
  24: {
    packages: ['nodes', 'relay', 'serve', 'bind', 'control'],
    tests: [
      'TestMalformedSignallingEndsOnlyItsConnection',
      'TestAFloodIsBounded',
      'TestRubbishDoesNotStopTheRelay',
      'TestForeignClientsGetNothing',
      'TestSTUNIsDistinguishedFromWireGuard',
      'TestParse'
    ]
  }
};

/** @param {number} criterion @returns {string[]} those that this version has */
function testsOf(criterion) {
  const { packages, tests } = proofs[criterion];
  const text = packages
    .map((name) => path.join(INTERNAL, name))
    .flatMap((folder) => fs.readdirSync(folder).map((file) => path.join(folder, file)))
    .filter((file) => file.endsWith('_test.go'))
    .map((file) => fs.readFileSync(file, 'utf8'))
    .join('\n');
  return tests.filter((name) => text.includes(`\nfunc ${name}(`));
}

/** @param {number} criterion @returns {string[]} arguments of go */
function argumentsOf(criterion) {
  const { packages } = proofs[criterion];
  const tests = testsOf(criterion);
  return [
    'test',
    '-count=1',
    '-v',
    '-run',
    `^(${tests.join('|')})$`,
    ...packages.map((each) => `./internal/${each}`)
  ];
}

/** @param {number} criterion @returns {string} for a shell; '' = no test */
const proofCommand = (criterion) =>
  proofs[criterion]
    ? `cd native/overlay && go ${argumentsOf(criterion)
        .map((each) => (/[|(]/.test(each) ? `'${each}'` : each))
        .join(' ')}`
    : '';

/**
 * Counts tests, not their parts.
 * @param {string} output of go test -v
 */
function readTests(output) {
  const count = (/** @type {string} */ word) =>
    [...output.matchAll(new RegExp(`^--- ${word}: `, 'gm'))].length;
  return { passed: count('PASS'), failed: count('FAIL'), skipped: count('SKIP') };
}

/** @param {number} criterion */
async function prove(criterion) {
  const child = new Child(findGo(), argumentsOf(criterion), {
    name: `tests of criterion ${criterion}`,
    cwd: FOLDER,
    env: goEnv()
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), LIMIT_MS);
  const { code } = await child.exited;
  clearTimeout(timer);
  const found = readTests(child.output);
  if (found.passed + found.failed + found.skipped === 0 || (code !== 0 && found.failed === 0)) {
    throw new Error(`The tests did not run: ${child.output.slice(-2000)}`);
  }
  const wanted = testsOf(criterion).length;
  return { ...found, missing: Math.max(0, wanted - found.passed - found.failed - found.skipped) };
}

module.exports = { proofCommand, proofs, prove, readTests, testsOf };
