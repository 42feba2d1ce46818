'use strict';
// Topic templates of uplink nodes, checked when the node starts.

const { uplink } = require('./modules');

/**
 * @param {string} name of the property
 * @param {string} template such as gw/{gateway}/{class}
 * @throws {Error} with a sentence
 */
function checkTemplate(name, template) {
  const problem = uplink().validateTopicTemplate(template);
  if (typeof problem === 'string' && problem) throw new Error(`"${name}": ${problem}`);
}

module.exports = { checkTemplate };
