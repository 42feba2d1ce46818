'use strict';
// Prints the cost of a record on the uplink: IP bytes and CPU time.
//   node bench/economy.js --help

const { readArguments } = require('./harness/arguments');
const { gatewayEnv, loadTexts, pinning } = require('./options/options');
const { linkOptions, runLinks } = require('./economy/links');
const { printPackets } = require('./economy/packets');
const { SHAPES } = require('./economy/shapes');
const { WAYS } = require('./economy/link-case');
const { TRACES, WAYS: TRACE_WAYS, runTraces, traceOptions } = require('./economy/traces');

const intro = `Usage: node bench/economy.js [options]

Without --links: the packets of the uplink's own writer, with MQTT 5, without sockets. IP bytes count for each packet 52
bytes of IPv4 and TCP with timestamps, and 22 of TLS 1.3, in both directions: PUBLISH and PUBACK, each in a segment of
its own, and no separate TCP acknowledgement. Larger packets take a segment for each 1,448 bytes. "Unbatched" is MQTT
QoS 1 with the record's own topic and no properties, as a bridge sends it. CPU time is that of writing the packets.

With --links (root): devices, the gateway or a mosquitto bridge, a TLS connection over a link between two network
namespaces, and a broker with a receiver that counts records. Bytes are those of the link's interface. On an open link
each rate is offered in turn; on a full link, more than it carries.

With --traces (root): devices of classes 2, 3 and 4 with a patience each, and links whose rate and delay follow seeded
traces. Counts the records whose PUBACK, which the gateway sends when the cloud has the record, came within the
patience, and the bytes of the link's interface.`;

const read = readArguments(intro, {
  numbers: {
    seconds: ['10', 1, 3600, 'with --links and --traces: length of a measurement'],
    seed: ['1', 0, 4294967295, 'with --traces'],
    warmup: ['12', 0, 600, 'with --links: seconds of load before each measurement'],
    most: ['20000', 100, 100000, 'with --links: most records a second offered to a full link']
  },
  texts: {
    shapes: [Object.keys(SHAPES).join(','), 'with --links: comma-separated; with --traces the first one'],
    kinds: [Object.keys(TRACES).join(','), 'with --traces: traces, comma-separated'],
    patience: ['0,2000,5000,10000', 'with --traces: patience of the classes in ms'],
    settings: [Object.keys(TRACE_WAYS).join(','), 'with --traces: settings of batches, comma-separated'],
    ways: [
      Object.keys(WAYS).join(','),
      'with --links: comma-separated; NDJSON and zstd are the gateway, zstd-100ms with batches of 100 ms, balanced and thrifty with those settings'
    ],
    rates: ['10,1000,10000', "with --links: records a second on an open link; 'none' = no open link"],
    full: ['2mbit,10mbit', "with --links: rates of full links; 'none' = no full link"],
    pin: loadTexts.pin,
    env: loadTexts.env,
    out: loadTexts.out
  },
  flags: {
    links: 'real runs over links between network namespaces',
    traces: 'records with a patience over links that vary'
  }
});

if (read.flag('traces')) {
  void runTraces(traceOptions(read, pinning(read.text('pin')), gatewayEnv(read.text('env'))));
} else if (read.flag('links')) {
  void runLinks(linkOptions(read, pinning(read.text('pin')), gatewayEnv(read.text('env'))));
} else {
  printPackets();
}
