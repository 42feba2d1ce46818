'use strict';
// The options of the commands that shape a link.

const os = require('node:os');
const { fail, readArguments } = require('../harness/arguments');
const { gatewayEnv, loadTexts, pinning } = require('./options');
const { bitsPerSecond, shapes } = require('../harness/qdisc');
const { allowedCores } = require('../harness/proc');

/**
 * @param {string} intro
 * @param {{numbers: import('../harness/arguments').Numbers, texts?: import('../harness/arguments').Texts, qdisc: string}} own
 */
function readLinkOptions(intro, { numbers, texts = {}, qdisc }) {
  const { pin, env, out } = loadTexts;
  const read = readArguments(intro, {
    numbers: {
      payload: ['200', 0, 65536, 'bytes of a record'],
      ...numbers
    },
    texts: {
      rate: ['2mbit', "rate of the gateway's end of the link; 'off' = not shaped"],
      qdisc: [qdisc, `${Object.keys(shapes).join(' | ')}${qdisc.includes(',') ? ', comma-separated' : ''}`],
      congestion: ['cubic', "TCP congestion control of the gateway; 'system' = the machine's own"],
      ...texts,
      pin,
      env,
      out
    }
  });
  const isShaped = read.text('rate') !== 'off';
  const rate = isShaped ? bitsPerSecond(read.text('rate')) : 0;
  if (isShaped && !(rate >= 64000 && rate <= 1e9)) fail("--rate must be from 64kbit to 1gbit, or 'off'");
  const qdiscs = isShaped ? read.text('qdisc').split(',') : ['none'];
  for (const kind of qdiscs) if (!shapes[kind]) fail(`--qdisc: '${kind}' is not known. See --help.`);
  const congestion = read.text('congestion');
  return {
    ...read,
    rate,
    qdiscs,
    congestion: congestion === 'system' ? '' : congestion,
    env: gatewayEnv(read.text('env')),
    ...pinning(read.text('pin'))
  };
}

/**
 * @param {import('../harness/netns').LinkedNetworks} network
 * @param {ReturnType<typeof readLinkOptions>} options
 */
function linkConditions(network, { rate, qdiscs, env, gatewayCpus, harnessCpus, number }) {
  const shaped = `${rate / 1e6} Mbit/s towards the cloud (${qdiscs.join(', ')}), the reverse direction not shaped`;
  return {
    machine: `${allowedCores().length} cores, Linux ${os.release()}, Node ${process.version}`,
    link: `${rate ? shaped : 'not shaped'}; no delay except its queue; TCP ${network.congestion}`,
    records: `${number('payload')} B, QoS 1, open loop; latency from the time at which the device intended to send to the arrival at the cloud's subscriber`,
    gateway: `acknowledge ${env.SEGANET_ACKNOWLEDGE ?? 'safe'}, ${env['seganet-uplink-broker.inflight'] ?? 32} PUBLISH in flight, ${env.SEGANET_BATCH_MODE ?? 'envelope'} of at most ${env['seganet-batch.maxBytes'] ?? 1024} B and ${env['seganet-batch.maxDelayMs'] ?? 1000} ms, ${env.SEGANET_MEMORY_MIB ?? 64} MiB`,
    pinned: gatewayCpus ? `gateway on core(s) ${gatewayCpus}, the rest on ${harnessCpus}` : 'not pinned',
    namespaces: network.names,
    loadAverageBefore: os
      .loadavg()
      .map((value) => value.toFixed(2))
      .join(' ')
  };
}

module.exports = { readLinkOptions, linkConditions };
