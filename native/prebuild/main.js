'use strict';

// npm run prebuilds -- [--target NAME]... [--nodes] [--overlay] [--check]
//
// Makes the engines that the published package contains, on one machine for all platforms: native/prebuilds/NAME.node;
// and the packages of the overlay program.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { makeAddon, upToDate } = require('../compile');
const { makePackages } = require('../overlay/build');
const { joinedUnits } = require('../joined');
const { crossToolchain, ROOT } = require('./toolchain');
const { fetchNode } = require('./wheels');
const { TARGETS } = require('./targets');

const USAGE = `usage: npm run prebuilds -- [--target NAME]... [--nodes] [--overlay] [--check]

Makes the engines of the published package, native/prebuilds/NAME.node. Without --target: all of
  ${Object.keys(TARGETS).join(', ')}

  --target NAME  makes this one; may be repeated
  --nodes        also fetches Node for these platforms, which test/system/prebuilds.test.js needs
  --overlay      also makes the packages of seganet-overlay, native/out/overlay/packages, which needs Go
  --check        makes nothing; fails unless the engines are there and newer than their sources
`;

const BUILD = path.join(ROOT, 'native', 'build');
const PREBUILDS = path.join(ROOT, 'native', 'prebuilds');

/** @param {string} target @returns {string} */
const prebuilt = (target) => path.join(PREBUILDS, `${target}.node`);

/** @param {string} target @returns {string} what the cross compiler made last */
const made = (target) => path.join(BUILD, target, 'seganet.node');

/** @param {string} target @returns {string | undefined} what is wrong with its engine */
function problem(target) {
  if (!fs.existsSync(prebuilt(target))) return `${target}: is missing`;
  if (!upToDate(prebuilt(target))) return `${target}: is older than its sources`;
  const same =
    fs.existsSync(made(target)) && fs.readFileSync(made(target)).equals(fs.readFileSync(prebuilt(target)));
  return same ? undefined : `${target}: was not made by this command`;
}

/** @param {string} target @returns {Promise<void>} */
async function make(target) {
  if (!upToDate(made(target))) {
    console.log(`native engine: building for ${target} …`);
    await makeAddon({
      toolchain: crossToolchain(target),
      cwd: ROOT,
      units: joinedUnits(path.join(BUILD, 'joined'), ROOT),
      folder: path.join(BUILD, target),
      addon: made(target)
    });
  }
  fs.mkdirSync(PREBUILDS, { recursive: true });
  fs.copyFileSync(made(target), prebuilt(target));
  console.log(`native engine: native/prebuilds/${target}.node, ${fs.statSync(prebuilt(target)).size} bytes`);
}

/** @returns {{ targets: string[], nodes: boolean, overlay: boolean, check: boolean }} @throws {Error} */
function readArguments() {
  const { values } = parseArgs({
    options: {
      target: { type: 'string', multiple: true },
      nodes: { type: 'boolean' },
      overlay: { type: 'boolean' },
      check: { type: 'boolean' },
      help: { type: 'boolean' }
    }
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  const targets = values.target ?? Object.keys(TARGETS);
  for (const target of targets)
    if (!Object.hasOwn(TARGETS, target)) throw new Error(`--target ${target}: there is no such target`);
  const { nodes = false, overlay = false, check = false } = values;
  return { targets, nodes, overlay, check };
}

async function main() {
  const { targets, nodes, overlay, check } = readArguments();
  if (check) {
    const problems = targets.map(problem).filter(Boolean);
    if (problems.length > 0)
      throw new Error(
        `native/prebuilds is not complete:\n  ${problems.join('\n  ')}\nRun: npm run prebuilds`
      );
    return;
  }
  for (const target of targets) await make(target);
  if (overlay) makePackages();
  if (nodes) for (const target of targets) fetchNode(TARGETS[target].wheel);
}

main().catch((error) => {
  console.error(error.code?.startsWith('ERR_PARSE_ARGS') ? `${error.message}\n${USAGE}` : error.message);
  process.exitCode = 1;
});
