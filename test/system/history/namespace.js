'use strict';
// Packets are dropped, and disks are mounted, in namespaces of our own: nothing of it is seen outside, and nothing stays behind.

const { spawnSync } = require('node:child_process');
const { haveTool } = require('../../../bench/harness/tools');

const INSIDE = 'SEGANET_HISTORY_INSIDE';

/** fault → tools that it needs, besides the right to use them. @type {Record<string, string[]>} */
const NEEDS = {
  drop: ['nft'],
  'disk-full': ['mount'],
  'power-cut': ['mount', 'mkfs.ext4', 'findmnt', 'cp'],
  clock: ['c++'],
  'write-failures': ['c++']
};
const NEED_ROOT = ['drop', 'disk-full', 'power-cut'];

const isInside = () => process.env[INSIDE] === '1';

/** Whether a process of ours may have its own network and mounts. */
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

/** What cannot be done here. @param {string[]} kinds @returns {Record<string, string>} fault → why */
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
