// The things of a directory: one page of them.

import { h, Table } from './dom.mjs';
import { visible } from './format.mjs';
import { Pager } from './paging.mjs';

const SIZE = 25;

export class Things {
  #t;
  #ask;
  #onAsk;
  #table;
  #pager;
  #offset = 0;
  /** An answer to an older request is not shown. */
  #last = 0;
  /** Of the rows on the page. */
  #shown = [];

  /** ask(path): returns { status, value }. onAsk(device, property): a value is wanted */
  constructor({ t, ask, onAsk }) {
    this.#t = t;
    this.#ask = ask;
    this.#onAsk = onAsk;
    const columns = ['thing', 'room', 'measures', 'source', 'ask'].map((name) => ({
      label: t(`directory.${name}`)
    }));
    this.#table = new Table({ label: t('directory.things'), none: t('directory.noThings'), columns });
    this.#pager = new Pager(t, (step) => void this.show(this.#offset + step * SIZE));
    this.element = h('div', {}, this.#table.element, this.#pager.element);
  }

  /** Shows the page that begins with this thing. */
  async show(offset) {
    const t = this.#t;
    const number = ++this.#last;
    const from = Math.max(0, offset);
    const { status, value } = await this.#ask(`things?format=collection&limit=${SIZE}&offset=${from}`);
    if (number !== this.#last) return;
    const { members = [], total = 0 } = (status === 200 && value) || {};
    // Things have gone meanwhile.
    if (members.length === 0 && from > 0) return this.show(from - SIZE);
    this.#offset = from;
    this.#shown = members;
    this.#table.update(members.map((thing, index) => this.#rowOf(thing, index)));
    const [page, pages] = [Math.floor(from / SIZE) + 1, Math.max(1, Math.ceil(total / SIZE))];
    const text = status === 200 ? t('directory.page', { page, pages, total }) : value?.detail;
    this.#pager.show(page, pages, visible(text ?? t('directory.lost')));
  }

  #rowOf(thing, index) {
    const t = this.#t;
    const names = Object.keys(thing.properties ?? {});
    const title = String(thing.title ?? thing.id);
    const place = thing['brick:hasLocation']?.['rdfs:label'] ?? '';
    const isMade = typeof thing['seganet:protocol'] === 'string';
    const source = isMade ? thing['seganet:protocol'] : t('directory.posted');
    const device = thing['seganet:device'];
    const canAsk = typeof device === 'string' && names.length > 0;
    return [
      { text: visible(title), title: visible(thing.id) },
      visible(place),
      visible(names.join(', ')),
      visible(source),
      {
        action: t('directory.ask'),
        label: t('directory.askFor', { device: visible(title) }),
        disabled: !canAsk,
        key: String(index),
        onPress: this.#press
      }
    ];
  }

  #press = (key) => {
    const thing = this.#shown[Number(key)];
    const [property] = Object.keys(thing?.properties ?? {});
    if (property !== undefined) this.#onAsk(thing['seganet:device'], property);
  };
}
