'use strict';
// The decoders in examples/devices, with the examples in the documentation of the vendors.

const { functionsOf } = require('../../fixtures/devices/example-function');

/** @param {string} hex */
const bytes = (hex) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

describe('LoRaWAN sensors', () => {
  const EUI = '24e124136b502217';
  /** An uplink as https://www.chirpstack.io/docs/chirpstack/integrations/events.html has it. */
  const uplink = (
    /** @type {string} */ profile,
    /** @type {number} */ fPort,
    /** @type {string} */ hex,
    more = {}
  ) => ({
    deviceId: EUI,
    topic: `application/app-1/device/${EUI}/event/up`,
    payload: Buffer.from(
      JSON.stringify({
        deduplicationId: '3ac7e3c4-4401-4b8d-9386-a5c902f9202d',
        deviceInfo: { applicationId: 'app-1', deviceProfileName: profile, devEui: EUI },
        fPort,
        data: bytes(hex).toString('base64'),
        ...more
      })
    )
  });

  test.each([
    // https://github.com/Milesight-IoT/SensorDecoders: AM100, EM300-TH, EM300-MCS, EM300-SLD.
    [
      ...['Milesight AM107', 85],
      '01 75 5C 03 67 34 01 04 68 65 05 6A 49 00 06 65 1C 00 79 00 14 00 07 7D E7 04 08 7D 07 00 09 73 3F 27',
      {
        ...{
          batteryPercent: 92,
          temperatureC: 30.8,
          humidityPercent: 50.5,
          activity: 73,
          illuminanceLux: 28
        },
        ...{ infraredAndVisible: 121, infrared: 20, co2Ppm: 1255, tvocPpb: 7, pressurePa: 100470 }
      }
    ],
    [
      'Milesight EM300-MCS',
      85,
      '01755C 03673401 046865 060001',
      { batteryPercent: 92, temperatureC: 30.8, humidityPercent: 50.5, open: true }
    ],
    [
      'milesight em300-sld',
      85,
      '01755C 03673401 046865 050000',
      { batteryPercent: 92, temperatureC: 30.8, humidityPercent: 50.5, leak: false }
    ],
    [
      'Milesight AM102',
      85,
      '017564 0367FFFF 20CE9E74',
      { batteryPercent: 100, temperatureC: -0.1, undecoded: '20ce9e74' }
    ],
    ['Milesight AM102', 85, 'FE03B004', { intervalS: 1200 }],
    ['Milesight AM102', 85, '0367 01', { undecoded: '036701' }],
    ['Milesight AM102', 85, '', {}],
    // https://github.com/TheThingsNetwork/lorawan-devices, vendor/dragino: LHT65 and LSE01.
    [
      ...['Dragino LHT65N', 2, 'CBF6 0B0D 0376 01 0ADD 7FFF'],
      { batteryV: 3.062, temperatureC: 28.29, humidityPercent: 88.6, probeTemperatureC: 27.81 }
    ],
    [
      'Dragino LHT65',
      2,
      'CBF6 FF9C 0376 00 0000 0000',
      { batteryV: 3.062, temperatureC: -1, humidityPercent: 88.6 }
    ],
    [
      'Dragino LHT65',
      2,
      'CBF6 0B0D 0376 01 7FFF 7FFF',
      { batteryV: 3.062, temperatureC: 28.29, humidityPercent: 88.6, probeTemperatureC: null }
    ],
    [
      ...['Dragino LSE01', 2, 'CE29 00F1 07A5 099B 6E28 90'],
      {
        ...{ batteryV: 3.625, probeTemperatureC: 24.1, soilMoisturePercent: 19.57, soilTemperatureC: 24.59 },
        soilConductivityUsCm: 28200
      }
    ]
  ])('%s, port %i: %s', (profile, fPort, hex, object) => {
    const { run, reports } = functionsOf('LoRaWAN sensors');
    const { payload, deviceId } = run('values', uplink(profile, fPort, hex));
    expect(payload.object).toEqual(object);
    expect([payload.deviceInfo.devEui, deviceId, reports]).toEqual([EUI, EUI, []]);
  });

  test.each([
    ['another vendor', uplink('Elsys ERS', 5, '0100E2')],
    ['another port', uplink('Dragino LHT65', 42, 'CBF60B0D0376010ADD7FFF')],
    ['another length', uplink('Dragino LHT65', 2, 'CBF6')],
    ['an unknown model', uplink('Dragino LDS02', 2, 'CBF60B0D0376010ADD7FFF')],
    ['a codec in ChirpStack', uplink('Milesight AM102', 85, '017564', { object: { battery: 100 } })],
    ['no data', uplink('Milesight AM102', 2, '', { data: undefined })],
    ['no profile', { ...uplink('', 1, ''), payload: Buffer.from('{"deviceInfo":null}') }],
    ['null', { ...uplink('', 1, ''), payload: Buffer.from('null') }],
    ['no JSON', { ...uplink('', 1, ''), payload: Buffer.from([0xff, 0]) }]
  ])('passes an event unchanged: %s', (_why, msg) => {
    const before = Buffer.from(msg.payload);
    expect(functionsOf('LoRaWAN sensors').run('values', msg).payload).toEqual(before);
  });

  test.each([
    // https://support.milesight-iot.com, "AM102 user guide": ff03b004 is 1,200 s. http://wiki.dragino.com: 0100003C is 60 s.
    ['Milesight AM102', 'interval', '1200', 85, 'ff03b004'],
    ['Dragino LHT65N', 'interval', '60', 2, '0100003c'],
    ['Elsys ERS', 'port/6', '3E40', 6, '3e40']
  ])('a command for %s: %s %s', (profile, rest, text, fPort, hex) => {
    const { run } = functionsOf('LoRaWAN sensors');
    run('values', uplink(profile, 1, ''));
    expect(run('as a downlink', { deviceId: EUI, payload: Buffer.from(text), command: { rest } })).toEqual({
      topic: `application/app-1/device/${EUI}/command/down`,
      payload: { devEui: EUI, confirmed: true, fPort, data: Buffer.from(hex, 'hex').toString('base64') }
    });
  });

  test.each([
    ['Milesight AM102', 'interval', '59', /60 to 64800/],
    ['Milesight AM102', 'interval', '', /60 to 64800/],
    ['Elsys ERS', 'interval', '600', /no interval is known/],
    ['Elsys ERS', 'reboot', '', /must end with interval or port/],
    ['Elsys ERS', 'port/224', '00', /port\/1 to port\/223/],
    ['Elsys ERS', 'port/1', '0', /hexadecimal/],
    ['Elsys ERS', 'port/1', '00'.repeat(243), /1 to 242 bytes/],
    ['', 'interval', '600', /sent nothing/]
  ])('a command that is refused for "%s": %s', (profile, rest, text, why) => {
    const { run, reports } = functionsOf('LoRaWAN sensors');
    if (profile) run('values', uplink(profile, 1, ''));
    expect(run('as a downlink', { deviceId: EUI, payload: Buffer.from(text), command: { rest } })).toBe(
      undefined
    );
    expect(reports).toEqual([expect.stringMatching(why)]);
  });
});

