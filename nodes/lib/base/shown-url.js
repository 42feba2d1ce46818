'use strict';

/**
 * Removes a user name and a password from text that was entered as a URL, also if the text is not a valid URL. Logs and
 * status texts reach more readers than settings do.
 * @param {string} text
 */
function shownUrl(text) {
  // Up to the last @: a password that is not encoded may contain @ and slashes.
  return text.replace(/^([a-z][a-z0-9+.-]*:\/\/)?.*@/is, '$1…@');
}

exports.shownUrl = shownUrl;
