'use strict';
// Device ids that an attacker chooses.

const native = require('../../../native');

/**
 * Sixteen letters each that lead from one state of MurmurHash64A with libstdc++'s fixed seed to the next: one of each
 * row, in any of 65,536 combinations, is an id of 64 letters with the same std::hash.
 */
const STEPS = [
  '04VX3vm66f0gJ4mC t-fIJaytuCEp3Nif Inv1iV9fe-6zqTxr Xd6NRB5XnC1xPf07 7hAQ0-Bb7O8AxLU6 0lWGKpgjCJSMWyaH vQGXXNtfHQEo_Ckf _4CSZYiOxD9DjGGO AwK2pA55Uz5jj7OC toNAiwvqMLZR2w0q mVbiFkSLHgNd4R4J EeWNSLEbFe7g880n boIoOZU0xtqegLK1 kjBNePN2Alukak_L c5DkLtclYI2NrVZw QU8d1TpPnHZXUbhP',
  'PmHOi8ovJu8ea6es qiWW15wY_emHgYdQ Ds_iti6-yJ8dG_ma JXc4kVdx6uVQwq3I -i_g4Lb_6KOZ5bDB xPLjfOaiL-UF2GSv e8FIMV5Cc-ijcy4y Ddah2q-E6lcJzpA- xYMvDF7T5eldu_ni 9MFuYx_1q3q2FBmb 5jgj-3yEENGuWza1 _6z0IcfiTQcP5FPd 0DQ7anE1qaanT3Dc scEgCoTLep_MVvfk ODaDhv3vPeNtS-bW VdjT7n-VhOvTckJZ',
  'R5YBMq3-3m-dyWVB Tt1XtMhFdhlnqwLI DTEIzg0JKiDN10Zs feRVJfSDzLoryQLA yecgz_PvFhKJDc4B MKQo5nO6rbLVeUhB neS7EHD3y31FLH66 l1o7jpy__fM2_yYo 0N_JETQcGuIo-YTa snCv0XLArEG5n1ov TFGiyNVz8H22aPjb KjT8hAMG21wwaJzQ 4UKxBF2n9cgavbAo xWj_DqIUvwFfioHy WEetwBpuu90NAbyH TB_KUea1eHdJRVwy',
  '-HbTTlHGSfXOSen8 DEaxA-p27avpevT0 TDzA9XZSYEbFXXrS HqC6Is3V_uJGYFju vmxuYFHYsI09kYV6 8A3zfPWA0eQ98uhp qc8JDx0OsEdJgjAq E5BnuvJuUrqKmNPF dSACl1j2AMb4rTiE kX0cmNlEKymdQNzG QTsKP4rg3aXCX56M UPIqiAzS385LIEBg fmqXrz4pcOaEN6gY s9e6Ruwn6qoz_YtP CHr47R0kgwoN_Rwp WwnOpS-3_BGhXaPf'
].map((row) => row.split(' '));

/** @param {number} n 0..65535 @returns {string} all have one hash where the seed is not secret */
function colliding(n) {
  return STEPS.map((row, i) => row[(n >> (4 * i)) & 15]).join('');
}

/** @param {number} count @param {string} prefix @returns {string[]} ids of one worker of two */
function ofOneWorker(count, prefix) {
  const engine = new native.Engine({ workers: 2 }, () => {});
  /** @type {string[]} */
  const ids = [];
  for (let i = 0; ids.length < count; i++) {
    const id = `${prefix}-${i}`;
    if (engine.workerOf(id) === 0) ids.push(id);
  }
  engine.close();
  return ids;
}

module.exports = { colliding, ofOneWorker };
