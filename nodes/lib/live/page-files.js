'use strict';
// The files of the status page. They contain no data, like the files of the editor: the data needs the login.

const fs = require('node:fs');
const path = require('node:path');

const FOLDER = path.join(__dirname, 'page');
const LOCALES = path.join(__dirname, '..', '..', 'locales');
const DEFAULT_LANGUAGE = 'en-US';
const CATALOG = 'seganet-sidebar.json';

/** By extension. Only files of these kinds are served. @type {Record<string, string>} */
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8'
};

const HEADERS = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
  'X-Content-Type-Options': 'nosniff',
  // The directory takes a browser's question for one of our page by this, where there is no Sec-Fetch-Site.
  'Referrer-Policy': 'same-origin',
  // Checked again at each load, so that an update of the package has an effect.
  'Cache-Control': 'no-cache'
};

/** @returns {string[]} names of the files, index.html included */
function pageFiles() {
  return fs.readdirSync(FOLDER).filter((name) => TYPES[path.extname(name)]);
}

/**
 * @param {string} name one of pageFiles()
 * @returns {{ type: string, file: string }}
 */
function pageFile(name) {
  return { type: TYPES[path.extname(name)], file: path.join(FOLDER, name) };
}

/** @param {string} language @returns {string[]} the statuses of nodes, reasons, and the sentences of readyz */
function phrasesIn(language) {
  const { status, reason, sentence } = require(path.join(LOCALES, language, 'seganet-editor.json'));
  return [status, reason, sentence].flatMap((group) => Object.values(group));
}

/**
 * Returns the texts of the page in the first of these languages that exists, else in English.
 * @param {string[]} wanted such as de-DE, de
 * @returns {{ language: string, texts: { phrases: string[][], [group: string]: any } }} phrases: statuses and short
 *   reasons in English, each with its words; none in English
 */
function textsFor(wanted) {
  const folders = fs.readdirSync(LOCALES);
  const folderOf = (/** @type {string} */ each) =>
    folders.find((name) => name === each) ??
    folders.find((name) => name.split('-')[0] === each.split('-')[0]);
  const language = wanted.map(folderOf).find(Boolean) ?? DEFAULT_LANGUAGE;
  const words = phrasesIn(language);
  const phrases = phrasesIn(DEFAULT_LANGUAGE).map((text, index) => [text, words[index]]);
  return {
    language,
    texts: {
      ...require(path.join(LOCALES, language, CATALOG)),
      phrases: language === DEFAULT_LANGUAGE ? [] : phrases
    }
  };
}

module.exports = { pageFiles, pageFile, textsFor, HEADERS };
