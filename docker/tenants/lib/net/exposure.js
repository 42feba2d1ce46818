'use strict';
// Whether tenants in containers reach ports of this machine.

const fs = require('node:fs');
const { readRecord } = require('./record');
const { current } = require('./rules');

const IN_CONTAINERS = ['docker', 'podman'];
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

/** Asks nftables if this is root, else reads the record of the rules. @returns {Promise<boolean>} */
async function areRulesApplied() {
  if (process.getuid?.() !== 0) return readRecord() !== '';
  return (await current().catch(() => '')) !== '';
}

/**
 * @param {import('../file/schema').Spec[]} specs
 * @returns {Promise<{ fact: string, problem: string }>} '' = nothing to say
 */
async function exposureOf(specs) {
  if (!specs.some(({ driver }) => IN_CONTAINERS.includes(driver))) return { fact: '', problem: '' };
  if (await areRulesApplied()) {
    return { fact: 'rules of nftables keep tenants away from the ports of this machine', problem: '' };
  }
  const ports = listening();
  const shown = ports.slice(0, MOST_SHOWN).join(', ') + (ports.length > MOST_SHOWN ? ' and others' : '');
  const problem =
    ports.length === 0
      ? `Tenants in containers would reach any port of this machine that is opened beyond loopback. ${REMEDY}`
      : `Tenants in containers reach these TCP ports of this machine: ${shown}. ${REMEDY}`;
  return { fact: '', problem };
}

module.exports = { exposureOf, openPorts };
