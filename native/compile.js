'use strict';

// Compiles the units whose files changed since their objects were made, and links the addon.

const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { allFiles } = require('./sources');

/**
 * @typedef {object} Unit
 * @property {string} source relative to the folder where the compiler runs
 * @property {string} name of the object, without `.o`
 *
 * @typedef {object} Job
 * @property {import('./compiler').Toolchain} toolchain
 * @property {string} cwd where the compiler runs
 * @property {Unit[]} units
 * @property {string} folder for objects; a name of its own for each target
 * @property {string} addon the file to make
 * @property {boolean} [force] compile all
 */

/** Memory that the largest unit needs to compile. */
const COMPILER_BYTES = 550 * 2 ** 20;
/** Between two lines that tell how far the build is, ms. */
const PROGRESS_MS = 15_000;
const OWN_FILES = ['build.js', 'compile.js', 'compiler.js', 'joined.js', 'sources.js'].concat(
  ['exports.map', 'targets.js', 'toolchain.js', 'wheels.js'].map((name) => `prebuild/${name}`)
);

/** @param {string} file @returns {number} when it changed last, ms; 0: it does not exist */
const changedAt = (file) => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** @param {string} addon any platform's @returns {boolean} it is newer than all files that it is made from */
function upToDate(addon) {
  const files = [...OWN_FILES, ...allFiles()].map((name) => path.join(__dirname, name));
  return changedAt(addon) > Math.max(...files.map(changedAt));
}

/**
 * @param {string} object
 * @param {string} cwd
 * @returns {boolean} none of the files that the compiler read for it changed since
 */
function objectUpToDate(object, cwd) {
  const made = changedAt(object);
  const dependencies = object.replace(/\.o$/, '.d');
  if (!made || !changedAt(dependencies)) return false;
  const text = fs.readFileSync(dependencies, 'utf8').replace(/\\\n/g, ' ');
  const paths = text.slice(text.indexOf(': ') + 2).match(/(?:\\.|[^\s\\])+/g) || [];
  const names = paths.map((name) => name.replace(/\\(.)/g, '$1').replaceAll('$$', '$'));
  return names.every((name) => {
    const changed = changedAt(path.resolve(cwd, name));
    return changed !== 0 && changed < made;
  });
}

/** @returns {number} compiler processes: one per core, but no more than fit into the free memory of a small computer */
function parallelJobs() {
  const wanted = Number(process.env.JOBS);
  if (Number.isInteger(wanted) && wanted > 0) return wanted;
  const cores = os.cpus().length || 1;
  return Math.max(1, Math.min(cores, Math.floor(os.freemem() / COMPILER_BYTES)));
}

/**
 * @param {string[]} command and its arguments
 * @param {string} cwd
 * @returns {Promise<void>} it ended well; its warnings are not shown
 * @throws {Error} it did not; the message has what it printed
 */
function run([command, ...args], cwd) {
  return new Promise((resolve, reject) => {
    const done = (
      /** @type {Error | null} */ error,
      /** @type {string} */ _,
      /** @type {string} */ stderr
    ) => {
      if (!error) return resolve();
      const signal = /** @type {any} */ (error).signal;
      const end = signal
        ? `\n${command} was ended by ${signal}: too little memory? JOBS=1 needs the least`
        : '';
      reject(new Error(`${stderr || error.message}${end}`));
    };
    execFile(command, args, { cwd, maxBuffer: 2 ** 26 }, done);
  });
}

/**
 * @param {Job} job
 * @param {Unit} unit
 * @returns {Promise<string>} its object
 */
async function compileUnit(job, unit) {
  const object = path.join(job.folder, 'objects', `${unit.name}.o`);
  if (objectUpToDate(object, job.cwd)) return object;
  fs.mkdirSync(path.dirname(object), { recursive: true });
  try {
    await run([...job.toolchain.compile, unit.source, '-o', object], job.cwd);
  } catch (error) {
    fs.rmSync(object, { force: true });
    throw error;
  }
  return object;
}

/** @param {Job} job @returns {Promise<string[]>} objects to link */
async function compileUnits(job) {
  /** @type {string[]} */
  const objects = [];
  const queue = job.units.map((unit, index) => ({ unit, index }));
  const report = setInterval(
    () => console.log(`native engine: ${job.units.length - queue.length} of ${job.units.length} files`),
    PROGRESS_MS
  );
  const compileNext = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      try {
        objects[next.index] = await compileUnit(job, next.unit);
      } catch (error) {
        queue.length = 0; // the others stop behind the unit that they are at
        throw error;
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: parallelJobs() }, compileNext));
  clearInterval(report);
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  return objects;
}

/**
 * Makes the addon. Objects of an earlier build are used again if it had the same commands and units.
 * @param {Job} job
 * @returns {Promise<void>}
 * @throws {Error} the compiler's or linker's messages; an older addon stays
 */
async function makeAddon(job) {
  const { toolchain, folder } = job;
  const lastFile = path.join(folder, 'build.json');
  const thisBuild = JSON.stringify([toolchain.compile, toolchain.link, job.units], null, 1);
  const lastBuild = fs.existsSync(lastFile) ? fs.readFileSync(lastFile, 'utf8') : '';
  if (job.force || thisBuild !== lastBuild)
    fs.rmSync(path.join(folder, 'objects'), { recursive: true, force: true });
  fs.mkdirSync(folder, { recursive: true });
  fs.writeFileSync(lastFile, thisBuild);
  const objects = await compileUnits(job);
  // Under another name first: a running gateway keeps the file that it has open, and none loads half a file.
  const linked = `${job.addon}.new`;
  await run([...toolchain.link, ...objects, '-o', linked], job.cwd);
  fs.renameSync(linked, job.addon);
}

module.exports = { makeAddon, upToDate };