describe('Bluetooth beacons', () => {
  /** @param {object} payload of an advertisement */
  const read = (payload) => {
    const msg = {
      topic: 'ble/aa/advertisement',
      payload: Buffer.from(JSON.stringify({ rssi: -60, ...payload }))
    };
    return functionsOf('Bluetooth beacons').run('values', msg).payload;
  };
  const RUUVI = 'https://docs.ruuvi.com/communication/bluetooth-advertisements/data-format-5-rawv2';

  test.each([
    [
      '0512FC5394C37C0004FFFC040CAC364200CDCBB8334C884F',
      {
        ...{ temperatureC: 24.3, humidityPercent: 53.49, pressurePa: 100044, accelerationMg: [4, -4, 1036] },
        ...{ batteryV: 2.977, txPowerDbm: 4, movements: 66, sequence: 205 }
      }
    ],
    [
      '057FFFFFFEFFFE7FFF7FFF7FFFFFDEFEFFFECBB8334C884F',
      {
        ...{ temperatureC: 163.835, humidityPercent: 163.835, pressurePa: 115534 },
        ...{
          accelerationMg: [32767, 32767, 32767],
          batteryV: 3.646,
          txPowerDbm: 20,
          movements: 254,
          sequence: 65534
        }
      }
    ],
    [
      '058001000000008001800180010000000000CBB8334C884F',
      {
        ...{ temperatureC: -163.835, humidityPercent: 0, pressurePa: 50000 },
        ...{
          accelerationMg: [-32767, -32767, -32767],
          batteryV: 1.6,
          txPowerDbm: -40,
          movements: 0,
          sequence: 0
        }
      }
    ],
    [
      '058000FFFFFFFF800080008000FFFFFFFFFFFFFFFFFFFFFF',
      {
        ...{
          temperatureC: null,
          humidityPercent: null,
          pressurePa: null,
          accelerationMg: [null, null, null]
        },
        ...{ batteryV: null, txPowerDbm: null, movements: null, sequence: null }
      }
    ]
  ])(`reads a vector of ${RUUVI}: %s`, (hex, values) => {
    expect(read({ manufacturerData: `9904${hex}` })).toEqual({ ...values, rssi: -60 });
  });

  test.each([
    // https://bthome.io/format: the examples of the page.
    ['4002C40903BF13', { temperatureC: 25, humidityPercent: 50.55 }],
    ['40 0161', { batteryPercent: 97 }],
    ['40 12E204', { co2Ppm: 1250 }],
    ['40 434E34', { currentA: 13.39 }],
    ['40 08CA06', { dewPointC: 17.38 }],
    ['40 0A138A14', { energyKwh: 1346.067 }],
    ['40 05138A14', { illuminanceLux: 13460.67 }],
    ['40 2E23', { humidityPercent: 35 }],
    ['40 0B021B00', { powerW: 69.14 }],
    ['40 04138A01', { pressurePa: 100883 }],
    ['40 3F020C', { rotationDegrees: 307.4 }],
    ['40 451101', { temperatureC: 27.3 }],
    ['40 58EA', { temperatureC: -7.7 }],
    ['40 02CA0902CA07', { temperatureC: [25.06, 19.94] }],
    ['44 0009 1A01 2100', { packet: 9, door: true, motion: false }],
    ['40 0161 FF01', { batteryPercent: 97, undecoded: 'ff01' }],
    ['40 02CA', { undecoded: '02ca' }],
    ['41 A47266C95F730011223378237214', { encrypted: true }]
  ])('reads BTHome v2: %s', (hex, values) => {
    const serviceData = { fcd2: bytes(hex).toString('hex') };
    expect(read({ serviceData, name: 'DIY-sensor' })).toEqual({ ...values, name: 'DIY-sensor', rssi: -60 });
  });

  test.each([
    // https://github.com/pvvx/ATC_MiThermometer#bluetooth-advertising-formats
    [
      'A4C138112233 00EB 2D 5A 0B96 07',
      { temperatureC: 23.5, humidityPercent: 45, batteryPercent: 90, batteryV: 2.966, packet: 7 }
    ],
    [
      '332211 38C1A4 2EFF 9411 960B 5A 07 04',
      { temperatureC: -2.1, humidityPercent: 45, batteryPercent: 90, batteryV: 2.966, packet: 7 }
    ]
  ])('reads a Xiaomi sensor with other firmware: %s', (hex, values) => {
    expect(read({ serviceData: { '181a': bytes(hex).toString('hex') } })).toEqual({ ...values, rssi: -60 });
  });

  test.each([
    {},
    { manufacturerData: '4c000215' },
    { manufacturerData: '990405' },
    { manufacturerData: '990403291A1ECE1EFC18F94202CA0B53' },
    { serviceData: { fcd2: '' } },
    { serviceData: { fcd2: '2002c409' } },
    { serviceData: { '181a': '0102' } }
  ])('passes another advertisement unchanged: %j', (payload) => {
    expect(JSON.parse(String(read(payload)))).toEqual({ rssi: -60, ...payload });
  });

  test('passes values of connected devices unchanged', () => {
    const msg = { topic: 'ble/aa/temperature', payload: Buffer.from([1, 2]) };
    expect(functionsOf('Bluetooth beacons').run('values', msg)).toBe(msg);
  });
});
