'use strict';
// The pages of the provider: plain HTML without scripts, so that any browser and screen reader can use them.

const { createHash } = require('node:crypto');

const STYLE = `body{font:1.1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
label{display:block;margin:1rem 0 .25rem}input{font:inherit;width:100%;padding:.5rem;box-sizing:border-box}
button{font:inherit;margin:1.25rem .5rem 0 0;padding:.5rem 1.25rem}.code{font-family:monospace}
.problem{border-left:.3rem solid #b00020;padding-left:.75rem}
@media(prefers-color-scheme:dark){body{color:#eee;background:#1b1b1b}}`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** @param {unknown} value @returns {string} for text and attributes of HTML */
function escaped(value) {
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

/**
 * Returns the headers of every page. The pages cannot be framed, cached or scripted.
 * @param {string[]} origins to which a form may lead besides this server
 * @returns {Record<string, string>}
 */
function pageHeaders(origins) {
  const targets = ["'self'", ...origins].join(' ');
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${targets}; base-uri 'none'; frame-ancestors 'none'`,
    'X-Content-Type-Options': 'nosniff',
    // With no-referrer, browsers send "Origin: null" with our own forms.
    'Referrer-Policy': 'same-origin',
    'Cache-Control': 'no-store'
  };
}

/** @param {string} title @param {string} body HTML @returns {string} */
function page(title, body) {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escaped(title)}</h1>
${body}
</main>
</body>
</html>
`;
}

function startPage() {
  return page(
    'Access codes for devices',
    `<p>A device needs an access code to sign up at the cloud. The code is valid for 10 minutes, for one device.</p>
<form method="get" action="/login"><button>Get an access code</button></form>
<form method="get" action="/login"><input type="hidden" name="as" value="other"><button>Log in as another user</button></form>`
  );
}

/**
 * @param {string} action path of the form
 * @param {{ problem?: string, user?: string }} [before] what was wrong with the last attempt
 */
function loginPage(action, { problem = '', user = '' } = {}) {
  const alert = problem && `<p class="problem" role="alert" id="problem">${escaped(problem)}</p>\n`;
  const described = problem ? ' aria-describedby="problem"' : '';
  return page(
    'Log in',
    `${alert}<p>The device that gets the access code will belong to this user.</p>
<form method="post" action="${escaped(action)}">
<label for="user">User</label>
<input id="user" name="user" value="${escaped(user)}" autocomplete="username" autocapitalize="none" spellcheck="false" maxlength="256" required autofocus${described}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" maxlength="1024" required${described}>
<button>Log in</button>
</form>`
  );
}

/** @param {string} action path of the form @param {string} user @param {string} client */
function consentPage(action, user, client) {
  return page(
    'Allow access',
    `<p>${escaped(client)} asks for an access code of the user <strong>${escaped(user)}</strong>. The device that gets it will belong to this user.</p>
<form method="post" action="${escaped(action)}">
<button>Allow</button>
</form>
<p><a href="/">Cancel</a></p>`
  );
}

/** @param {string} code @param {number} minutes */
function codePage(code, minutes) {
  return page(
    'Access code',
    `<p>One device can sign up with this code in the next ${minutes} minutes:</p>
<p><label for="code">Access code</label>
<input class="code" id="code" value="${escaped(code)}" readonly></p>
<p>Enter it in the device, with its onboarding tool. Do not give it to anybody else.</p>
<p><a href="/">Another code</a></p>`
  );
}

/** @param {string} title @param {string} sentence */
function errorPage(title, sentence) {
  return page(
    title,
    `<p class="problem" role="alert">${escaped(sentence)}</p>\n<p><a href="/">Start again</a></p>`
  );
}

module.exports = { startPage, loginPage, consentPage, codePage, errorPage, pageHeaders, escaped };
