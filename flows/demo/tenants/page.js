'use strict';
// A tenant's page: its latest values as cards, each with a small line, in the style of the status page. Both functions
// become the code of function nodes, so they use nothing from outside.

/**
 * @typedef {{ device: string, topic: string, text: string, ts: number, line: number[] }} KeptValue line: the last
 *   numbers, oldest first
 */

/**
 * Keeps the value of a record.
 * @param {Record<string, KeptValue>} values by device and topic
 * @param {{ deviceId?: string, topic?: string, payload?: unknown, ts?: number }} msg
 */
function keepValue(values, msg) {
  const [device, topic, text] = [msg.deviceId, msg.topic, msg.payload].map((each) => String(each ?? ''));
  const key = JSON.stringify([device, topic]);
  const number = text.trim() === '' ? NaN : Number(text);
  const line = [...(values[key]?.line ?? []), ...(Number.isFinite(number) ? [number] : [])].slice(-60);
  values[key] = { device, topic, text, ts: msg.ts ?? Date.now(), line };
}

/**
 * Returns the page as HTML.
 * @param {{ tenant: string, user: string, values: Record<string, KeptValue>, now: number }} parts now: ms since 1970
 */
function pageOf({ tenant, user, values, now }) {
  /** @type {Record<string, string>} */
  const codes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  const escape = (/** @type {string} */ text) => text.replace(/[&<>"']/g, (each) => codes[each]);
  const lineOf = (/** @type {number[]} */ line) => {
    const [lowest, highest] = [Math.min(...line), Math.max(...line)];
    const y = (/** @type {number} */ each) =>
      highest === lowest ? 10 : (18.5 - ((each - lowest) / (highest - lowest)) * 17).toFixed(1);
    const step = 59 / Math.max(1, line.length - 1);
    return line
      .map((each, index) => `${index === 0 ? 'M' : 'L'}${(index * step).toFixed(1)} ${y(each)}`)
      .join('');
  };
  const cardOf = (/** @type {KeptValue} */ { device, topic, text, ts, line }) => `<li class="value">
<p class="names"><span class="topic">${escape(topic)}</span><span class="device">${escape(device)}</span></p>
<p class="reading"><strong>${escape(text.slice(0, 200))}</strong></p>
<svg viewBox="0 0 59 20" preserveAspectRatio="none" aria-hidden="true"><path d="${lineOf(line)}h0.01"/></svg>
<p class="about">${Math.max(0, Math.round((now - ts) / 1000))} s ago</p>
</li>`;
  const cards = Object.keys(values)
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((key) => cardOf(values[key]));
  const told =
    cards.length > 0 ? 'Values since the tenant was woken.' : 'No value yet since the tenant was woken.';
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tenant ${escape(tenant)}</title>
<link rel="stylesheet" href="/seganet/status.css">
</head>
<body class="seganet-page">
<main>
<h1>Tenant ${escape(tenant)}</h1>
<div class="seganet-live">
<p id="told">You are ${escape(user)}. ${told}</p>
<ul class="values" id="values">
${cards.join('\n')}
</ul>
</div>
<p><a href="values">Read them again</a> · <a href="/seganet/">Status of this tenant's gateway</a></p>
</main>
<script type="module">
// The records that woke the tenant are worked on now. A page that asked for longer would keep the tenant awake.
for (let left = 5; left > 0; left--) {
  await new Promise((resolve) => setTimeout(resolve, 2000));
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), 'text/html');
  for (const id of ['told', 'values']) document.getElementById(id).replaceWith(page.getElementById(id));
}
</script>
</body>
</html>
`;
}

module.exports = { keepValue, pageOf };
