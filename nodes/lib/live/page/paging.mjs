// What lists that the gateway searches and pages have in common: a search field, and a row with the buttons of pages.

import { h, setText } from './dom.mjs';

/** Wait after a key before the search starts, ms. */
const TYPING_MS = 300;

/** Returns a search field, which calls onSearch() when the reader has stopped typing. */
export function searchField(id, maxlength, onSearch) {
  let typing;
  const oninput = () => {
    clearTimeout(typing);
    typing = setTimeout(onSearch, TYPING_MS);
  };
  return h('input', { type: 'search', id, maxlength: String(maxlength), autocomplete: 'off', oninput });
}

/** The buttons back and next, with a text between them that says where the reader is. */
export class Pager {
  #back;
  #next;
  #status;

  /** onTurn(step): -1 = back, 1 = next */
  constructor(t, onTurn) {
    const button = (key, step) =>
      h('button', { type: 'button', onclick: () => onTurn(step) }, t(`devices.${key}`));
    this.#back = button('back', -1);
    this.#next = button('next', 1);
    this.#status = h('span', { class: 'pages' });
    this.element = h('p', { class: 'controls' }, this.#back, this.#status, this.#next);
  }

  /** texts: those that are not '' are shown one after the other */
  show(page, pages, ...texts) {
    this.#back.disabled = page <= 1;
    this.#next.disabled = page >= pages;
    setText(this.#status, texts.filter(Boolean).join(' '));
  }
}
