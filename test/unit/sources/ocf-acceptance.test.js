'use strict';
// The acceptance list against the control plane, over a test transport.

const { acceptance } = require('../../fixtures/ocf/acceptance');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');

describe('the control plane', () => acceptance(() => startControlPlane()));
