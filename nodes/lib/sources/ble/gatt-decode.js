'use strict';
// Decodes values of common characteristics, as the GATT specification supplement defines them. A value of the wrong
// length is malformed, because some sensors set wrong flags.

/**
 * @callback Decoder
 * @param {Buffer} value
 * @returns {Record<string, unknown> | null} null if the value is malformed
 */

const HEART_FLAG = { WIDE: 1, CONTACT: 2, CONTACT_KNOWN: 4, ENERGY: 8, INTERVALS: 16 };

/** Heart Rate Measurement (GSS 3.116). @type {Decoder} */
function heartRate(value) {
  if (value.length < 2) return null;
  const flags = value[0];
  const wide = (flags & HEART_FLAG.WIDE) !== 0;
  const energy = (flags & HEART_FLAG.ENERGY) !== 0;
  const intervals = (flags & HEART_FLAG.INTERVALS) !== 0;
  const energyAt = wide ? 3 : 2;
  const intervalsAt = energyAt + (energy ? 2 : 0);
  const rest = value.length - intervalsAt;
  // Intervals fill the rest of the value. Without intervals there must be no rest.
  if (intervals ? rest < 2 || rest % 2 !== 0 : rest !== 0) return null;
  /** @type {Record<string, unknown>} */
  const result = { heartRate: wide ? value.readUInt16LE(1) : value[1] };
  if (flags & HEART_FLAG.CONTACT_KNOWN) result.contact = (flags & HEART_FLAG.CONTACT) !== 0;
  if (energy) result.energyKj = value.readUInt16LE(energyAt);
  if (intervals) {
    result.rrMs = Array.from({ length: rest / 2 }, (_none, index) =>
      // The unit is 1/1024 s.
      round((value.readUInt16LE(intervalsAt + 2 * index) * 1000) / 1024, 1)
    );
  }
  return result;
}

const LOCATIONS = ['other', 'chest', 'wrist', 'finger', 'hand', 'ear lobe', 'foot'];

/** @type {Decoder} */
function bodySensorLocation(value) {
  return value.length === 1 && value[0] < LOCATIONS.length
    ? { bodySensorLocation: LOCATIONS[value[0]] }
    : null;
}

/** @type {Decoder} */
function battery(value) {
  return value.length === 1 && value[0] <= 100 ? { battery: value[0] } : null;
}

/**
 * Returns a decoder for a little-endian number in steps of a power of ten.
 * @param {string} name of the result
 * @param {number} bytes
 * @param {number} decimals
 * @param {{ signed?: boolean, unknown?: number }} [options] unknown: the value that means "not known"
 * @returns {Decoder}
 */
function number(name, bytes, decimals, { signed = false, unknown } = {}) {
  return (value) => {
    if (value.length !== bytes) return null;
    const raw = signed ? value.readIntLE(0, bytes) : value.readUIntLE(0, bytes);
    return { [name]: raw === unknown ? null : round(raw / 10 ** decimals, decimals) };
  };
}

/** @param {number} value @param {number} decimals */
const round = (value, decimals) => Number(value.toFixed(decimals));

const signed = true;

/** By short UUID: a name for topics, and the decoder. @type {Map<string, { name: string, decode: Decoder }>} */
const known = new Map([
  ['2a19', { name: 'battery', decode: battery }],
  ['2a37', { name: 'heart_rate', decode: heartRate }],
  ['2a38', { name: 'body_sensor_location', decode: bodySensorLocation }],
  ['2a6c', { name: 'elevation', decode: number('elevationM', 3, 2, { signed }) }],
  ['2a6d', { name: 'pressure', decode: number('pressurePa', 4, 1) }],
  ['2a6e', { name: 'temperature', decode: number('temperatureC', 2, 2, { signed, unknown: -32768 }) }],
  ['2a6f', { name: 'humidity', decode: number('humidityPercent', 2, 2, { unknown: 0xffff }) }],
  ['2a70', { name: 'true_wind_speed', decode: number('windSpeedMS', 2, 2) }],
  ['2a71', { name: 'true_wind_direction', decode: number('windDirectionDeg', 2, 2) }],
  ['2a72', { name: 'apparent_wind_speed', decode: number('windSpeedMS', 2, 2) }],
  ['2a73', { name: 'apparent_wind_direction', decode: number('windDirectionDeg', 2, 2) }],
  ['2a76', { name: 'uv_index', decode: number('uvIndex', 1, 0) }],
  ['2a77', { name: 'irradiance', decode: number('irradianceWM2', 2, 1) }],
  ['2a78', { name: 'rainfall', decode: number('rainfallMm', 2, 0) }],
  ['2a79', { name: 'wind_chill', decode: number('windChillC', 1, 0, { signed }) }],
  ['2a7a', { name: 'heat_index', decode: number('heatIndexC', 1, 0, { signed }) }],
  ['2a7b', { name: 'dew_point', decode: number('dewPointC', 1, 0, { signed }) }],
  ['2afb', { name: 'illuminance', decode: number('illuminanceLux', 3, 2, { unknown: 0xffffff }) }],
  ['2b8c', { name: 'co2', decode: number('co2Ppm', 2, 0, { unknown: 0xffff }) }]
]);

/** @param {string} uuid normal form @returns {string} for topics */
const nameOf = (uuid) => known.get(uuid)?.name ?? uuid;

/**
 * @param {string} uuid normal form
 * @param {Buffer} value
 * @returns {Record<string, unknown>} only `hex` for an unknown characteristic or a malformed value
 */
function decode(uuid, value) {
  return known.get(uuid)?.decode(value) ?? { hex: value.toString('hex') };
}

module.exports = { decode, nameOf };
