'use strict';
// The settings of a shadow node: which devices have shadows, how these speak, and the limits of a document.

const { matchesGlob } = require('../base/glob');
const { choice, integer, text } = require('../base/options');

const schema = {
  devices: text('*', /^[^\0]{1,256}$/, 'a device id or a pattern with * and ?'),
  dialect: choice(/** @type {const} */ (['own', 'aws', 'azure']), 'own'),
  level: text('shadow', /^[^+#/\0{}$]{1,64}$/, 'a level of a topic, without +, #, /, $ and braces'),
  maxBytes: integer(256, 262144, 8192),
  maxDepth: integer(1, 32, 8),
  maxShadows: integer(1, 1000000, 100000)
};

/** @typedef {{ [K in keyof typeof schema]: ReturnType<(typeof schema)[K]> }} Values */

/** @param {Values} values @param {string} device */
const isExactly = ({ devices }, device) => devices === device;

/** @param {Values} values @param {string} device */
const matches = ({ devices }, device) => matchesGlob(devices, device);

module.exports = { isExactly, matches, schema };
