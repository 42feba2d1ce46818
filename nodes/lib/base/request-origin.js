'use strict';
// Whether a page of another site made a browser send a request.

/** @typedef {import('node:http').IncomingHttpHeaders} Headers */

/**
 * True if no page sent the request, or a page of ours. Browsers add Origin to WebSockets, to POST, and to requests of
 * scripts to other sites, but not to the GET of an <img>. Sec-Fetch-Site names the relation for these; it is 'none' for
 * an address that a user typed. Tools send neither header, nor do browsers from before Sec-Fetch-Site (2023), nor any
 * browser to an address with http: that is not of its own machine. Where a GET has an effect, see isOfTool() as well.
 * @param {Headers} headers
 * @param {(origin: string) => boolean} isOurs of an Origin
 */
function isFromHere({ origin, 'sec-fetch-site': site }, isOurs) {
  if (origin !== undefined) return isOurs(origin);
  return site === undefined || site === 'same-origin' || site === 'none';
}

/**
 * True unless a browser sent the request without any sign of the page behind it: no Origin, no Sec-Fetch-Site, and no
 * Referer of ours, which our own pages send and others can only leave out.
 * @param {Headers} headers
 * @param {(origin: string) => boolean} isOurs of an address
 */
function isOfTool({ origin, 'sec-fetch-site': site, referer, 'user-agent': agent = '' }, isOurs) {
  if (origin !== undefined || site !== undefined || !/^Mozilla\//.test(agent)) return true;
  return referer !== undefined && isOurs(referer);
}

/**
 * True if the browser opens a page, for example for a link of another site. Allow it only where a GET has no effect. A
 * frame is no link: the user may click in it unseen.
 * @param {Headers} headers
 */
function isLink({ origin, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest }) {
  return origin === undefined && mode === 'navigate' && dest === 'document';
}

module.exports = { isFromHere, isLink, isOfTool };
