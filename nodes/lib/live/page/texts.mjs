// The texts of the panel, from the catalog nodes/locales/…/seganet-sidebar.json.

import { useNumbersOf } from './format.mjs';
import { phrasebook } from './phrases.mjs';

/** The folders of nodes/locales, each with the name of its language in that language. */
export const LANGUAGES = { 'en-US': 'English', de: 'Deutsch' };

/**
 * Loads a catalog and returns t(key, values); t.optional(key): undefined if there is no such text; t.inWords(text): a
 * status or a short reason in the language of the catalog, which is t.language.
 *   root      folder of the page's files
 *   language  the wanted one, such as de-DE; '' for the one that the browser asks for
 */
export async function loadTexts(root, language) {
  const response = await fetch(`${root}texts.json${language ? `?lng=${encodeURIComponent(language)}` : ''}`);
  const { phrases, ...catalog } = await response.json();
  const find = (key) =>
    key.split('.').reduce((at, part) => (Object.hasOwn(at ?? {}, part) ? at[part] : undefined), catalog);
  const t = (key, values = {}) =>
    String(find(key) ?? key).replace(/__(\w+?)__/g, (whole, name) => String(values[name] ?? whole));
  t.optional = (key) => {
    const text = find(key);
    return typeof text === 'string' ? text : undefined;
  };
  t.inWords = phrasebook(phrases);
  t.language = response.headers.get('content-language') ?? 'en-US';
  useNumbersOf(t.language);
  return t;
}
