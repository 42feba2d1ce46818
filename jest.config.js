'use strict';

/** System suites that tell in a minute that the product works: `npm test` runs them, too. */
const SMOKE = ['gateway', 'front-gateway', 'http-devices', 'coap-clients'];

/** Suites of other folders that take eight seconds or more: they run with the system suites. */
const LONG = [
  'editor/dead-letters',
  'editor/dialogs',
  'editor/directory-page',
  'editor/editor',
  'editor/events',
  'editor/german',
  'editor/network-forecast',
  'editor/newcomer',
  'editor/overlay-services',
  'editor/page-looks',
  'editor/protocols',
  'editor/scenarios',
  'editor/status-page',
  'editor/tenant-templates',
  'editor/tenants',
  'native/build',
  'nodes/command-acks',
  'nodes/deliveries',
  'nodes/devices',
  'nodes/events',
  'nodes/find',
  'nodes/overlay',
  'nodes/plan-random',
  'nodes/tenants',
  'runtime/capabilities',
  'runtime/dead-letters',
  'runtime/events',
  'runtime/deploys',
  'runtime/gateway-backup',
  'runtime/gateway-backup-files',
  'runtime/gateway-command',
  'runtime/gateway-install',
  'runtime/health',
  'runtime/live',
  'runtime/metrics',
  'runtime/old-node',
  'runtime/overlay-command',
  'runtime/package',
  'runtime/root-commands',
  'runtime/root-commands-work',
  'runtime/service-manager',
  'runtime/start',
  'runtime/tenants-command',
  'runtime/values',
  'unit/live/status-server',
  'unit/ocf/accounts-command',
  'unit/ocf/postgres',
  'unit/tenants/backup',
  'unit/tenants/restore',
  'unit/tls/tls-files',
  'unit/uplink/blackhole',
  'unit/uplink/compression/compression',
  'unit/uplink/connection-stream',
  'unit/uplink/express-ends',
  'unit/uplink/express-leaves',
  'unit/uplink/refusals',
  'unit/uplink/refused/close-reasons',
  'unit/uplink/refused/quota-broker',
  'unit/uplink/refused/quota-order',
  'unit/uplink/sessions',
  'unit/uplink/stalls/stall',
  'unit/uplink/unwanted-brokers',
  'unit/uplink/unwanted-records',
  'unit/uplink/uplink-limits',
  'unit/uplink/uplink-thread',
  'unit/uplink/uplink-tls'
];

/** @type {import('jest').Config} */
const common = {
  testEnvironment: '<rootDir>/test/environment.js',
  // Node runs every file as it is. Babel would only hoist jest.mock(), which therefore stands before what it replaces.
  transform: {},
  modulePathIgnorePatterns: ['<rootDir>/native/out/', '<rootDir>/native/build/']
};
const ignored = ['/node_modules/'];
const smoke = SMOKE.map((name) => `<rootDir>/test/system/${name}.test.js`);
const long = LONG.map((name) => `<rootDir>/test/${name}.test.js`);

/** @type {import('jest').Config} */
module.exports = {
  // System tests start gateways and brokers of their own: more at once than cores only makes deadlines fail.
  maxWorkers: 2,
  // Jest takes no notice of it in a project.
  testTimeout: 30000,
  projects: [
    {
      ...common,
      displayName: 'quick',
      testMatch: ['<rootDir>/test/{unit,native,nodes,runtime,editor}/**/*.test.js', ...smoke],
      testPathIgnorePatterns: [...ignored, ...long]
    },
    {
      ...common,
      displayName: 'system',
      testMatch: ['<rootDir>/test/system/**/*.test.js', ...long],
      testPathIgnorePatterns: [...ignored, ...smoke]
    }
  ]
};
