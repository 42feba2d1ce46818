'use strict';
// Writes and removes the record that the rules are in force, until the machine starts again. The gateway, which refuses
// to listen beyond loopback without the rules, reads it.

const fs = require('node:fs');
const path = require('node:path');
const { CliError, messageOf } = require('../base/errors');
const { replaceFile } = require('../../../../nodes/lib/base/replace-file');
const { RULES_FILE, bootOf } = require('../../../../nodes/lib/tenants/file/rules-record');

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

module.exports = { removeRecord, saveRecord };
