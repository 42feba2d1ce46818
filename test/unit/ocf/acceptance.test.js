'use strict';
// The acceptance list against the control plane, over a test transport.

const { acceptance } = require('../../fixtures/ocf/acceptance');
const { edges } = require('../../fixtures/ocf/acceptance-edges');
const { hostile } = require('../../fixtures/ocf/acceptance-hostile');
const { startControlPlane } = require('../../fixtures/ocf/control-plane');

jest.setTimeout(120000);

describe('the control plane, with its store in a thread', () =>
  acceptance(() => startControlPlane({}, { isThreaded: true })));

describe('the control plane at its edges', () =>
  edges((options) => startControlPlane(options, { isThreaded: true })));

describe('the control plane and hostile clients', () =>
  hostile(() => startControlPlane(), { rounds: 300, seed: Number(process.env.SEGANET_SEED ?? 1) }));
