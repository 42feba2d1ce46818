'use strict';
// The rights of a keeper in a cluster, for `kubectl apply -f -`.

const NAME = 'seganet-tenants';

/** @param {string} group @param {string[]} resources @param {string[]} verbs */
const rule = (group, resources, verbs) => ({ apiGroups: [group], resources, verbs });

/**
 * @param {string} namespace of the tenants, and of the keeper's pod
 * @returns {object} a list: service account, role, binding
 */
function rightsOf(namespace) {
  const metadata = { name: NAME, namespace };
  const role = {
    rules: [
      rule('apps', ['statefulsets'], ['get']),
      rule('apps', ['statefulsets/scale'], ['get', 'patch']),
      rule('', ['pods', 'pods/log', 'services'], ['get']),
      rule('networking.k8s.io', ['networkpolicies'], ['get']),
      // Without the right to list, it can read a secret only by its name.
      rule('', ['secrets'], ['get', 'create', 'patch', 'delete'])
    ]
  };
  const rbac = 'rbac.authorization.k8s.io';
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, ...role },
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

exports.rightsOf = rightsOf;
