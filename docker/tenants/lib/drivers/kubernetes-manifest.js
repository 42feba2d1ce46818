'use strict';
// The objects of a tenant in a cluster, for `kubectl apply -f -`.

const { environmentOf } = require('./environment');

const USER = 1000;
const SECRETS = '/run/secrets/seganet';
/** Longer than the 27 s that a gateway takes for its own orderly end. */
const GRACE_S = 30;
/** Label of the pods of the keeper and the front. Only these pods reach tenants. */
const ACCESS = { 'seganet.access': 'tenants' };
/** Its file system is read-only, /tmp counts as memory, and the kubelet keeps some of its output. */
const EPHEMERAL = '128Mi';

/** @param {{ name: string }} spec @returns {string} name of its StatefulSet, service and secret */
const objectName = ({ name }) => `seganet-tenant-${name}`;

/**
 * @param {import('../../../../nodes/lib/tenants/file/schema').Spec} spec
 * @returns {object} a list: service, StatefulSet with 0 replicas, network policy
 */
function manifestOf(spec) {
  const { image, command, port, http, tcp, limits } = spec;
  const name = objectName(spec);
  const labels = { 'seganet.tenant': spec.name };
  const metadata = { name, labels };
  const ports = [
    { name: 'mqtt', port },
    { name: 'http', port: http },
    { name: 'tcp', port: tcp }
  ].filter((each) => each.port > 0);
  const env = environmentOf(spec, { host: '0.0.0.0', data: '/data', passwords: `${SECRETS}/passwords` });
  const resources = {
    memory: `${limits.memoryMiB}Mi`,
    cpu: `${Math.round(limits.cpus * 1000)}m`,
    'ephemeral-storage': EPHEMERAL
  };
  const [first] = ports;
  const container = {
    name: 'tenant',
    image,
    ...(command.length > 0 && { args: command }),
    env: Object.entries(env).map(([key, value]) => ({ name: key, value })),
    ports: ports.map((each) => ({ name: each.name, containerPort: each.port })),
    resources: { limits: resources, requests: resources },
    // Until then its service has no endpoint, so no client waits for a program that does not answer yet.
    readinessProbe: {
      tcpSocket: { port: first.port },
      periodSeconds: 1,
      timeoutSeconds: 1,
      failureThreshold: 3
    },
    securityContext: {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'] }
    },
    volumeMounts: [
      { name: 'data', mountPath: '/data' },
      { name: 'tmp', mountPath: '/tmp' },
      { name: 'users', mountPath: SECRETS, readOnly: true }
    ]
  };
  const pod = {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_S,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: USER,
      runAsGroup: USER,
      fsGroup: USER,
      seccompProfile: { type: 'RuntimeDefault' }
    },
    containers: [container],
    volumes: [
      { name: 'tmp', emptyDir: { medium: 'Memory', sizeLimit: '64Mi' } },
      { name: 'users', secret: { secretName: name, optional: true } }
    ]
  };
  const claim = {
    metadata: { name: 'data' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: `${limits.volumeMiB}Mi` } } }
  };
  const set = {
    serviceName: name,
    replicas: 0,
    selector: { matchLabels: labels },
    template: { metadata: { labels }, spec: pod },
    volumeClaimTemplates: [claim]
  };
  // It may answer the keeper and the front, but may not open a connection.
  const policy = {
    podSelector: { matchLabels: labels },
    policyTypes: ['Ingress', 'Egress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: ACCESS } }],
        ports: ports.map((each) => ({ protocol: 'TCP', port: each.port }))
      }
    ],
    egress: []
  };
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports } },
      { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata, spec: set },
      { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec: policy }
    ]
  };
}

/**
 * @param {any} policy of the cluster
 * @param {{ name: string }} spec
 * @returns {boolean} it selects the tenant, and closes both directions
 */
function isClosing(policy, { name }) {
  const { podSelector = {}, policyTypes = [], ingress = [], egress = [] } = policy?.spec ?? {};
  const labels = Object.entries(podSelector.matchLabels ?? {});
  const selects =
    !podSelector.matchExpressions?.length &&
    labels.every(([key, value]) => key === 'seganet.tenant' && value === name);
  // An empty selector selects all pods.
  const isAnyone = (/** @type {any} */ peer) =>
    peer.ipBlock
      ? /\/0+$/.test(peer.ipBlock.cidr)
      : Object.values(peer.podSelector ?? {}).every((each) => Object.keys(each).length === 0);
  const isOpen = (/** @type {any} */ rule) => !rule?.from?.length || rule.from.some(isAnyone);
  return (
    selects &&
    policyTypes.includes('Ingress') &&
    policyTypes.includes('Egress') &&
    egress.length === 0 &&
    !ingress.some(isOpen)
  );
}

module.exports = { ACCESS, isClosing, manifestOf, objectName };
