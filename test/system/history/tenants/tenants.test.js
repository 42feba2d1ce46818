'use strict';
// Two seeded histories of a front, a keeper and three tenants. Many: run.js --mode tenants.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { Lab } = require('./lab');
const { runOne } = require('./run-one');
const { drawSchedule } = require('./schedule');

jest.setTimeout(240000);

/** @type {string} */
let folder;
/** @type {Lab} */
let lab;

beforeAll(async () => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'seganet-h-'));
  fs.mkdirSync(path.join(folder, 'lab'));
  lab = await new Lab(path.join(folder, 'lab')).open();
});
afterAll(async () => {
  await lab?.close();
  fs.rmSync(folder, { recursive: true, force: true });
});

test.each(['keeper-kill', 'all-kill'])('%s: nothing is lost, doubled, swapped or stuck', async (kind) => {
  const schedule = drawSchedule(1, { seconds: 2, kinds: [kind] });
  const { verdict } = await runOne(schedule, { lab, folder });
  expect(verdict.violations.map(({ what, text }) => `${what}: ${text}`)).toEqual([]);
  expect(verdict.acknowledged).toBeGreaterThan(0);
});
