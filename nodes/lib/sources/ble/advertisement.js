'use strict';
// Converts a device's advertisement to JSON, and decides whether the settings of the node include the device.

const { matchesGlob } = require('../../base/glob');
const { normalUuid } = require('./uuid');

/**
 * @typedef {object} Heard the part of noble's Peripheral used here
 * @property {string} id
 * @property {string} address
 * @property {boolean} connectable
 * @property {number} rssi
 * @property {{ localName?: string, txPowerLevel?: number, manufacturerData?: Buffer, serviceUuids?: string[],
 *   serviceData?: { uuid: string, data: Buffer }[] }} advertisement
 */

/**
 * @param {Heard} heard
 * @returns {string} its address, or the system's id on macOS, which hides addresses
 */
const addressOf = ({ address, id }) => (address && address !== 'unknown' ? address : id);

/**
 * Returns the name without trailing NUL bytes, which fixed-size names have.
 * @param {Heard} heard
 */
// eslint-disable-next-line no-control-regex
const nameOf = ({ advertisement }) => (advertisement.localName ?? '').replace(/\u0000+$/, '');

/**
 * @param {Heard} heard
 * @returns {Record<string, unknown>} without values that change with each packet
 */
function describe(heard) {
  const { advertisement, connectable } = heard;
  const { txPowerLevel, manufacturerData, serviceUuids = [], serviceData = [] } = advertisement;
  const name = nameOf(heard);
  return {
    address: addressOf(heard),
    ...(name && { name }),
    connectable: Boolean(connectable),
    ...(txPowerLevel !== undefined && { txPower: txPowerLevel }),
    ...(serviceUuids.length > 0 && { services: serviceUuids.map(normalUuid) }),
    ...(manufacturerData?.length && { manufacturerData: manufacturerData.toString('hex') }),
    ...(serviceData.length > 0 && {
      serviceData: Object.fromEntries(
        serviceData.map(({ uuid, data }) => [normalUuid(uuid), data.toString('hex')])
      )
    })
  };
}

/**
 * @param {string[]} globs
 * @param {Heard} heard
 */
function fits(globs, heard) {
  const names = [addressOf(heard).toLowerCase(), nameOf(heard).toLowerCase()];
  return globs.some((glob) => names.some((name) => matchesGlob(glob, name)));
}

/**
 * @param {import('./ble-settings').BleSettings} settings
 * @param {Heard} heard
 */
function isWanted({ minRssi, services, match }, heard) {
  if (heard.rssi < minRssi) return false;
  if (match.length > 0 && !fits(match, heard)) return false;
  if (services.length === 0) return true;
  const { serviceUuids = [], serviceData = [] } = heard.advertisement;
  const has = [...serviceUuids, ...serviceData.map(({ uuid }) => uuid)].map(normalUuid);
  return has.some((uuid) => services.includes(uuid));
}

module.exports = { describe, fits, isWanted, addressOf, nameOf };
