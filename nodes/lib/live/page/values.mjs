// The last values of the devices: cards, which the gateway searches and pages, or the tree of their topics. A page of
// cards is read again and again, which costs less than a stream of all values. The stream is open while the tree is.

import { LiveConnection } from './connection.mjs';
import { h, setAttribute, setText } from './dom.mjs';
import { Faster } from './faster.mjs';
import { visible } from './format.mjs';
import { Topics } from './topics.mjs';
import { ValueCard, keyOf } from './value-card.mjs';

/** Wait after a key before the search starts, ms. */
const TYPING_MS = 300;
/** The page of cards is read again after this long, ms; after an answer without values, because none are kept. */
const AGAIN_MS = 2000;
const LATER_MS = 30000;
/** What `ask` returns if the gateway cannot be reached. */
const NO_ANSWER = { status: 0, value: null };
/** The stream sends a comment every ten seconds while nothing changes. */
const SILENCE_MS = 30000;
const VIEWS = ['cards', 'topics'];

export class Values {
  #t;
  #ask;
  #onLogin;
  #size;
  #stream;
  #search;
  #views;
  #cards;
  #list;
  #topics;
  #told;
  #status;
  #back;
  #next;
  #engine = '';
  #isShown = false;
  #view = 'cards';
  /** Cursors of the pages up to this one; '' = the first. */
  #pages = [''];
  #after = null;
  /** Cards by the key of their value. */
  #shown = new Map();
  /** An answer to an older request is not shown. */
  #last = 0;
  #timer;
  /** What the gateway's clock is ahead of the browser's, ms. */
  #aheadMs = 0;

  /** ask(path, body): returns { status, value }; size: cards of a page; onLogin(): as in Faster */
  constructor({ t, id, root, token, ask, size, onLogin }) {
    this.#t = t;
    this.#ask = ask;
    this.#onLogin = onLogin;
    this.#size = size;
    this.#stream = new LiveConnection({
      url: `${root}values/stream`,
      token,
      silenceMs: SILENCE_MS,
      wantsAll: true,
      handlers: { state: () => {}, values: ({ values }) => this.#topics.add(values) }
    });
    let typing;
    const oninput = () => {
      clearTimeout(typing);
      typing = setTimeout(() => this.#restart(), TYPING_MS);
    };
    const search = { type: 'search', id: id('values-search'), maxlength: '256', autocomplete: 'off' };
    this.#search = h('input', { ...search, placeholder: t('values.search'), oninput });
    this.#views = VIEWS.map((name) =>
      h('button', { type: 'button', onclick: () => this.#choose(name) }, t(`values.view.${name}`))
    );
    this.#told = h('p', { class: 'none', role: 'status' });
    this.#list = h('ul', { class: 'values' });
    const button = (key, onclick) => h('button', { type: 'button', onclick }, t(`devices.${key}`));
    this.#back = button('back', () => this.#turn(this.#pages.slice(0, -1)));
    this.#next = button('next', () => this.#turn([...this.#pages, this.#after]));
    this.#status = h('span', { class: 'pages' });
    this.#cards = h(
      'div',
      {},
      this.#list,
      h('p', { class: 'controls' }, this.#back, this.#status, this.#next)
    );
    const askTopics = (prefix) =>
      this.#ask(`topics?${new URLSearchParams({ engine: this.#engine, prefix })}`).catch(() => NO_ANSWER);
    this.#topics = new Topics(t, { ask: askTopics, onChoose: (filter) => this.#follow(filter) });
    const group = { class: 'switch', role: 'group', 'aria-label': t('values.shown') };
    const label = h('label', { for: search.id, class: 'unseen' }, t('values.search'));
    const controls = h('p', { class: 'controls' }, h('span', group, ...this.#views), label, this.#search);
    this.element = h('div', {}, controls, this.#told, this.#cards, this.#topics.element);
    this.#showView();
  }

  /** Starts or stops reading. Call it when the section becomes visible or hidden. */
  setVisible(isShown) {
    if (isShown === this.#isShown) return;
    this.#isShown = isShown;
    this.#restart();
  }

  /** at: the gateway's time, ms */
  update({ engine, at }) {
    this.#aheadMs = at - Date.now();
    if (engine !== this.#engine) {
      this.#engine = engine;
      this.#restart();
    }
    for (const card of this.#shown.values()) card.age(at);
  }

  #choose(view) {
    if (view === this.#view) return;
    this.#view = view;
    this.#showView();
    this.#restart();
  }

  #showView() {
    for (const [index, name] of VIEWS.entries())
      setAttribute(this.#views[index], 'aria-pressed', String(name === this.#view));
    this.#cards.hidden = this.#search.hidden = this.#view !== 'cards';
    this.#topics.element.hidden = this.#view !== 'topics';
  }

  #restart() {
    clearTimeout(this.#timer);
    this.#last++;
    this.#stream.stop();
    this.#told.hidden = true;
    if (!this.#isShown || this.#engine === '') return;
    if (this.#view === 'cards') this.#turn(['']);
    else void this.#topics.open();
  }

  /** Follows the values of these topics. filter: '' = all */
  #follow(filter) {
    if (!this.#isShown || this.#engine === '') return;
    this.#stream.start({ engine: this.#engine, ...(filter && { topic: filter }) });
  }

  #turn(pages) {
    this.#pages = pages;
    void this.#read();
  }

  /** Reads the page of cards now, and again after a while. */
  async #read() {
    clearTimeout(this.#timer);
    const number = ++this.#last;
    const fields = {
      engine: this.#engine,
      limit: this.#size,
      details: '1',
      after: this.#pages.at(-1),
      q: this.#search.value
    };
    const given = Object.entries(fields).filter(([, value]) => value !== '');
    const { status, value } = await this.#ask(`values?${new URLSearchParams(given)}`).catch(() => NO_ANSWER);
    if (number !== this.#last) return;
    this.#timer = setTimeout(() => void this.#read(), status === 200 ? AGAIN_MS : LATER_MS);
    const values = (status === 200 && value?.values) || [];
    // Its values have gone meanwhile.
    if (status === 200 && values.length === 0 && this.#pages.length > 1) return this.#turn(['']);
    const none = this.#search.value ? 'values.noMatch' : 'values.none';
    const trouble = visible(value?.error ?? this.#t('deadLetters.failed'));
    setText(this.#told, status === 200 ? (values.length > 0 ? '' : this.#t(none)) : trouble);
    this.#told.hidden = this.#told.textContent === '';
    this.#after = value?.next ?? null;
    this.#show(values);
    this.#back.disabled = this.#pages.length === 1;
    this.#next.disabled = this.#after === null;
    setText(this.#status, this.#t('values.page', { page: this.#pages.length }));
    this.#back.parentNode.hidden = this.#pages.length === 1 && this.#after === null;
  }

  #faster() {
    return new Faster({ t: this.#t, ask: this.#ask, onLogin: this.#onLogin });
  }

  /** Cards keep their place and are filled again. */
  #show(values) {
    const now = Date.now() + this.#aheadMs;
    const before = this.#shown;
    this.#shown = new Map();
    for (const value of values) {
      const key = keyOf(value);
      const card = before.get(key) ?? new ValueCard(this.#t, this.#faster());
      card.update(value, this.#engine, now);
      this.#shown.set(key, card);
    }
    const elements = [...this.#shown.values()].map(({ element }) => element);
    const isSame =
      elements.length === this.#list.children.length &&
      elements.every((element, index) => element === this.#list.children[index]);
    if (!isSame) this.#list.replaceChildren(...elements);
  }
}
