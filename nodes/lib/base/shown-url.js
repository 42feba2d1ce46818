'use strict';

/**
 * Text that was given as a URL, for a message: without what may be a user name and a password, also where it is no URL. Logs and status
 * texts travel further than settings.
 * @param {string} text
 */
function shownUrl(text) {
  // The last @: a password that is not encoded may hold others, and slashes.
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@');
}

exports.shownUrl = shownUrl;
