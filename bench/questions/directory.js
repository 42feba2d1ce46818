'use strict';
// A directory of 1,000 and 10,000 things: how long it takes to make them, and to answer a question, by the directory's
// own index, by SPARQL and by JSONPath. node bench/questions/directory.js [THINGS …]

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Directory, parseRules, readQuestion } = require('../../nodes/lib/directory');
const { makeThing } = require('../../nodes/lib/directory/make-thing');
const { placeOf } = require('../../nodes/lib/directory/rules');

const ROOMS = 200;
const ROUNDS = 200;
const KINDS = ['Temperature', 'Humidity', 'Power', 'Occupancy'];
const CHUNK = 200;
const base = { gateway: 'bench', path: '/seganet/directory/bench/', isSecured: false };
const SPARQL = `PREFIX td: <https://www.w3.org/2019/wot/td#> PREFIX saref: <https://saref.etsi.org/core/>
PREFIX brick: <https://brickschema.org/schema/Brick#>
SELECT ?thing WHERE { ?thing brick:hasLocation <urn:seganet:bench:room:105> ; td:hasPropertyAffordance [ a saref:Humidity ] }`;

/** @param {number} count @returns {string[]} ids of devices: kind, room, number */
const devicesOf = (count) =>
  Array.from({ length: count }, (_, i) => `${KINDS[i % KINDS.length]}-${i % ROOMS}-${i}`);

const rules = parseRules(
  JSON.stringify(KINDS.map((kind) => ({ device: `${kind}-*-*`, type: `saref:${kind}Sensor`, room: '{1}' })))
);

/** @param {() => Promise<unknown>} work @returns {Promise<{ p50: number, p99: number }>} ms */
async function timed(work) {
  const times = [];
  for (let i = 0; i < ROUNDS; i++) {
    const begin = performance.now();
    await work();
    times.push(performance.now() - begin);
  }
  times.sort((a, b) => a - b);
  return { p50: times[ROUNDS / 2], p99: times[Math.floor(ROUNDS * 0.99)] };
}

/** @param {string} name @param {{ p50: number, p99: number }} times */
const print = (name, { p50, p99 }) =>
  console.log(`  ${name.padEnd(44)} p50 ${p50.toFixed(2)} ms  p99 ${p99.toFixed(2)} ms`);

/** @param {number} count */
async function run(count) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-bench-directory-'));
  const options = { directory: folder, maxThings: 2 * count, keepDays: 30, maxAgeS: 60, askMs: 1000 };
  let asked = 0;
  const directory = new Directory(options, {
    routes: [
      {
        name: 'command',
        fits: () => true,
        // A device without any delay, so that the figure is the directory's part.
        ask: async ({ device, name }) => {
          asked++;
          directory.values.note({ device, payload: { [name]: 20 }, topic: '', ts: 0, cls: 3 });
          return null;
        }
      }
    ],
    problem: console.error,
    changed: () => {}
  });
  try {
    const rss = process.memoryUsage.rss();
    const begin = performance.now();
    const devices = devicesOf(count);
    for (let i = 0; i < count; i += CHUNK) {
      const things = devices.slice(i, i + CHUNK).map((device) => {
        const placed = placeOf(rules, device);
        return makeThing(base, { device, protocol: 'mqtt', resources: [], placed });
      });
      await directory.ask('make', { source: 'bench', things, seen: [] });
    }
    console.log(`${count} things made in ${(performance.now() - begin).toFixed(0)} ms`);
    for (const device of devices) {
      const name = device.split('-')[0].toLowerCase();
      directory.values.note({ device, payload: { [name]: 20 }, topic: '', ts: 0, cls: 3, rssi: -60 });
    }
    const question = (/** @type {string} */ text) =>
      directory.answering.answer(readQuestion(text, directory.usual));
    const { device, found } = await question('property=Humidity&room=105');
    if (device !== 'Humidity-105-105') throw new Error(`The answer is of ${device}.`);
    print(`humidity of room 105, of ${found}`, await timed(() => question('property=Humidity&room=105')));
    print(
      'the same, the device is asked',
      await timed(() => question('property=Humidity&room=105&maxAge=0'))
    );
    if (asked < ROUNDS) throw new Error('The device was not asked.');
    print('humidity of any room', await timed(() => question('property=Humidity')));
    const sparql = () => directory.searches.run('sparql', { text: SPARQL, form: 'SELECT', format: '' });
    const first = performance.now();
    const { bindings } = JSON.parse(await sparql()).results;
    console.log(`  first SPARQL, with loading: ${(performance.now() - first).toFixed(0)} ms`);
    if (bindings.length !== found) throw new Error(`SPARQL finds ${bindings.length} of ${found}.`);
    print('SPARQL', await timed(sparql));
    const query = "$[?@.title=='Humidity-105-105'].id";
    print('JSONPath', await timed(() => directory.searches.run('jsonpath', { query })));
    console.log(`  memory: +${((process.memoryUsage.rss() - rss) / 2 ** 20).toFixed(0)} MiB`);
  } finally {
    await directory.close();
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function main() {
  const counts = process.argv.slice(2).map(Number);
  for (const count of counts.length > 0 ? counts : [1000, 10000]) await run(count);
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
