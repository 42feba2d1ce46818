'use strict';
// npm run overlay:build -- [--packages]: builds seganet-overlay. See --help.

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

const USAGE = `npm run overlay:build -- [options]

Builds seganet-overlay, a static program, with Go: native/out/overlay/seganet-overlay.

options
  --packages  also the npm packages that bring it, in native/out/overlay/packages:
              ${PLATFORMS.map(({ os, cpu }) => `@seganet/overlay-${os}-${cpu}`).join(', ')}
  --help

SEGANET_GO names the command of Go if it is not the one in PATH.
`;

/** @param {string} file @param {string} [arch] of Go */
function build(file, arch) {
  const flags = [
    '-trimpath',
    '-buildvcs=false',
    `-ldflags=-s -w -X seganet.internal/overlay/internal/version.released=${version}`
  ];
  runGo(['build', ...flags, '-o', file, '.'], arch ? { GOOS: 'linux', GOARCH: arch } : {});
  process.stdout.write(`${path.relative(ROOT, file)}: ${(fs.statSync(file).size / MIB).toFixed(1)} MiB\n`);
}

/** The licenses of what is linked into the program, which its binary must carry. @returns {string} */
function licenses() {
  const format = '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}';
  const lines = goOutput(['list', '-deps', '-f', format, '.']).split('\n').filter(Boolean);
  return [...new Set(lines)]
    .map((line) => {
      const [module, folder] = line.split('\t');
      const files = fs.readdirSync(folder).filter((name) => /^(LICEN[CS]E|COPYING|NOTICE)/i.test(name));
      if (files.length === 0) throw new Error(`${module} has no license file in ${folder}.`);
      const texts = files.map((name) => fs.readFileSync(path.join(folder, name), 'utf8').trim());
      return `${module}\n\n${texts.join('\n\n')}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}

/** @param {typeof PLATFORMS[number]} platform */
function makePackage({ os, cpu, arch }) {
  const name = `overlay-${os}-${cpu}`;
  const folder = path.join(OUT, 'packages', name);
  fs.rmSync(folder, { recursive: true, force: true });
  fs.mkdirSync(path.join(folder, 'bin'), { recursive: true });
  build(path.join(folder, 'bin', 'seganet-overlay'), arch);
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
  fs.writeFileSync(path.join(folder, 'LICENSES.txt'), licenses());
}

if (require.main === module) {
  runScript(() => {
    const { values } = parseArgs({
      options: { packages: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }
    });
    if (values.help) return void process.stdout.write(USAGE);
    fs.mkdirSync(OUT, { recursive: true });
    build(PROGRAM);
    if (values.packages) for (const platform of PLATFORMS) makePackage(platform);
  });
}

module.exports = { PLATFORMS, PROGRAM };
