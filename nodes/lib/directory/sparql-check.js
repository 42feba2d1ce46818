'use strict';
// Refuses SPARQL that the directory does not answer: updates, and requests to other servers. Pure.

const { DirectoryError } = require('./directory-error');

const MAX_LENGTH = 8192;
/** Of braces and parentheses: the parser calls itself for each. */
const MAX_DEPTH = 64;
const FORMS = ['SELECT', 'ASK', 'CONSTRUCT', 'DESCRIBE'];
const UPDATES = ['INSERT', 'DELETE', 'LOAD', 'CLEAR', 'DROP', 'CREATE', 'ADD', 'MOVE', 'COPY', 'WITH'];
// An IRI, a string, a comment, an escaped character, a variable, or a run of letters, digits, dots and hyphens, which
// is a name if it has a colon. Text in quotes has no keywords. A run is read as a whole, also without a colon: reading
// it again from each of its characters would take quadratic time.
const TOKEN =
  /<[^<>"{}|^`\\\s]*>|"""(?:[^\\]|\\.)*?"""|'''(?:[^\\]|\\.)*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*|\\.|[?$@][\p{L}\p{N}_-]+|[\p{L}\p{N}_.-]+(?::(?:[\p{L}\p{N}_.%:-]|\\.)*)?|:(?:[\p{L}\p{N}_.%:-]|\\.)*/gsu;
const RUN = /^[\p{L}\p{N}_.-]+$/u;
const WORD = /[\p{L}_][\p{L}\p{N}_]*/gu;

/**
 * @param {unknown} query
 * @returns {{ text: string, form: string }} form: SELECT, ASK, CONSTRUCT or DESCRIBE
 * @throws {DirectoryError} 400
 */
function checkSparql(query) {
  if (typeof query !== 'string' || query.trim() === '')
    throw new DirectoryError(
      400,
      'The parameter query is missing. Write ?query=SELECT … with the text URL-encoded.'
    );
  if (query.length > MAX_LENGTH)
    throw new DirectoryError(400, `A query has at most ${MAX_LENGTH} characters.`);
  const words = (query.match(TOKEN) ?? [])
    .flatMap((token) => (RUN.test(token) ? (token.match(WORD) ?? []) : []))
    .map((word) => word.toUpperCase());
  if (depthOf(query) > MAX_DEPTH)
    throw new DirectoryError(400, `A query is nested at most ${MAX_DEPTH} levels deep.`);
  if (words.includes('SERVICE'))
    throw new DirectoryError(400, 'SERVICE is refused: the directory sends no requests to other servers.');
  const form = words.find((word) => FORMS.includes(word) || UPDATES.includes(word)) ?? '';
  if (!FORMS.includes(form))
    throw new DirectoryError(
      400,
      `${form ? `${form} is refused: the` : 'The'} directory answers only SELECT, ASK, CONSTRUCT and DESCRIBE.`
    );
  return { text: query, form };
}

/** @param {string} query */
function depthOf(query) {
  let [depth, deepest] = [0, 0];
  for (const letter of query) {
    if (letter === '{' || letter === '(' || letter === '[') deepest = Math.max(deepest, ++depth);
    else if (letter === '}' || letter === ')' || letter === ']') depth--;
  }
  return deepest;
}

module.exports = { MAX_LENGTH, checkSparql };
