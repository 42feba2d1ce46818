'use strict';
// Devices that are signed in at other gateways (regions) of the same cloud. This module describes what the cloud needs
// of them; ocf-regions provides it.

const { Refusal } = require('./refusal');

/** @typedef {'on' | 'off' | 'unknown'} State unknown: the region cannot be reached, so the device may be on or off */
/**
 * The way of a request to another region, with the functions of the desk.
 * @typedef {Pick<import('./coap').Desk, 'ask' | 'cancel'>} Way
 */
/**
 * @typedef {object} Passage
 * @property {string} di as the controller named it: a device or an endpoint
 * @property {string} via the device with the connection
 * @property {string} uid the user, whose right was checked; '' = the owner, for requests of the gateway itself
 * @property {number} [hops] further gateways that may pass the request on
 */
/**
 * @typedef {object} Elsewhere
 * @property {(di: string) => State} stateOf off: it is not signed in at another region, as far as is known
 * @property {(di: string) => string} regionOf address of the other region where it is signed in, '' = none
 * @property {(via: string) => void} check throws a Refusal if requests cannot reach the device through another region
 * @property {(passage: Passage) => Way | null} through null: the device is not signed in at another region
 * @property {(di: string, uid: string) => void} signedIn the device is signed in here now
 * @property {(di: string, isDeleted: boolean) => void} signedOut it no longer is, or was deleted
 */

/** A cloud with one region. @type {Elsewhere} */
const NOWHERE = {
  stateOf: () => 'off',
  regionOf: () => '',
  check: () => {
    throw new Refusal('5.03', 'The device is offline.');
  },
  through: () => null,
  signedIn: () => {},
  signedOut: () => {}
};

module.exports = { NOWHERE };
