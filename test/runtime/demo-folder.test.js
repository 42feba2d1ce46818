'use strict';
// The temporary folders of demos: one whose process was killed is removed by the next demo, and no other one.

const fs = require('node:fs');
const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { ownIdentity } = require('../../flows/launcher/together');
const { temporaryFolder } = require('./process');

const MODULE = path.join(__dirname, '../../flows/demo/command/folder.js');
const { OWNER } = require(MODULE);

test('removes folders of demos that were killed, and no other one', () => {
  const place = temporaryFolder();
  /** @param {string} script */
  const run = (script) =>
    spawnSync(
      process.execPath,
      ['-e', `const { makeFolder } = require(${JSON.stringify(MODULE)}); ${script}`],
      {
        env: { ...process.env, TMPDIR: place },
        encoding: 'utf8'
      }
    );
  const killed = run(`console.log(makeFolder('t').home); process.kill(process.pid, 'SIGKILL');`);
  const home = killed.stdout.trim();
  expect([killed.signal, path.dirname(home)]).toEqual(['SIGKILL', place]);
  fs.mkdirSync(path.join(home, 'volumes/acme'), { recursive: true });
  /** @param {string} name @param {string} [owner] */
  const folder = (name, owner) => {
    fs.mkdirSync(path.join(place, name));
    if (owner !== undefined) fs.writeFileSync(path.join(place, name, OWNER), owner);
    return name;
  };
  const gone = JSON.parse(fs.readFileSync(path.join(home, OWNER), 'utf8'));
  const own = ownIdentity();
  const kept = [
    folder('seganet-t-living', JSON.stringify(own)),
    folder('seganet-cloud-nobody'),
    folder('seganet-o-broken', '{'),
    folder('seganet-o-wrong0', '{"pid":0,"start":"1"}'),
    folder('seganet-home-others', JSON.stringify(gone))
  ];
  fs.symlinkSync(home, path.join(place, 'seganet-t-linked'));
  // The process id is in use again, by a process that started later.
  folder('seganet-o-reused', JSON.stringify({ ...own, start: '1' }));
  const next = run(`makeFolder('cloud').remove()`);
  expect([next.status, next.stderr]).toEqual([0, '']);
  expect(fs.readdirSync(place).sort()).toEqual([...kept, 'seganet-t-linked'].sort());
});
