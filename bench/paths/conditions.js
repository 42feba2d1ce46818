'use strict';
// The requirements of bench/questions/paths.js, and the conditions that it prints.

const fs = require('node:fs');
const os = require('node:os');
const { haveTool } = require('../harness/tools');
const { allowedCores } = require('../harness/proc');
const { PAPER } = require('./lab');

/** @returns {string} what is missing besides the requirements of harness/netns.js; '' = nothing */
function lacking() {
  if (!fs.existsSync('/proc/sys/net/mptcp/enabled')) {
    return 'This kernel has no MPTCP (CONFIG_MPTCP; Linux 5.6 or later, Raspberry Pi OS since mid-2023).';
  }
  const missing = ['nft', 'mptcpize'].filter((tool) => !haveTool(tool));
  return missing.length > 0
    ? `Not installed: ${missing.join(', ')}. Debian: apt install nftables mptcpize.`
    : '';
}

/**
 * @param {{rounds: number, quick: boolean, congestion: string, env: Record<string, string>, gatewayCpus?: string,
 *          harnessCpus?: string}} options
 * @returns {Record<string, string>}
 */
function conditions({ rounds, quick, congestion, env, gatewayCpus, harnessCpus }) {
  const system = fs.readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim();
  const more = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return {
    machine: `${allowedCores().length} cores, Linux ${os.release()}, Node ${process.version}`,
    links: `${PAPER.join(' and ')} Mbit/s in both directions (tbf, pfifo_fast of 100 packets); no delay except that of their queues`,
    congestion: `${congestion || system} of the uplink, ${system} of the broker`,
    broker:
      'mosquitto (TLS 1.3) under mptcpize, net.mptcp.stale_loss_cnt 1; without mptcpize for runs marked TCP',
    watch: '`seganet-paths watch` with its defaults: a probe per second on each path',
    gateway: more.length > 0 ? more.join(' ') : 'default settings',
    rounds: `${rounds}${quick ? ', quick: a functional check, not a measurement' : ''}`,
    pinned: gatewayCpus
      ? `gateway on core(s) ${gatewayCpus}; generator, cloud and sink on ${harnessCpus}`
      : 'not pinned',
    namespace: fs.readlinkSync('/proc/self/ns/net'),
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
}

module.exports = { conditions, lacking };
