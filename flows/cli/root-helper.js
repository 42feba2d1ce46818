'use strict';
// The last steps of a command whose process is not root any more: what has to be done in a folder of root or of a third
// user. A process of its own does them. It was started before the rights were given up, knows the names already, and
// takes no data: it does a step, or undoes what was begun when the command ends.

const { fork } = require('node:child_process');
const crypto = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

/** Number of the descriptor with which the helper gets a folder. */
const FOLDER_FD = 4;
const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/** @typedef {{ folder: string, draft: string, name: string }} ArchiveJob folder: path of the folder of both */
/** @typedef {{ stage: string, home: string, user: { uid: number, gid: number } | null }} RestoreJob user: if not this one */
/** @typedef {'begin' | 'commit' | 'discard'} Step */
/** @typedef {{ ask(step: Step): Promise<any>, end(): void }} Steps */

/** @type {Record<string, Record<Step, (job: any) => any>>} */
const KINDS = {
  archive: {
    begin: () => {},

    /** @param {ArchiveJob} job */
    commit({ folder, draft, name }) {
      fs.renameSync(`${folder}/${draft}`, `${folder}/${name}`);
      syncFolder(`${folder}/.`);
    },

    /** @param {ArchiveJob} job */
    discard: ({ folder, draft }) => fs.rmSync(`${folder}/${draft}`, { force: true })
  },
  restore: {
    /** @param {RestoreJob} job */
    begin({ stage, user }) {
      fs.mkdirSync(stage, { mode: 0o700 });
      if (user) fs.lchownSync(stage, user.uid, user.gid);
    },

    /** @param {RestoreJob} job @returns {string} of swap() */
    commit({ stage, home, user }) {
      const restored = path.join(stage, 'home');
      if (!user) return swap(restored, home);
      // The stage is the user's, who may exchange everything in it, but not what is in the folder above it.
      const own = `${home}.new-${crypto.randomBytes(4).toString('hex')}`;
      fs.renameSync(restored, own);
      const stat = fs.lstatSync(own);
      if (!stat.isDirectory() || stat.uid !== user.uid) {
        throw new Error(`another process has exchanged the restored folder, which is now ${own}`);
      }
      return swap(own, home);
    },

    /** Removes the stage, which its user has emptied. @param {RestoreJob} job */
    discard({ stage }) {
      try {
        fs.rmdirSync(stage);
      } catch {
        // It was not begun, or the user put something there.
      }
    }
  }
};

/** @param {string} folder */
function syncFolder(folder) {
  const fd = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(fd);
  } finally {
    fs.closeSync(fd);
  }
}

/**
 * Replaces the folder by renaming.
 * @param {string} restored
 * @param {string} home
 * @returns {string} the new name of the folder that was there, '' = there was none, or an empty one
 */
function swap(restored, home) {
  let aside = '';
  if (fs.existsSync(home) && fs.readdirSync(home).length > 0) {
    aside = `${home}.before-${new Date().toISOString().replaceAll(':', '-')}`;
    fs.renameSync(home, aside);
  }
  try {
    // rename() replaces an empty folder.
    fs.renameSync(restored, home);
  } catch (error) {
    if (aside) fs.renameSync(aside, home);
    throw error;
  }
  syncFolder(path.dirname(home));
  return aside;
}

/**
 * Returns steps that this process does itself.
 * @param {keyof typeof KINDS} kind
 * @param {ArchiveJob | RestoreJob} job
 * @returns {Steps}
 */
const ownSteps = (kind, job) => ({ ask: async (step) => KINDS[kind][step](job), end: () => {} });

/**
 * Starts a process that does the steps with the rights that this process has now.
 * @param {keyof typeof KINDS} kind
 * @param {ArchiveJob | RestoreJob} job
 * @param {number} [folderFd] of an archive's folder, which replaces its name
 * @returns {Steps}
 */
function helperSteps(kind, job, folderFd) {
  const given = folderFd === undefined ? job : { ...job, folder: `/proc/self/fd/${FOLDER_FD}` };
  const child = fork(__filename, [kind, JSON.stringify(given)], {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', folderFd ?? 'ignore']
  });
  /** @type {Promise<never>} */
  const failed = new Promise((_resolve, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error('the helper with the rights of root has ended')));
  });
  failed.catch(() => {});
  const ask = async (/** @type {Step} */ step) => {
    const answer = new Promise((resolve) => child.once('message', resolve));
    child.send({ step });
    const { result, error } = await Promise.race([answer, failed]);
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  };
  return { ask, end: () => void (child.connected && child.disconnect()) };
}

/** Does the steps that the parent asks for, until it ends. */
function serve() {
  const [kind, text] = process.argv.slice(2);
  const [steps, job] = [KINDS[kind], JSON.parse(text)];
  process.umask(0o077);
  // A Ctrl-C reaches this process, too, which has to clean up behind the command.
  for (const signal of SIGNALS) process.on(signal, () => {});
  process.on('message', (/** @type {{ step: Step }} */ { step }) => {
    /** @type {object} */
    let answer;
    try {
      answer = { result: steps[step](job) };
    } catch (error) {
      const { code, message } = /** @type {NodeJS.ErrnoException} */ (error);
      answer = { error: { code, message } };
    }
    process.send?.(answer);
  });
  process.on('disconnect', () => {
    steps.discard(job);
    process.exit(0);
  });
}

if (require.main === module) serve();

module.exports = { helperSteps, ownSteps, syncFolder };
