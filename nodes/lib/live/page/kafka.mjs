// Kafka: the producers of each cluster, and the sources.

import { h, Table } from './dom.mjs';
import { count, duration, visible } from './format.mjs';
import { markOf, ranges, reasonText, word } from './sections.mjs';

const TEXT = false;
const NUMBER = true;

/** Returns the columns of a table. names: key of the label and whether it is a number. */
const columns = (t, names) => names.map(([name, numeric]) => ({ label: t(`kafka.${name}`), numeric }));

export function kafka(t) {
  const uplinks = new Table({
    label: t('kafka.uplinks'),
    columns: columns(t, [
      ['cluster', TEXT],
      ['state', TEXT],
      ['classes', TEXT],
      ['inflight', NUMBER],
      ['partitionsInFlight', NUMBER],
      ['oldest', NUMBER],
      ['retried', NUMBER],
      ['dead', NUMBER],
      ['refused', NUMBER],
      ['brokers', TEXT],
      ['reason', TEXT]
    ])
  });
  const sources = new Table({
    label: t('kafka.sources'),
    columns: columns(t, [
      ['source', TEXT],
      ['state', TEXT],
      ['lag', TEXT],
      ['partitions', NUMBER],
      ['unsafe', NUMBER],
      ['committed', NUMBER],
      ['group', TEXT],
      ['reason', TEXT]
    ])
  });
  const [uplinksTitle, sourcesTitle] = ['uplinks', 'sources'].map((name) => h('h3', {}, t(`kafka.${name}`)));
  const stateOf = (name) => ({ text: word(t, 'state', name), state: markOf(name) });
  const producerRow = (uplink, each) => [
    visible(uplink.name),
    stateOf(each.state),
    ranges(each.classes) || t('uplinks.all'),
    `${count(each.inflight)}${uplink.window ? ` / ${uplink.window}` : ''}`,
    `${each.partitionsInFlight} / ${each.partitions}`,
    duration(each.oldestMs),
    count(each.retried),
    count(each.deadLetters),
    count(each.refusedTopics),
    visible(uplink.brokers.join(', ')),
    reasonText(t, each) || '–'
  ];
  const sourceRow = (each) => [
    visible(each.name || each.node),
    stateOf(each.state === 'connected' && each.waits ? 'paused' : each.state),
    each.topics.map(({ topic, lag }) => `${visible(topic)}: ${count(lag)}`).join(', '),
    count(each.partitions),
    count(each.unsafe),
    count(each.committed),
    visible(each.group),
    reasonText(t, each) || '–'
  ];
  return {
    element: h('div', {}, uplinksTitle, uplinks.element, sourcesTitle, sources.element),
    isPresent: ({ kafka: view = { uplinks: [], sources: [] } }) =>
      view.uplinks.length + view.sources.length > 0,
    update({ kafka: view }) {
      uplinksTitle.hidden = uplinks.element.hidden = view.uplinks.length === 0;
      sourcesTitle.hidden = sources.element.hidden = view.sources.length === 0;
      uplinks.update(
        view.uplinks.flatMap((uplink) => uplink.producers.map((each) => producerRow(uplink, each)))
      );
      sources.update(view.sources.map(sourceRow));
    }
  };
}
