'use strict';

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.js'],
  testPathIgnorePatterns: ['/node_modules/'],
  modulePathIgnorePatterns: ['<rootDir>/native/out/', '<rootDir>/native/build/'],
  testTimeout: 30000,
  // System tests start gateways and brokers of their own: more at once than cores only makes deadlines fail.
  maxWorkers: 2
};
