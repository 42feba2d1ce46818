'use strict';
// The settings of an uplink node whose format is Sparkplug, checked when the node starts.

/**
 * @param {import('./broker-link').BrokerLink} link
 * @param {string} compress off, zstd, deflate or auto
 * @throws {Error} with a sentence
 */
function checkSparkplug(link, compress) {
  if (!link.isSparkplug)
    throw new Error(
      `"format": Sparkplug needs a group id. Enter it in the uplink broker "${link.name}" (SEGANET_SPARKPLUG_GROUP).`
    );
  if (compress !== 'off')
    throw new Error(
      `"compress" is ${compress}, but Sparkplug knows no compression. Turn it off, or choose another format.`
    );
}

module.exports = { checkSparkplug };
