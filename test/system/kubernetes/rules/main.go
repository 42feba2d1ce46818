// Judges objects and requests with the code of a Kubernetes API server: strict decoding, defaults, validation, Pod
// Security "restricted", and RBAC. Reads one JSON object and prints one, whose forms are those of ../rules.js.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
	"k8s.io/kubernetes/pkg/apis/networking"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	networkingvalidation "k8s.io/kubernetes/pkg/apis/networking/validation"
	"k8s.io/kubernetes/pkg/apis/policy"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	policyvalidation "k8s.io/kubernetes/pkg/apis/policy/validation"
	"k8s.io/kubernetes/pkg/apis/rbac"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	rbacvalidation "k8s.io/kubernetes/pkg/apis/rbac/validation"
	authorizerrbac "k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac"
	podsecurity "k8s.io/pod-security-admission/api"
	podsecuritypolicy "k8s.io/pod-security-admission/policy"
)

type asked struct {
	Method string `json:"method"`
	Path   string `json:"path"`
}

type input struct {
	// Of objects without one.
	Namespace string              `json:"namespace"`
	Objects   []json.RawMessage   `json:"objects"`
	Rules     []rbacv1.PolicyRule `json:"rules"`
	Requests  []asked             `json:"requests"`
}

type verdict struct {
	// Why the API server refuses the object, and what it warns of.
	Problems []string `json:"problems"`
	// Why Pod Security "restricted" refuses its pods; null: it makes none.
	Security []string `json:"security"`
}

type answer struct {
	// Verb, resource and name as the API server understands a request, and whether the rules allow it.
	Requests []permission `json:"requests"`
	Objects  []verdict    `json:"objects"`
}

type permission struct {
	Verb      string `json:"verb"`
	Group     string `json:"group"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	IsAllowed bool   `json:"isAllowed"`
}

var decoder = serializer.NewCodecFactory(legacyscheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// Validates as the strategies of the registry do when an object is created.
func validate(object runtime.Object) (field.ErrorList, []string) {
	ctx := context.Background()
	template := field.NewPath("spec", "template")
	switch each := object.(type) {
	case *apps.StatefulSet:
		options := pod.GetValidationOptionsFromPodTemplate(&each.Spec.Template, nil)
		return appsvalidation.ValidateStatefulSet(each, options), pod.GetWarningsForPodTemplate(ctx, template, &each.Spec.Template, nil)
	case *apps.Deployment:
		options := pod.GetValidationOptionsFromPodTemplate(&each.Spec.Template, nil)
		return appsvalidation.ValidateDeployment(each, options), pod.GetWarningsForPodTemplate(ctx, template, &each.Spec.Template, nil)
	case *core.Service:
		allocate(&each.Spec)
		return corevalidation.ValidateServiceCreate(each), nil
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(each), nil
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(each), nil
	case *core.Secret:
		return corevalidation.ValidateSecret(each), nil
	case *networking.NetworkPolicy:
		return networkingvalidation.ValidateNetworkPolicy(each, networkingvalidation.NetworkPolicyValidationOptions{}), nil
	case *policy.PodDisruptionBudget:
		return policyvalidation.ValidatePodDisruptionBudget(each, policyvalidation.PodDisruptionBudgetValidationOptions{}), nil
	case *rbac.Role:
		return rbacvalidation.ValidateRole(each), nil
	case *rbac.RoleBinding:
		return rbacvalidation.ValidateRoleBinding(each), nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("kind"), fmt.Sprintf("%T", object), []string{})}, nil
}

// Sets what the registry allocates before it validates.
func allocate(spec *core.ServiceSpec) {
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
	isLocal := spec.ExternalTrafficPolicy == core.ServiceExternalTrafficPolicyLocal
	if spec.Type == core.ServiceTypeLoadBalancer && isLocal && spec.HealthCheckNodePort == 0 {
		spec.HealthCheckNodePort = 30000
	}
}

func security(template *corev1.PodTemplateSpec) ([]string, error) {
	evaluator, err := podsecuritypolicy.NewEvaluator(podsecuritypolicy.DefaultChecks(), nil)
	if err != nil {
		return nil, err
	}
	level := podsecurity.LevelVersion{Level: podsecurity.LevelRestricted, Version: podsecurity.LatestVersion()}
	found := []string{}
	for _, result := range evaluator.EvaluatePod(level, &template.ObjectMeta, &template.Spec) {
		if !result.Allowed {
			found = append(found, fmt.Sprintf("%s (%s)", result.ForbiddenReason, result.ForbiddenDetail))
		}
	}
	return found, nil
}

func judge(raw []byte, namespace string) (verdict, error) {
	result := verdict{Problems: []string{}}
	object, _, err := decoder.Decode(raw, nil, nil)
	if err != nil {
		return verdict{Problems: []string{err.Error()}}, nil
	}
	access, err := meta.Accessor(object)
	if err != nil {
		return result, err
	}
	if access.GetNamespace() == "" {
		access.SetNamespace(namespace)
	}
	legacyscheme.Scheme.Default(object)
	switch each := object.(type) {
	case *appsv1.StatefulSet:
		result.Security, err = security(&each.Spec.Template)
	case *appsv1.Deployment:
		result.Security, err = security(&each.Spec.Template)
	}
	if err != nil {
		return result, err
	}
	internal, err := legacyscheme.Scheme.UnsafeConvertToVersion(object, schema.GroupVersions(internalVersions))
	if err != nil {
		return result, err
	}
	problems, warnings := validate(internal)
	for _, problem := range problems {
		result.Problems = append(result.Problems, problem.Error())
	}
	for _, warning := range warnings {
		result.Problems = append(result.Problems, "warning: "+warning)
	}
	return result, nil
}

var internalVersions = []schema.GroupVersion{
	apps.SchemeGroupVersion, core.SchemeGroupVersion, networking.SchemeGroupVersion, policy.SchemeGroupVersion, rbac.SchemeGroupVersion,
}

var resolver = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func permit(each asked, rules []rbacv1.PolicyRule) (permission, error) {
	question, err := http.NewRequest(each.Method, "https://cluster"+each.Path, nil)
	if err != nil {
		return permission{}, err
	}
	info, err := resolver.NewRequestInfo(question)
	if err != nil {
		return permission{}, err
	}
	attributes := authorizer.AttributesRecord{
		User:            &user.DefaultInfo{Name: "system:serviceaccount:" + info.Namespace + ":seganet-tenants"},
		Verb:            info.Verb,
		Namespace:       info.Namespace,
		APIGroup:        info.APIGroup,
		APIVersion:      info.APIVersion,
		Resource:        info.Resource,
		Subresource:     info.Subresource,
		Name:            info.Name,
		ResourceRequest: info.IsResourceRequest,
		Path:            info.Path,
	}
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return permission{
		Verb: info.Verb, Group: info.APIGroup, Resource: resource, Namespace: info.Namespace, Name: info.Name,
		IsAllowed: authorizerrbac.RulesAllow(attributes, rules...),
	}, nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var given input
	if err := json.NewDecoder(os.Stdin).Decode(&given); err != nil {
		return err
	}
	result := answer{Requests: []permission{}, Objects: []verdict{}}
	for _, raw := range given.Objects {
		each, err := judge(raw, given.Namespace)
		if err != nil {
			return fmt.Errorf("%.200s: %w", raw, err)
		}
		result.Objects = append(result.Objects, each)
	}
	for _, each := range given.Requests {
		permitted, err := permit(each, given.Rules)
		if err != nil {
			return err
		}
		result.Requests = append(result.Requests, permitted)
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}
