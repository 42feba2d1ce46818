// Statuses and short reasons in the language of the reader. They are in English, because programs, the log and the
// status node read them, too. Each part between dots is a phrase of the catalog nodes/locales/…/seganet-editor.json,
// with figures {n}, {m} and phrases or names {a}, {b}.

const FIGURE = '[\\d.]+(?: [kM])?';
/** A phrase of names with at most this many letters, such as {a} is {b}, counts only if a name is a phrase, too. */
const FEW_LETTERS = 4;
/** Phrases in phrases; a text of a broker must not cost the reader more. */
const MOST_DEEP = 4;

/** Returns inWords(text): the text with its known phrases in words. phrases: [English, words] each */
export function phrasebook(phrases) {
  const all = phrases
    .map(([text, words]) => {
      const source = text
        .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
        .replace(/\\\{(\w)\\\}/g, (_all, name) => `(?<${name}>${/[nm]/.test(name) ? FIGURE : '.+'})`);
      return { letters: text.replace(/\{\w\}/g, '').length, pattern: new RegExp(`^${source}$`), words };
    })
    .sort((one, other) => other.letters - one.letters);
  const phrase = (text, depth = 0) => {
    if (depth > MOST_DEEP) return text;
    for (const { letters, pattern, words } of all) {
      const match = pattern.exec(text);
      if (!match) continue;
      const given = Object.entries(match.groups ?? {});
      const parts = new Map(given.map(([name, part]) => [name, phrase(part, depth + 1)]));
      const names = given.filter(([name]) => /[ab]/.test(name));
      const isPhrase =
        letters > FEW_LETTERS || names.length === 0 || names.some(([name, part]) => parts.get(name) !== part);
      if (isPhrase) return words.replace(/\{(\w)\}/g, (_all, name) => parts.get(name));
    }
    return text;
  };
  return (text) =>
    String(text)
      .split(' · ')
      .map((part) => phrase(part))
      .join(' · ');
}
