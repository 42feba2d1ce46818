'use strict';
// Rules of nftables for the networks of tenants. An engine's internal network has no way out. But through the address
// of its bridge, a tenant reaches every port of this machine that listens on all addresses. Tenants never need to open
// a connection: the front connects to them.

const { spawn } = require('node:child_process');
const { CliError } = require('../base/errors');

const TABLE = 'seganet_tenants';

/** @param {string} range such as 10.213.0.0/16 @returns {string} a script of nft that replaces the table */
const rulesFor = (range) => `table inet ${TABLE}
delete table inet ${TABLE}
table inet ${TABLE} {
  chain input {
    type filter hook input priority filter - 10; policy accept;
    ip saddr ${range} ct state new counter drop
  }
  chain forward {
    type filter hook forward priority filter - 10; policy accept;
    ip saddr ${range} ct state new counter drop
    ip daddr ${range} ct state new counter drop
  }
}
`;

/**
 * Runs nft.
 * @param {string[]} args
 * @param {string} [input]
 * @returns {Promise<{ code: number | null, output: string, problem: string }>}
 */
function nft(args, input = '') {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, PATH: `${process.env.PATH ?? ''}:/usr/sbin:/sbin` };
    const child = spawn('nft', args, { env });
    let [output, problem] = ['', ''];
    child.stdout.on('data', (part) => (output += part));
    child.stderr.on('data', (part) => (problem += part));
    child.once('error', () =>
      reject(new CliError('The program nft is missing. Install the package nftables.'))
    );
    child.once('close', (code) => resolve({ code, output, problem: problem.trim().split('\n')[0] }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

/** @param {string} range */
async function apply(range) {
  const { code, problem } = await nft(['-f', '-'], rulesFor(range));
  if (code !== 0) throw new CliError(`nft refused the rules: ${problem}.`);
}

/** @returns {Promise<string>} the rules in force with their counters, '' = none */
async function current() {
  const { code, output, problem } = await nft(['list', 'table', 'inet', TABLE]);
  if (code === 0) return output.trimEnd();
  if (/No such file|does not exist/.test(problem)) return '';
  throw new CliError(`nft cannot list the rules: ${problem}.`);
}

async function remove() {
  const { code, problem } = await nft(['delete', 'table', 'inet', TABLE]);
  if (code !== 0 && !/No such file|does not exist/.test(problem))
    throw new CliError(`nft refused: ${problem}.`);
}

module.exports = { apply, current, remove, rulesFor };
