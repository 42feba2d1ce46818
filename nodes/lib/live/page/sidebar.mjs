// The sidebar of the editor: the panel, the login of the editor, and what the editor has selected.

import { h } from './dom.mjs';
import { Panel } from './panel.mjs';
import { loadTexts } from './texts.mjs';

/** Returns the selection for the panel: a wire, or the first of our nodes. */
function selectionOf({ nodes = [], links, link }) {
  const isOurs = ({ type = '' }) => type.startsWith('seganet-');
  const wire = nodes.length === 0 ? (links?.[0] ?? link) : null;
  if (wire?.source && isOurs(wire.source))
    return { node: wire.source.id, to: wire.target?.id, engine: wire.source.engine };
  const node = nodes.find(isOurs);
  return node ? { node: node.id, engine: node.engine } : null;
}

/** Adds the tab. RED: the editor's object; root: folder of the page's files. */
export async function addSidebar(RED, root) {
  const t = await loadTexts(root, RED.i18n.lang());
  const token = () => RED.settings.get('auth-tokens')?.access_token ?? '';
  const panel = new Panel({ t, root, token, isSidebar: true });
  const link = h('a', { href: root, target: '_blank', rel: 'noopener' }, t('openPage'));
  const content = h('div', { class: 'seganet-sidebar' }, panel.element, h('p', {}, link));
  RED.sidebar.addTab({
    id: 'seganet-sidebar',
    label: t('tab'),
    name: t('title'),
    iconClass: 'fa fa-tachometer',
    content,
    enableOnEdit: true
  });
  let isShown = false;
  const follow = () => panel.setVisible(isShown && document.visibilityState === 'visible');
  // Hidden behind another tab, or with its sidebar closed, it reads nothing.
  new IntersectionObserver((entries) => {
    isShown = entries.at(-1).isIntersecting;
    follow();
  }).observe(content);
  document.addEventListener('visibilitychange', follow);
  RED.events.on('view:selection-changed', (selection) => panel.select(selectionOf(selection ?? {})));
}
