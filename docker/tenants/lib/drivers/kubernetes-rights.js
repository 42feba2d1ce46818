'use strict';
// The rights of a keeper in a cluster, for `kubectl apply -f -`.

const NAME = 'seganet-tenants';

/** @param {string} group @param {string[]} resources @param {string[]} verbs */
const rule = (group, resources, verbs) => ({ apiGroups: [group], resources, verbs });

/** All that the driver does in a cluster. */
const RULES = [
  rule('apps', ['statefulsets'], ['get']),
  rule('apps', ['statefulsets/scale'], ['patch']),
  rule('', ['pods'], ['get', 'watch']),
  rule('', ['pods/log', 'services'], ['get']),
  // Why the cluster refuses to make a pod is nowhere else.
  rule('', ['events'], ['list']),
  rule('networking.k8s.io', ['networkpolicies'], ['get']),
  // Without the right to list, it can read a secret only by its name.
  rule('', ['secrets'], ['get', 'create', 'patch', 'delete'])
];

/** @typedef {{ group: string, resource: string, subresource: string, verb: string }} Right */

/** @type {Right[]} */
const RIGHTS = RULES.flatMap(({ apiGroups: [group], resources, verbs }) =>
  resources.flatMap((each) => {
    const [resource, subresource = ''] = each.split('/');
    return verbs.map((verb) => ({ group, resource, subresource, verb }));
  })
);

/**
 * @param {string} namespace of the tenants, and of the keeper's pod
 * @returns {object} a list: service account, role, binding
 */
function rightsOf(namespace) {
  const metadata = { name: NAME, namespace };
  const rbac = 'rbac.authorization.k8s.io';
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules: RULES },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: rbac, kind: 'Role', name: NAME },
        subjects: [{ kind: 'ServiceAccount', name: NAME, namespace }]
      }
    ]
  };
}

exports.RIGHTS = RIGHTS;
exports.rightsOf = rightsOf;
