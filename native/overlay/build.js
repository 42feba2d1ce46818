'use strict';
// npm run overlay:build -- [--packages] [--laptops]: builds seganet-overlay. See --help.

const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { FOLDER, goOutput, runGo, runScript } = require('./go');
const { version } = require('../../package.json');

const ROOT = path.join(FOLDER, '..', '..');
const OUT = path.join(ROOT, 'native', 'out', 'overlay');
const PROGRAM = path.join(OUT, 'seganet-overlay');
const MIB = 1 << 20;

/** Platforms of the packages: as in Node.js and in Go. */
const PLATFORMS = [
  { os: 'linux', cpu: 'x64', arch: 'amd64' },
  { os: 'linux', cpu: 'arm64', arch: 'arm64' }
];

/** Platforms of an engineer's laptop, as in Go. Tests run only on Linux. */
const LAPTOPS = ['linux', 'darwin', 'windows'].flatMap((os) =>
  ['amd64', 'arm64'].map((arch) => ({ os, arch }))
);

/** @param {{ os: string, arch: string }} platform @returns {string} */
const laptopProgram = ({ os, arch }) => `seganet-overlay-${os}-${arch}${os === 'windows' ? '.exe' : ''}`;

const USAGE = `npm run overlay:build -- [options]

Builds seganet-overlay, a static program, with Go: native/out/overlay/seganet-overlay.

options
  --packages  also the npm packages that bring it, in native/out/overlay/packages:
              ${PLATFORMS.map(({ os, cpu }) => `@seganet/overlay-${os}-${cpu}`).join(', ')}
  --laptops   also the programs for laptops, in native/out/overlay/laptops:
              ${LAPTOPS.map(laptopProgram).join(', ')}
  --help

SEGANET_GO names the command of Go if it is not the one in PATH.
`;

/** @param {string} file @param {{ os: string, arch: string }} [platform] of Go; default: this machine */
function build(file, platform) {
  const flags = `-ldflags=-s -w -X seganet.internal/overlay/internal/version.released=${version}`;
  runGo(['build', flags, '-o', file, '.'], platform ? { GOOS: platform.os, GOARCH: platform.arch } : {});
  process.stdout.write(`${path.relative(ROOT, file)}: ${(fs.statSync(file).size / MIB).toFixed(1)} MiB\n`);
}

/** The licenses of what is linked into the program, which its binary must carry. @param {string[]} systems as in Go */
function licenses(systems) {
  const format = '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}';
  const lines = systems.flatMap((GOOS) =>
    goOutput(['list', '-deps', '-f', format, '.'], { GOOS }).split('\n').filter(Boolean)
  );
  return [...new Set(lines)]
    .map((line) => {
      const [module, folder] = line.split('\t');
      const files = fs
        .readdirSync(folder, { withFileTypes: true })
        .filter((entry) => entry.isFile() && /^(LICEN[CS]E|COPYING|NOTICE)/i.test(entry.name))
        .map(({ name }) => name);
      if (files.length === 0) throw new Error(`${module} has no license file in ${folder}.`);
      const texts = files.map((name) => fs.readFileSync(path.join(folder, name), 'utf8').trim());
      return `${module}\n\n${texts.join('\n\n')}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** @param {string} packages folder @param {typeof PLATFORMS[number]} platform */
function makePackage(packages, { os, cpu, arch }) {
  const name = `overlay-${os}-${cpu}`;
  const folder = path.join(packages, name);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(path.join(folder, 'bin'), { recursive: true });
  build(path.join(folder, 'bin', 'seganet-overlay'), { os, arch });
  const manifest = {
    name: `@seganet/${name}`,
    version,
    description: `seganet-overlay for ${os} on ${cpu}, a static program.`,
    license: 'Apache-2.0',
    os: [os],
    cpu: [cpu],
    files: ['bin', 'LICENSES.txt'],
    bin: { 'seganet-overlay': 'bin/seganet-overlay' },
    preferUnplugged: true
  };
  fs.writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  fs.writeFileSync(
    path.join(folder, 'README.md'),
    `# @seganet/${name}\n\n${manifest.description} It is a part of SegaNet Gateway: https://github.com/seganet/node-red-gateway/blob/main/docs/use/overlay.md describes it.\n`
  );
  fs.copyFileSync(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'));
  fs.writeFileSync(path.join(folder, 'LICENSES.txt'), licenses([os]));
}

/** Makes the npm packages of all platforms. @param {string} [folder] */
function makePackages(folder = path.join(OUT, 'packages')) {
  for (const platform of PLATFORMS) makePackage(folder, platform);
}

function makeLaptopPrograms() {
  const folder = path.join(OUT, 'laptops');
  fs.mkdirSync(folder, { recursive: true });
  for (const platform of LAPTOPS) build(path.join(folder, laptopProgram(platform)), platform);
  fs.copyFileSync(path.join(ROOT, 'LICENSE'), path.join(folder, 'LICENSE'));
  fs.writeFileSync(path.join(folder, 'LICENSES.txt'), licenses([...new Set(LAPTOPS.map(({ os }) => os))]));
}

if (require.main === module) {
  runScript(() => {
    const { values } = parseArgs({
      options: {
        packages: { type: 'boolean' },
        laptops: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' }
      }
    });
    if (values.help) return void process.stdout.write(USAGE);
    fs.mkdirSync(OUT, { recursive: true });
    build(PROGRAM);
    if (values.packages) makePackages();
    if (values.laptops) makeLaptopPrograms();
  });
}

module.exports = { PLATFORMS, PROGRAM, makePackages };
