'use strict';
// Entry of a process: a TCP relay whose bytes take some time in each direction, like a path over a satellite. Nothing
// is lost, and the order stays. Arguments: HOST PORT TARGET_PORT MS. Prints a JSON line when it listens.

const net = require('node:net');

const [host, port, target, delayMs] = process.argv.slice(2);

/** Passes on what arrives, later. @param {net.Socket} from @param {net.Socket} to */
function delay(from, to) {
  const later = (/** @type {() => void} */ fn) => setTimeout(() => to.destroyed || fn(), Number(delayMs));
  from.on('data', (chunk) => later(() => to.write(chunk)));
  from.on('end', () => later(() => to.end()));
  from.on('error', () => to.destroy());
}

const server = net.createServer((near) => {
  const far = net.connect(Number(target), host);
  for (const socket of [near, far]) socket.setNoDelay(true);
  delay(near, far);
  delay(far, near);
});
server.listen(Number(port), host, () => console.log(JSON.stringify({ event: 'ready' })));
