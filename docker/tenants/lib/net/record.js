'use strict';
// A record that the rules are in force, until the machine starts again. Only root can ask nftables; the gateway, which
// refuses to listen beyond loopback without the rules, reads this file instead.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');

const RULES_FILE = '/run/seganet-tenants/rules.json';
const BOOT_FILE = '/proc/sys/kernel/random/boot_id';

const bootOf = () => fs.readFileSync(BOOT_FILE, 'utf8').trim();

/** @param {string} range that the rules are about @param {string} [file] */
function saveRecord(range, file = RULES_FILE) {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o755 });
    replaceFile(file, `${JSON.stringify({ range, boot: bootOf() })}\n`, 0o644);
  } catch (error) {
    throw new CliError(`The rules are in force, but ${file} cannot be written: ${messageOf(error)}.`);
  }
}

/** @param {string} [file] */
function removeRecord(file = RULES_FILE) {
  fs.rmSync(file, { force: true });
}

/** @param {string} [file] @returns {string} the range that the rules are about, '' = there is no record */
function readRecord(file = RULES_FILE) {
  try {
    const { range, boot } = JSON.parse(fs.readFileSync(file, 'utf8'));
    return boot === bootOf() && typeof range === 'string' ? range : '';
  } catch {
    return '';
  }
}

module.exports = { readRecord, removeRecord, saveRecord };
