'use strict';

// Builds the addon of this machine, build/Release/seganet.node: compiles the units whose files changed, and links them.
// `--force` compiles all; `--pack` also puts the addon to where the published package has it, unless
// prebuild/main.js made one for this platform.
// Runs on any Node; the addon uses Node-API, so it loads in newer Node versions too.
// Environment, as usual: CXX, CXXFLAGS, LDFLAGS, JOBS (compiler processes).

const fs = require('node:fs');
const path = require('node:path');
const { makeAddon, upToDate } = require('./compile');
const { localToolchain } = require('./compiler');
const { joinedUnits } = require('./joined');
const target = require('./target');

const RELEASE = path.join(__dirname, 'build', 'Release');
const ADDON = path.join(RELEASE, 'seganet.node');
/** Sources in a unit: the more, the longer takes a build after one of them has changed, and the more memory. */
const MOST_JOINED = 8;
const PREBUILDS = path.join(__dirname, 'prebuilds');
const force = process.argv.includes('--force');

/** @param {string} file @returns {string} */
const shown = (file) => path.relative(process.cwd(), file);

async function build() {
  if (!force && upToDate(ADDON)) return console.log('native engine: up to date');
  console.log('native engine: building; this takes one to several minutes …');
  await makeAddon({
    toolchain: localToolchain(),
    cwd: __dirname,
    units: joinedUnits(path.join(RELEASE, 'joined'), __dirname, MOST_JOINED),
    folder: RELEASE,
    addon: ADDON,
    force
  });
  console.log(`native engine: ${shown(ADDON)}`);
}

/** Removes prebuilt engines of older sources: a package must not contain two versions. */
function removeStale() {
  fs.mkdirSync(PREBUILDS, { recursive: true });
  for (const name of fs.readdirSync(PREBUILDS)) {
    const file = path.join(PREBUILDS, name);
    if (upToDate(file)) continue;
    fs.rmSync(file);
    console.log(`native engine: removed ${shown(file)}, which is older than its sources`);
  }
}

async function pack() {
  removeStale();
  const prebuilt = path.join(PREBUILDS, `${target}.node`);
  if (fs.existsSync(prebuilt)) return;
  await build();
  fs.copyFileSync(ADDON, prebuilt);
  console.log(`native engine: ${shown(prebuilt)}`);
}

(process.argv.includes('--pack') ? pack() : build()).catch((error) => {
  console.error(
    `${error.message}\n` +
      'The native engine could not be built. It needs a C++20 compiler (g++ 11 or clang 14 and newer):\n' +
      '  Debian, Raspberry Pi OS: sudo apt-get install g++'
  );
  process.exitCode = 1;
});
