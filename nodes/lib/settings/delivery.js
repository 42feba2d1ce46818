'use strict';
// When a source acknowledges records that leave as messages.

const deliveryRows = /** @type {const} */ ({
  acknowledgeMessages: { type: 'choice', values: ['handedOver', 'delivered'], default: 'handedOver' },
  deliveryTimeoutS: { type: 'integer', min: 1, max: 3600, default: 30, unit: 's' },
  onDeliveryTimeout: { type: 'choice', values: ['refuse', 'acknowledge'], default: 'refuse' }
});

/**
 * @param {{ acknowledgeMessages: string, deliveryTimeoutS: number, onDeliveryTimeout: string }} values
 * @returns {import('../engine/deliveries').Limit | null} null: a record is acknowledged when Node-RED has its message
 */
function deliveryOf({ acknowledgeMessages, deliveryTimeoutS, onDeliveryTimeout }) {
  if (acknowledgeMessages !== 'delivered') return null;
  return { timeoutMs: deliveryTimeoutS * 1000, acknowledges: onDeliveryTimeout === 'acknowledge' };
}

module.exports = { deliveryRows, deliveryOf };
