'use strict';
// htb where seganet-net is not there: the same three classes, but only DSCP leads to the urgent one.

const { run } = require('./netns');

/** @param {string} dev @param {number} rate bit/s @param {number} share that each lower class keeps */
function htbByHand(dev, rate, share) {
  /** @param {string} parent @param {string} id @param {number} part @param {string[]} more */
  const add = (parent, id, part, ...more) => {
    const rates = ['rate', `${Math.round(rate * part)}bit`, 'ceil', `${rate}bit`];
    const buckets = 'burst 1600 cburst 1600 quantum 1514'.split(' ');
    run('tc', [
      'class',
      'add',
      'dev',
      dev,
      'parent',
      parent,
      'classid',
      id,
      'htb',
      ...rates,
      ...buckets,
      ...more
    ]);
  };
  // It counts a packet of many segments as one.
  run('ip', ['link', 'set', dev, 'gso_max_segs', '1']);
  run('tc', ['qdisc', 'add', 'dev', dev, 'root', 'handle', '1:', 'htb', 'default', '20']);
  add('1:', '1:1', 1);
  [1 - 2 * share, share, share].forEach((part, i) => {
    const id = `${i + 1}0`;
    add('1:1', `1:${id}`, part, 'prio', String(i));
    run('tc', ['qdisc', 'add', 'dev', dev, 'parent', `1:${id}`, 'handle', `${id}:`, 'pfifo', 'limit', '100']);
  });
  const match = 'prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10'.split(' ');
  run('tc', ['filter', 'add', 'dev', dev, 'parent', '1:', 'protocol', 'ip', ...match]);
}

module.exports = { htbByHand };
