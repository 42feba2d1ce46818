'use strict';

// The names, notes and comments of the shipped flow in other languages. Node-RED translates no flows.

/**
 * By language, property and English text. A text without words stays.
 * @type {Record<string, Record<string, Record<string, string>>>}
 */
const TEXTS = {
  en: {},
  de: {
    name: {
      engine: 'Engine',
      'cloud TLS': 'TLS der Cloud',
      'device TLS': 'TLS der Geräte',
      cloud: 'Cloud',
      devices: 'Geräte',
      records: 'Datensätze',
      counters: 'Zähler',
      'The data path: records stay in native threads from left to right':
        'Der Datenpfad: Datensätze bleiben in nativen Threads',
      'A few records as messages (switch the debug node on to see them)':
        'Einige Datensätze als Nachrichten (Debug-Node einschalten)',
      'Counters every 10 seconds (switch the debug node on to see them)':
        'Zähler alle 10 Sekunden (Debug-Node einschalten)'
    },
    info: {
      'Devices publish with MQTT; each record gets a class; records are collected in batches and sent to the cloud over TLS, the most urgent class first. The addresses, files and logins come from environment variables, see https://github.com/seganet/node-red-gateway/blob/main/docs/reference/configuration.md.':
        'Geräte senden mit MQTT; jeder Datensatz bekommt eine Klasse; Datensätze werden in Batches gesammelt und über TLS an die Cloud gesendet, die dringendste Klasse zuerst. Adressen, Dateien und Anmeldungen kommen aus Umgebungsvariablen, siehe https://github.com/seganet/node-red-gateway/blob/main/docs/reference/configuration.md.',
      'A wire between two SegaNet nodes carries records natively; Node-RED\'s event loop is not on the way. The status under a node ends with "native" where that is so.':
        'Eine Verbindung zwischen zwei SegaNet-Nodes trägt Datensätze nativ, ohne die Ereignisschleife von Node-RED. Der Status unter einem Node endet dann mit „nativ“.',
      'The tap passes on one record in 100, at most two a second. Open the debug sidebar to see them.':
        'Der Tap gibt einen von 100 Datensätzen weiter, höchstens zwei in der Sekunde. Sie stehen in der Debug-Seitenleiste.'
    }
  }
};

const LANGUAGES = Object.keys(TEXTS);

/**
 * @param {string} flow the text of the shipped flow's file
 * @param {string} language one of LANGUAGES
 * @returns {string} the same in this language; nothing else differs
 */
function flowIn(flow, language) {
  let text = flow;
  for (const [property, words] of Object.entries(TEXTS[language]))
    for (const [english, other] of Object.entries(words))
      text = text.replaceAll(lineOf(property, english), () => lineOf(property, other));
  return text;
}

/** @param {string} property @param {string} value @returns {string} as in the file */
const lineOf = (property, value) => `"${property}": ${JSON.stringify(value)}`;

module.exports = { LANGUAGES, TEXTS, flowIn };
