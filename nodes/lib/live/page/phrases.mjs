// Statuses and short reasons in the language of the reader. They are in English, because programs, the log and the
// status node read them, too. Each part between dots is a phrase of the catalog nodes/locales/…/seganet-editor.json,
// with figures {n}, {m} and phrases or names {a}, {b}.

const FIGURE = '[\\d.]+(?: [kM])?';

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
  const phrase = (text) => {
    for (const { pattern, words } of all) {
      const match = pattern.exec(text);
      if (match) return words.replace(/\{(\w)\}/g, (_all, name) => phrase(match.groups[name]));
    }
    return text;
  };
  return (text) => String(text).split(' · ').map(phrase).join(' · ');
}
