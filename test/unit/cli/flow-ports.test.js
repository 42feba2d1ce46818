'use strict';
// The ports that a flow opens, for the checks of the gateway's command and of its service.

const { wantedPorts } = require('../../../flows/cli/flow-ports');

const env = { SEGANET_EDITOR_PORT: 'off', MY_PORT: '8081' };
const cloud = (more) => ({
  ...{ id: 'c1', type: 'seganet-ocf-cloud', z: 'tab', name: 'plant', transport: 'tls' },
  ...{ host: '0.0.0.0', port: '5684', httpHost: '127.0.0.1', httpPort: '8080', ...more }
});
const ports = (...flow) => wantedPorts(flow, env);

test('has both ports of an ocf cloud, the second only if it has one', () => {
  expect(ports(cloud())).toEqual([
    { host: '0.0.0.0', port: 5684, protocol: 'tcp', what: 'the node plant' },
    { host: '127.0.0.1', port: 8080, protocol: 'tcp', what: 'HTTP of the node plant' }
  ]);
  expect(ports(cloud({ httpPort: '' })).map(({ port }) => port)).toEqual([5684]);
  expect(ports(cloud({ httpPort: undefined })).map(({ port }) => port)).toEqual([5684]);
});

test('replaces variables, and leaves out what is not a fixed port', () => {
  expect(ports(cloud({ httpPort: '${MY_PORT}' })).map(({ port }) => port)).toEqual([5684, 8081]);
  for (const httpPort of ['0', 'x', '70000', '-1', '${NONE}'])
    expect([httpPort, ports(cloud({ httpPort })).map(({ port }) => port)]).toEqual([httpPort, [5684]]);
});

test('leaves out nodes and tabs that are disabled', () => {
  expect(ports(cloud({ d: true }))).toEqual([]);
  expect(ports({ id: 'tab', type: 'tab', disabled: true }, cloud())).toEqual([]);
  expect(ports({ id: 'tab', type: 'tab' }, cloud({ name: '' }))).toEqual([
    expect.objectContaining({ what: 'the node c1' }),
    expect.objectContaining({ what: 'HTTP of the node c1' })
  ]);
});
