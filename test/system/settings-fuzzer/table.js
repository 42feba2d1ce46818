'use strict';
// Known bad settings, one a row: value, the gateway's message, exit code.

const fs = require('node:fs');
const path = require('node:path');
const { lineOf, tryVariables } = require('./variables');

/** @param {string} folder @returns {Record<string, string>[]} */
function badSettings(folder) {
  const file = (/** @type {string} */ name, /** @type {string} */ content) => {
    const whole = path.join(folder, name);
    fs.writeFileSync(whole, content);
    return whole;
  };
  const text = file('no-pem', 'hello');
  const tls = {
    SEGANET_DEVICE_TRANSPORT: 'tls',
    SEGANET_DEVICE_TLS_CERT: text,
    SEGANET_DEVICE_TLS_KEY: text
  };
  return [
    { SEGANET_HOME: '~/gateway' },
    { SEGANET_HOME: text },
    { SEGANET_HOME: '/proc/none' },
    { SEGANET_GATEWAY_ID: 'my gateway' },
    { SEGANET_GATEWAY_ID: 'a/b' },
    { SEGANET_MQTT_PORT: '99999' },
    { SEGANET_MQTT_PORT: 'abc' },
    { SEGANET_MQTT_PORT: '1e3' },
    { SEGANET_DEVICE_HOST: '0.0.0.0' },
    { SEGANET_DEVICE_HOST: 'a b' },
    { SEGANET_DEVICE_TRANSPORT: 'dtls' },
    { SEGANET_DEVICE_TRANSPORT: 'tls' },
    { SEGANET_DEVICE_TLS_CERT: text },
    tls,
    { SEGANET_DEVICE_LOGIN: 'basic' },
    { SEGANET_DEVICE_LOGIN: 'passwords' },
    { SEGANET_DEVICE_LOGIN: 'passwords', SEGANET_DEVICE_PASSWORD_FILE: '/nonexistent' },
    { SEGANET_DEVICE_LOGIN: 'passwords', SEGANET_DEVICE_PASSWORD_FILE: text },
    { SEGANET_DEVICE_LOGIN: 'certificate' },
    { SEGANET_DEVICE_LOGIN: 'psk' },
    { SEGANET_DEVICE_LOGIN: 'psk', SEGANET_DEVICE_TRANSPORT: 'tls', SEGANET_DEVICE_PSK_FILE: text },
    { SEGANET_DEVICE_ALLOW_ANONYMOUS: 'maybe' },
    { SEGANET_DEVICE_PERMISSIONS: '{"device":"*"}' },
    { SEGANET_SUBSCRIBERS: 'dashboard' },
    { SEGANET_DEVICE_PERMISSIONS: '[{"device":"*","publish":["a/#/b"]}]' },
    { SEGANET_BRIDGES: 'zigbee2mqtt=zigbee2mqtt/+' },
    { SEGANET_UPLINK_URL: '' },
    { SEGANET_UPLINK_URL: 'broker.example.com' },
    { SEGANET_UPLINK_URL: 'mqtt://broker.example.com' },
    { SEGANET_UPLINK_URL: 'mqtts://broker.example.com/x' },
    { SEGANET_UPLINK_URL: 'mqtts://broker:0' },
    { SEGANET_UPLINK_URL: 'mqtts://me:secret@broker' },
    { SEGANET_UPLINK_CA: '/etc/passwd' },
    { SEGANET_UPLINK_CA: '/nonexistent' },
    { SEGANET_UPLINK_CERT: text },
    { SEGANET_UPLINK_PROTOCOL: '3.1.1' },
    { SEGANET_UPLINK_TOPIC: 'a/{foo}' },
    { SEGANET_UPLINK_TOPIC: 'a/#' },
    { SEGANET_UPLINK_PATHS: 'eth0:' },
    { SEGANET_RULES: '[{"topic":"a/#/b","class":1}]' },
    { SEGANET_RULES: '[{"topic":"a"}]' },
    { SEGANET_RULES: '{' },
    { SEGANET_SESSIONS: '3,4/1,2' },
    { SEGANET_BATCH_MODE: 'Envelope' },
    { SEGANET_LOG_MIB: '0' },
    { SEGANET_WORKERS: '65' },
    { SEGANET_ACKNOWLEDGE: 'save' },
    { SEGANET_EDITOR_HOST: '0.0.0.0', SEGANET_EDITOR_PORT: '0' },
    { SEGANET_EDITOR_PORT: '70000' },
    { SEGANET_ADMIN_USER: 'a' },
    { SEGANET_ADMIN_USER: 'a', SEGANET_ADMIN_PASSWORD_HASH: 'plain' },
    { SEGANET_INFLIHGT: '3' },
    { SEGANET_UPLINK_PASSWORD: '${BROKER_PASSWORD}' }
  ];
}

/** @param {string} folder */
async function printTable(folder) {
  const cell = (/** @type {string} */ text) =>
    text.replaceAll(folder, '…').replaceAll('|', '\\|').replaceAll('\n', '<br>');
  console.log('| setting | message | exit code |\n| --- | --- | --- |');
  for (const env of badSettings(folder)) {
    const outcome = await tryVariables(env, folder);
    const setting = Object.entries(env).map(([name, value]) => `\`${name}=${value}\``);
    console.log(`| ${cell(setting.join(' '))} | ${cell(outcome.sentence)} | ${outcome.code ?? 'runs'} |`);
    if (outcome.findings.length > 0 || outcome.code !== 78) {
      process.exitCode = 1;
      console.error(`FINDING ${lineOf(outcome)} ${outcome.findings.join('; ')}`);
    }
  }
}

module.exports = { badSettings, printTable };
