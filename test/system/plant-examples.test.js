'use strict';
// The examples of examples/devices that need packages of others: Modbus and OPC UA, against servers with the registers
// and variables of such devices.

const { Child } = require('../../bench/harness/child');
const { freePort } = require('../../bench/harness/net');
const { needs } = require('../../bench/harness/tools');
const { CONTROLS, ModbusSite } = require('../fixtures/devices/market/modbus');
const { Examples, contribTools } = require('../fixtures/gateway/examples');

const { describe } = needs('mosquitto', ...contribTools());
jest.setTimeout(60000);

describe('the example', () => {
  /** @type {Examples} */
  let examples;
  /** @type {Child} */
  let server;
  let serverPort = 0;
  beforeAll(async () => {
    serverPort = await freePort();
    const program = require.resolve('../fixtures/devices/market/opcua');
    const { SEGANET_CONTRIB = '' } = process.env;
    server = new Child(process.execPath, [program, String(serverPort), SEGANET_CONTRIB], {
      name: 'OPC UA server'
    });
    examples = await Examples.start(['node-red-contrib-modbus', 'node-red-contrib-opcua']);
  });
  afterAll(async () => {
    await server?.stop('SIGTERM', 5000);
    expect(await examples?.close()).toBe(0);
  });

  test('Modbus meters: SunSpec models are found at both bases, an SDM630 is read, and a limit is written', async () => {
    const port = await freePort();
    const site = new ModbusSite(port);
    try {
      await examples.deploy('Modbus meters', {
        '"tcpPort":"502"': `"tcpPort":"${port}"`,
        "map: 'sdm630' }": "map: 'sdm630' }, { id: 'grid', unit: 3, map: 'sunspec' }"
      });
      const about = await examples.record('inverter-1', 'modbus/inverter-1/about');
      expect(about.p).toEqual({
        manufacturer: 'Fronius',
        model: 'Symo 8.2-3-M',
        version: '3.17',
        serial: '29301234'
      });
      expect((await examples.record('inverter-1', 'modbus/inverter-1/values')).p).toEqual({
        ...{ currentA: 35.6, voltageL1V: 230.1, voltageL2V: 230.2, powerW: 8190, frequencyHz: 49.98 },
        ...{ powerFactorPercent: -99.5, energyWh: 65537, cabinetC: 41.5, state: 4 }
      });
      expect((await examples.record('grid', 'modbus/grid/values')).p).toEqual({
        ...{ currentA: -15.2, voltageL1V: 229.9, voltageL2V: 230, voltageL3V: 230.1, frequencyHz: 50 },
        ...{ powerW: -3450, powerFactorPercent: 0.98, exportWh: 1200, importWh: 65536 }
      });
      expect((await examples.record('meter-1', 'modbus/meter-1/values')).p).toMatchObject({
        ...{ voltageL1V: 230.25, currentL1A: 1.5, powerW: 1234.5, powerFactor: 0.97, frequencyHz: 50.01 },
        ...{ importKwh: 4711.125, exportKwh: 12.5 }
      });
      await examples.command('inverter-1', 'limit', '70');
      expect((await examples.record('inverter-1', 'modbus/inverter-1/limit')).p).toEqual({
        limitPercent: 70
      });
      expect(site.written[0]).toBe(`1/${CONTROLS + 5}=7000,1,2,3,1`);
    } finally {
      await site.close();
    }
  });

  test('OPC UA: good values, the name of a failed one, and a setpoint that is written and read', async () => {
    await server.until((output) => /^ready$/m.test(output), 30000);
    await examples.deploy('OPC UA', { ':4840': `:${serverPort}` });
    const { p } = await examples.record('press-1', 'opcua/press-1');
    expect(p).toEqual({ pressureBar: 4.25, setpointBar: 5, bad: ['temperatureC: BadSensorFailure'] });
    await examples.command('press-1', 'setpointBar', '6.5');
    const written = await examples.record('press-1', 'opcua/press-1/written');
    expect(written.p).toEqual({ setpointBar: 6.5, status: 'Good' });
    await examples.record('press-1', 'opcua/press-1', ({ setpointBar }) => setpointBar === 6.5);
    await examples.command('press-1', 'pressureBar', '9');
    await examples.nodeRed.shows('why', /"pressureBar" is not in the list/);
  });
});
