'use strict';

// A worker_threads Worker with a connection of the engine and its active express path, as in the uplink's thread.

const { parentPort, workerData } = require('node:worker_threads');
const native = require('../../../native');

const { UplinkSource, UplinkConnection, PublishWriter, InFlightWindow, openSocket, waitConnect } = native;
const { token, port, spec, stages, tellsAll } = workerData;

async function run() {
  const source = new UplinkSource(token, 0, () => {});
  const { fd } = openSocket('127.0.0.1', port, {});
  await waitConnect(fd, 5000);
  const writer = new PublishWriter();
  writer.setStages(stages);
  const window = new InFlightWindow(16, 0);
  const wire = new UplinkConnection(fd, null, {
    onOpen() {
      source.connected(true);
      if (!tellsAll) wire.enter(source, writer, window, spec);
      parentPort?.postMessage('open');
    },
    onBytes() {},
    // Without the express path all of them arrive here.
    onPubacks() {},
    onDrain() {},
    onEnd() {},
    onLeave() {
      wire.leave(0);
      window.reset();
      wire.enter(source, writer, window, spec);
    }
  });
  if (!tellsAll) return;
  const publish = Buffer.from([0x32, 6, 0, 1, 0x74, 0, 9, 0x78]);
  setInterval(() => wire.write(publish), 0);
}

void run();
