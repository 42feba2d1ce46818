'use strict';
// What the store thread keeps in PostgreSQL: the log, the sessions, the dead letters and the commands.

const { PairCommands } = require('./pair-commands');
const { PairDeadLetters } = require('./pair-dead-letters');
const { PairLog } = require('./pair-log');
const { PairSessions } = require('./pair-sessions');

/**
 * @param {import('../store/log-parts').LogContext} context
 * @returns {import('../store/log-parts').LogParts}
 */
function makeParts({ options, workerData, post, problem, changed, restored }) {
  /** @type {(() => void)[]} callers of tell() */
  const telling = [];
  const commands = new PairCommands(post);
  const sessions = new PairSessions({ problem, restored });
  const store = new PairLog({
    options,
    memory: new Float64Array(workerData.rows),
    holder: workerData.holder,
    problem,
    changed,
    tell: (isReplicated) => {
      post({ type: 'replicated', isReplicated });
      return new Promise((resolve) => telling.push(() => resolve()));
    },
    fenced: (reason) => post({ type: 'fenced', reason }),
    opened: async (use) => {
      await sessions.open(use);
      await commands.open(use);
    }
  });
  const onMessage = (/** @type {any} */ { type, change }) => {
    if (type === 'told') telling.shift()?.();
    else if (type === 'release') store.releases = true;
    else if (type === 'commands') void commands.change(change);
  };
  return { store, sessions, deadLetters: new PairDeadLetters(store), onMessage };
}

module.exports = { makeParts };
