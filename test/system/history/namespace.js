'use strict';
// Packets are dropped, and disks are mounted, in separate namespaces: nothing is visible outside, and nothing stays
// behind.

const { spawnSync } = require('node:child_process');
const { haveTool } = require('../../../bench/harness/tools');

const INSIDE = 'SEGANET_HISTORY_INSIDE';

/** fault → required tools, besides the permission to use them. @type {Record<string, string[]>} */
const NEEDS = {
  drop: ['nft'],
  'disk-full': ['mount'],
  'power-cut': ['mount', 'mkfs.ext4', 'findmnt', 'cp'],
  clock: ['c++'],
  'write-failures': ['c++']
};
const NEED_ROOT = ['drop', 'disk-full', 'power-cut'];

const isInside = () => process.env[INSIDE] === '1';

/** True if the process can have its own network and mounts. */
function mayUnshare() {
  if (!haveTool('unshare') || !haveTool('ip')) return false;
  return spawnSync('unshare', ['--net', '--mount', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
}

/** Runs this program again inside; does not return. @returns {never} */
function goInside() {
  const script = 'ip link set lo up && exec "$@"';
  const args = ['--net', '--mount', 'sh', '-c', script, 'sh', process.execPath, ...process.argv.slice(1)];
  const { status, signal } = spawnSync('unshare', args, {
    stdio: 'inherit',
    env: { ...process.env, [INSIDE]: '1' }
  });
  process.exit(status ?? (signal ? 1 : 0));
}

/** Faults that cannot run here. @param {string[]} kinds @returns {Record<string, string>} fault → reason */
function impossible(kinds) {
  /** @type {Record<string, string>} */
  const result = {};
  for (const kind of kinds) {
    const missing = (NEEDS[kind] || []).filter((tool) => !haveTool(tool));
    if (missing.length > 0) result[kind] = `${missing.join(', ')} not installed`;
    else if (NEED_ROOT.includes(kind) && !isInside()) result[kind] = 'needs root (unshare --net --mount)';
  }
  return result;
}

module.exports = { isInside, mayUnshare, goInside, impossible };
