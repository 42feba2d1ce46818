'use strict';
// Finds out whether tenants in containers reach ports of this machine.

const fs = require('node:fs');
const { STANDARD_RANGE } = require('../drivers/networks');
const { readRecord } = require('../../../../nodes/lib/tenants/file/rules-record');
const { isContainer } = require('../../../../nodes/lib/tenants/file/schema');
const { removeRecord } = require('./record');
const { current } = require('./rules');

const LISTEN = '0A';
/** Most ports that a sentence names. */
const MOST_SHOWN = 12;
const REMEDY = 'Run "seganet-tenants net apply" as root.';

/** @param {string} address as in /proc/net/tcp and tcp6: words of 32 bits in the byte order of the machine */
const isLoopback = (address) =>
  address === '00000000000000000000000001000000' || /^(0{16}FFFF0000)?[0-9A-F]{6}7F$/.test(address);

/** @param {string} text of /proc/net/tcp or tcp6 @returns {number[]} ports of listeners beyond loopback */
function openPorts(text) {
  return text.split('\n').flatMap((line) => {
    const [, local = '', , state] = line.trim().split(/\s+/);
    const [address, port] = local.split(':');
    return state === LISTEN && port && !isLoopback(address) ? [parseInt(port, 16)] : [];
  });
}

/** @returns {number[]} TCP ports of this machine that are open beyond loopback, in order */
function listening() {
  const texts = ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => {
    try {
      return fs.readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  });
  return [...new Set(texts.flatMap(openPorts))].sort((a, b) => a - b);
}

/** @param {string} rules as nft lists them @returns {string[]} ranges that may not begin connections to this machine */
function rangesOf(rules) {
  const [, input = ''] = /chain input \{([^}]*)\}/.exec(rules) ?? [];
  return [...input.matchAll(/^\s*ip saddr (\S+) ct state new .*\bdrop\s*$/gm)].map(([, range]) => range);
}

/**
 * Queries nftables if this is root, else reads the record of the rules. A record without rules is removed: something
 * else has deleted the rules, and the gateway believes the record.
 * @param {string} [file] the record
 * @returns {Promise<{ ranges: string[], remark: string }>} of the rules in force
 */
async function rulesInForce(file) {
  const recorded = readRecord(file);
  if (process.getuid?.() !== 0) return { ranges: recorded ? [recorded] : [], remark: '' };
  try {
    const rules = await current();
    if (rules !== '' || recorded === '') return { ranges: rangesOf(rules), remark: '' };
    removeRecord(file);
    return { ranges: [], remark: 'The rules of nftables are gone, so their record was removed. ' };
  } catch {
    return { ranges: [], remark: '' };
  }
}

/**
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec[]} specs
 * @param {{ env?: NodeJS.ProcessEnv, recordFile?: string }} [where]
 * @returns {Promise<{ fact: string, problem: string }>} '' = nothing to say
 */
async function exposureOf(specs, { env = process.env, recordFile } = {}) {
  if (!specs.some(isContainer)) return { fact: '', problem: '' };
  const range = env.SEGANET_TENANTS_SUBNETS?.trim() || STANDARD_RANGE;
  const { ranges, remark } = await rulesInForce(recordFile);
  if (ranges.includes(range)) {
    return { fact: 'rules of nftables keep tenants away from the ports of this machine', problem: '' };
  }
  const other = ranges.length > 0 ? otherRange(ranges[0], range) : '';
  const ports = listening();
  const shown = ports.slice(0, MOST_SHOWN).join(', ') + (ports.length > MOST_SHOWN ? ' and others' : '');
  const problem =
    ports.length === 0
      ? `Tenants in containers would reach any port of this machine that is opened beyond loopback. ${REMEDY}`
      : `Tenants in containers reach these TCP ports of this machine: ${shown}. ${REMEDY}`;
  return { fact: '', problem: remark + other + problem };
}

/** @param {string} found @param {string} range of the tenants' networks */
function otherRange(found, range) {
  return `The rules of nftables are for ${found}, but the networks of tenants are of ${range}; set SEGANET_TENANTS_SUBNETS to the same for "net apply", the keeper and the gateway. `;
}

module.exports = { exposureOf, openPorts, rangesOf };
