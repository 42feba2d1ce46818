'use strict';
// Opens the file of a backup where the command's caller wants it: in a folder of root, of the gateway's user, or of a
// third one. Root does so before it takes the rights of the gateway's user.

const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { CliError } = require('../../nodes/lib/base/cli/cli-error');
const { inPlace, isRoot, placeOf, userOf, within } = require('../../nodes/lib/base/cli/place');
const { withRightsOf } = require('../../nodes/lib/base/cli/rights');
const { openRegular } = require('../../nodes/lib/base/files/regular-file');
const { helperSteps, ownSteps } = require('./root-helper');
const { EXIT } = require('./usage');

/** @typedef {import('../../nodes/lib/base/cli/place').User} User */
/**
 * @typedef {object} Draft of a new archive
 * @property {number} writer descriptor
 * @property {number} reader descriptor of the same file
 * @property {boolean} isBeside true: the user may have other files beside it
 * @property {import('./root-helper').Steps} steps
 */

const ROOT = 0;
const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;

/**
 * Creates the draft of an archive.
 * @param {string} file absolute
 * @param {boolean} force an existing file may be replaced
 * @param {User | null} user whose rights root takes afterwards; null: this process is not root
 * @returns {Draft}
 */
function createDraft(file, force, user) {
  const [parent, name] = [path.dirname(file), path.basename(file)];
  const draft = `${name}.${crypto.randomBytes(4).toString('hex')}.part`;
  if (!user || !isRoot()) {
    const steps = ownSteps('archive', { folder: parent, draft, name });
    return { ...open(parent, draft, name, force, file), isBeside: true, steps };
  }
  const place = placeOf(parent);
  try {
    if (place.rest.length > 0) throw new CliError(`There is no folder ${parent}.`, EXIT.CANNOT);
    const owner = userOf(place, file, false);
    const folder = within(place.fd, '.');
    if (owner.uid === user.uid) {
      const fds = withRightsOf(owner, () => open(folder, draft, name, force, file));
      // In a folder such as /tmp, others see what is there, and may put something beside it.
      const isBeside = owner.uid !== ROOT || (place.stat.mode & 0o022) === 0;
      return { ...fds, isBeside, steps: ownSteps('archive', { folder: place.folder, draft, name }) };
    }
    const fds = open(folder, draft, name, force, file);
    return { ...fds, isBeside: false, steps: helperSteps('archive', { folder, draft, name }, place.fd) };
  } finally {
    fs.closeSync(place.fd);
  }
}

/**
 * @param {string} folder @param {string} draft @param {string} name @param {boolean} force @param {string} shown
 * @returns {{ writer: number, reader: number }}
 */
function open(folder, draft, name, force, shown) {
  if (!force && fs.lstatSync(`${folder}/${name}`, { throwIfNoEntry: false })) {
    throw new CliError(`${shown} exists. Choose another name, or replace it with --force.`, EXIT.CANNOT);
  }
  const writer = fs.openSync(`${folder}/${draft}`, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
  try {
    return { writer, reader: fs.openSync(`${folder}/${draft}`, O_RDONLY | O_NOFOLLOW) };
  } catch (error) {
    fs.closeSync(writer);
    throw error;
  }
}

/**
 * Opens an archive to read.
 * @param {string} file absolute
 * @param {User | null} user whose rights root takes afterwards; null: this process is not root
 * @returns {number} descriptor
 * @throws {CliError} if there is no such file, or only root may read it and another user chose it
 */
function openArchive(file, user) {
  const openIt = (/** @type {string} */ name, /** @type {boolean} */ follows) => {
    try {
      return openRegular(name, { follows });
    } catch (error) {
      const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error);
      if (['ENOENT', 'ENOTDIR', 'EINVAL', 'ELOOP'].includes(code)) throw noFile(file);
      throw new CliError(`${file} cannot be read (${code}).`, EXIT.CANNOT);
    }
  };
  if (!user || !isRoot()) return openIt(file, true);
  return inPlace(file, (place) => {
    const owner = userOf(place, file, false);
    const [name] = place.rest;
    if (place.rest.length !== 1) throw noFile(file);
    if (owner.uid === user.uid) return withRightsOf(owner, () => openIt(within(place.fd, name), false));
    const fd = openIt(within(place.fd, name), false);
    const { uid, nlink } = fs.fstatSync(fd);
    // A second name of another user's file.
    if (owner.uid === ROOT || uid === owner.uid || nlink === 1) return fd;
    fs.closeSync(fd);
    throw new CliError(
      `${file} is a second name of a file of user ${uid}, so root does not read it. Copy it.`,
      EXIT.CANNOT
    );
  });
}

/** @param {string} file */
const noFile = (file) => new CliError(`${file} is not a file.`, EXIT.CANNOT);

module.exports = { createDraft, openArchive };
