'use strict';
// Whether this process is asked to end. The nodes of a flow close at a deploy, too, and cannot tell the difference.

let isEnding = false;

/** Call it when the end begins. */
function beginEnd() {
  isEnding = true;
}

/** @returns {boolean} */
const hasBegunEnd = () => isEnding;

module.exports = { beginEnd, hasBegunEnd };
