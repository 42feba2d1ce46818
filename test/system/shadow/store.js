'use strict';
// Many shadows without a gateway: sets all, sets them again in a process that is ended by kill -9, and in one whose
// disk loses its power. Each version that was acknowledged must be there afterwards.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { ShadowDesk } = require('../../../nodes/lib/shadow/shadow-desk');
const { ShadowFile } = require('../../../nodes/lib/shadow/shadow-file');
const { Image } = require('../history/disks/image');

const IMAGE_BYTES = 1 << 30;
const PAGE = 1000;

/**
 * Sets shadows in another process.
 * @param {string} folder
 * @param {number} shadows
 * @param {number} n
 * @param {{ after: number, end: (pid: number) => Promise<void> } | null} cut ends the process after so many
 * @returns {Promise<{ acknowledged: Set<number>, figures: any }>}
 */
async function set(folder, shadows, n, cut) {
  const child = spawn(
    process.execPath,
    [path.join(__dirname, 'setter.js'), folder, String(shadows), String(n)],
    {
      stdio: ['ignore', 'pipe', 'inherit']
    }
  );
  /** @type {Set<number>} */
  const acknowledged = new Set();
  /** @type {Promise<void> | null} */
  let ending = null;
  let figures = null;
  let rest = '';
  let isOver = false;
  child.stdout.setEncoding('utf8').on('data', (text) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line.startsWith('{')) figures = JSON.parse(line);
      // What arrives after the moment of the cut may have been printed after it.
      else if (!isOver) acknowledged.add(Number(line));
    }
    if (!cut || ending || acknowledged.size < cut.after) return;
    ending = cut.end(/** @type {number} */ (child.pid)).then(() => {
      isOver = true;
      child.kill('SIGKILL');
    });
  });
  const [code] = await once(child, 'close');
  await ending;
  if (!cut && code !== 0) throw new Error(`the process ended with ${code}`);
  return { acknowledged, figures };
}

/**
 * Counts acknowledged versions that are not there.
 * @param {string} folder
 * @param {number} shadows
 * @param {(number: number) => number} version
 */
function lostOf(folder, shadows, version) {
  const file = new ShadowFile(folder);
  const desk = new ShadowDesk(file);
  const found = new Map();
  for (let after = ''; ;) {
    const { shadows: rows, next } = JSON.parse(desk.list(after, PAGE));
    for (const { device, version: at, state } of rows) found.set(device, state === 'damaged' ? -1 : at);
    if (!next) break;
    after = next;
  }
  file.close();
  let lost = 0;
  for (let i = 0; i < shadows; i++) if (!(found.get(`dev-${i}`) >= version(i))) lost++;
  return lost;
}

/**
 * @param {{ shadows: number, cut: boolean, random: ReturnType<typeof import('../../fixtures/random').seeded>,
 *   log?: (line: string) => void }} options
 */
async function runStore({ shadows, cut, random, log = () => {} }) {
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-shadow-store-'));
  const image = cut ? new Image(base, IMAGE_BYTES) : null;
  const folder = path.join(image?.root ?? base, 'log');
  fs.mkdirSync(folder);
  const middle = () => Math.floor(shadows * (0.2 + 0.6 * random.next()));
  try {
    const { figures } = await set(folder, shadows, 1, null);
    log(
      `${shadows} shadows, ${figures.perS} a second, ${Math.round(figures.bytes / shadows)} bytes on disk each`
    );
    const first = await set(folder, shadows, 2, { after: middle(), end: async () => {} });
    const kill = lostOf(folder, shadows, (i) => (first.acknowledged.has(i) ? 2 : 1));
    log(`kill -9 after ${first.acknowledged.size}: ${kill} lost`);
    const found = { ...figures, lost: kill, lostByCut: 0 };
    if (!image) return found;
    const second = await set(folder, shadows, 3, {
      after: middle(),
      end: async (pid) => {
        process.kill(pid, 'SIGSTOP');
        // What was printed before counts.
        await delay(200);
        image.copy();
      }
    });
    image.cut();
    // Each update changes n.
    const power = lostOf(
      folder,
      shadows,
      (i) => 1 + Number(first.acknowledged.has(i)) + Number(second.acknowledged.has(i))
    );
    log(`power cut after ${second.acknowledged.size}: ${power} lost`);
    return { ...found, lostByCut: power };
  } finally {
    image?.close();
    fs.rmSync(base, { recursive: true, force: true });
  }
}

module.exports = { runStore };
