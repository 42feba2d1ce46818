// Creates and updates elements. Text is always set as text, never as markup.

/** Texts of cells that show nothing. */
const NOTHING = ['', '–'];
const SVG = 'http://www.w3.org/2000/svg';

/** Returns an element; on…: listeners; false and null leave an attribute out. Children: nodes or texts. */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children);
  return element;
}

/** Sets a text if it differs, so that a selection in it stays and a screen reader does not read it again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Sets or removes an attribute if it differs. */
export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

/**
 * A table with a header row, whose rows are updated in place. Where there is little room, the style makes cards of its
 * rows. That would take the roles of a table from the elements, so they are stated.
 *   columns   { label, numeric, sort: key of a sortable column }
 *   onSort    called with the key of the header that was pressed
 * A cell is a text, { text, state: ok | warn | bad | off, title }, or a button { action: text, label: its name
 * for a screen reader, disabled, key, onPress } that calls onPress(key), or a list of buttons. The first cell of
 * a row is its header.
 */
export class Table {
  #body;
  #headers;
  #columns;
  #empty;
  #none;

  constructor({ label, columns, none = '', onSort }) {
    this.#columns = columns;
    this.#headers = columns.map((column) => {
      const inner = column.sort
        ? h('button', { type: 'button', onclick: () => onSort(column.sort) }, column.label)
        : column.label;
      const attributes = { scope: 'col', role: 'columnheader', class: column.numeric ? 'numeric' : null };
      return h('th', attributes, inner);
    });
    this.#body = h('tbody', { role: 'rowgroup' });
    this.#none = none;
    this.#empty = h('p', { class: 'none' }, none);
    const table = h(
      'table',
      { role: 'table', 'aria-label': label },
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, ...this.#headers)),
      this.#body
    );
    // A region that scrolls must be reachable by keyboard.
    const scroll = h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label }, table);
    this.element = h('div', {}, scroll, this.#empty);
  }

  /** Marks the sorted column. */
  sorted(key, descending) {
    for (const [index, header] of this.#headers.entries()) {
      const { sort } = this.#columns[index];
      const order = descending ? 'descending' : 'ascending';
      if (sort) setAttribute(header, 'aria-sort', sort === key ? order : 'none');
    }
  }

  update(rows) {
    this.#empty.hidden = rows.length > 0 || this.#none === '';
    const body = this.#body;
    while (body.rows.length > rows.length) body.deleteRow(-1);
    for (const [index, cells] of rows.entries()) this.#fillRow(body.rows[index] ?? this.#addRow(), cells);
  }

  #addRow() {
    const cells = this.#columns.map(({ label, numeric }, index) => {
      const attributes = { class: numeric ? 'numeric' : null, 'data-label': label };
      return index === 0
        ? h('th', { scope: 'row', role: 'rowheader', ...attributes })
        : h('td', { role: 'cell', ...attributes });
    });
    const row = h('tr', { role: 'row' }, ...cells);
    this.#body.append(row);
    return row;
  }

  #fillRow(row, cells) {
    for (const [index, cell] of cells.entries()) {
      if (cell.action || Array.isArray(cell)) {
        fillButtons(row.cells[index], [cell].flat());
        continue;
      }
      const { text, state = null, title = null } = typeof cell === 'object' ? cell : { text: cell };
      const element = row.cells[index];
      setText(element, text);
      // A card leaves it out.
      setAttribute(element, 'data-empty', NOTHING.includes(text) ? '' : null);
      setAttribute(element, 'data-state', state);
      setAttribute(element, 'title', title);
    }
  }
}

/** Puts buttons into a cell, or updates those that are there, so that they keep the focus. */
function fillButtons(cell, buttons) {
  if (cell.querySelectorAll('button').length !== buttons.length)
    cell.replaceChildren(...buttons.map(() => h('button', { type: 'button' })));
  // A text that was there before may have been empty.
  for (const name of ['data-empty', 'data-state', 'title']) setAttribute(cell, name, null);
  for (const [index, { action, label = null, disabled, key, onPress }] of buttons.entries()) {
    const button = cell.children[index];
    // Another row may come to this place, with another action.
    button.onclick = () => onPress(key);
    setText(button, action);
    setAttribute(button, 'aria-label', label);
    button.disabled = disabled;
  }
}
