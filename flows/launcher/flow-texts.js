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
        'Zähler alle 10 Sekunden (Debug-Node einschalten)',
      'to the cloud': 'zur Cloud',
      'Kafka TLS': 'TLS von Kafka',
      cluster: 'Cluster',
      urgent: 'dringend',
      normal: 'normal',
      'From devices to the cluster: acknowledged when two brokers have the record':
        'Von den Geräten zum Cluster: bestätigt, wenn zwei Broker den Datensatz haben',
      'From the cluster to the cloud: each gateway sends the partitions that it holds':
        'Vom Cluster zur Cloud: jedes Gateway sendet die Partitionen, die es hält'
    },
    info: {
      'Devices publish with MQTT; each record gets a class; records are collected in batches and sent to the cloud over TLS, the most urgent class first. The addresses, files and logins come from environment variables, see https://github.com/seganet/node-red-gateway/blob/main/docs/reference/configuration.md.':
        'Geräte senden mit MQTT; jeder Datensatz bekommt eine Klasse; Datensätze werden in Batches gesammelt und über TLS an die Cloud gesendet, die dringendste Klasse zuerst. Adressen, Dateien und Anmeldungen kommen aus Umgebungsvariablen, siehe https://github.com/seganet/node-red-gateway/blob/main/docs/reference/configuration.md.',
      'A wire between two SegaNet nodes carries records natively; Node-RED\'s event loop is not on the way. The status under a node ends with "native" where that is so.':
        'Eine Verbindung zwischen zwei SegaNet-Nodes trägt Datensätze nativ, ohne die Ereignisschleife von Node-RED. Der Status unter einem Node endet dann mit „nativ“.',
      'One of several gateways over Apache Kafka. Above: devices publish with MQTT, and are acknowledged when at least two brokers have the record, in the topic of its class. Below: each gateway sends the partitions that it holds to the cloud, and Kafka gives those of a gateway that is gone to the others. The addresses, files and logins come from environment variables, see https://github.com/seganet/node-red-gateway/blob/main/docs/use/cluster-kafka.md.':
        'Eines von mehreren Gateways über Apache Kafka. Oben: Geräte senden mit MQTT und werden bestätigt, wenn mindestens zwei Broker den Datensatz haben, im Topic seiner Klasse. Unten: Jedes Gateway sendet die Partitionen, die es hält, an die Cloud, und Kafka gibt die eines ausgefallenen Gateways den anderen. Adressen, Dateien und Anmeldungen kommen aus Umgebungsvariablen, siehe https://github.com/seganet/node-red-gateway/blob/main/docs/use/cluster-kafka.md.',
      'The device is the key of the Kafka record, so that its records stay in order whichever gateway takes them.':
        'Das Gerät ist der Schlüssel des Kafka-Datensatzes, damit seine Datensätze in Reihenfolge bleiben, egal welches Gateway sie annimmt.',
      'An offset is committed when the cloud has acknowledged the record. A record keeps its device, class, time and number, by which a receiver recognizes copies.':
        'Ein Offset wird festgeschrieben, wenn die Cloud den Datensatz bestätigt hat. Ein Datensatz behält Gerät, Klasse, Zeit und Nummer, an denen ein Empfänger Kopien erkennt.',
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
