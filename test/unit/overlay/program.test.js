'use strict';

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const locations = require('../../../nodes/lib/overlay/locations');
const { OverlayProgram } = require('../../../nodes/lib/overlay/overlay-program');

test('says what to enter on a machine that has not joined, and starts the node once it has', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'overlay-'));
  const file = path.join(folder, 'program');
  fs.writeFileSync(file, '#!/bin/sh\necho "$1 runs" >&2\n', { mode: 0o755 });
  /** @type {string[]} */
  const problems = [];
  const program = new OverlayProgram(
    {
      file,
      folder,
      url: '',
      root: '',
      token: '',
      device: '',
      offers: [],
      devices: '',
      minMs: 5,
      maxMs: 5
    },
    { onProblem: (sentence) => void problems.push(sentence) }
  );
  try {
    program.open();
    expect(problems).toEqual([
      expect.stringMatching(/enter the address .* root and the token of an invitation/)
    ]);
    fs.writeFileSync(path.join(folder, 'membership.json'), '{}');
    while (!problems.some((p) => p.includes('node runs')))
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect(problems.filter((p) => p.includes('join'))).toEqual(
      problems.filter((p) => p.includes('To join a network'))
    );
  } finally {
    await program.close();
    fs.rmSync(folder, { recursive: true });
  }
});

test('names the command that installs the missing program, where there is a package', () => {
  const { version } = require('../../../package.json');
  expect(locations.noProgram('linux-arm64')).toMatch(
    new RegExp(`npm install (-g )?@seganet/overlay-linux-arm64@${version}".*SEGANET_OVERLAY`)
  );
  expect(locations.noProgram('darwin-arm64')).toMatch(
    /no package with it for darwin-arm64. Name the program/
  );
  expect(locations.program({ SEGANET_OVERLAY: '/opt/seganet-overlay' })).toBe('/opt/seganet-overlay');
});
