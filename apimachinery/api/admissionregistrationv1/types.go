// Package admissionregistrationv1 holds webhook configurations and admission policies
// (admissionregistration.k8s.io/v1).
package admissionregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ApplyConfiguration is an expression that evaluates to an apply configuration.
type ApplyConfiguration struct {
	// CEL expression that evaluates to an Object{} with the fields to set, which is merged as in server-side
	// apply.
	Expression string `json:"expression,omitempty" protobuf:"bytes,1,opt,name=expression"`
}

// AuditAnnotation describes an annotation to add to the audit event.
type AuditAnnotation struct {
	// Name of the annotation; its key in the audit event is POLICY/KEY.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// CEL expression of at most 5 KiB that evaluates to the value; null or an empty string omits the
	// annotation. Values longer than 10 KiB are truncated.
	ValueExpression string `json:"valueExpression" protobuf:"bytes,2,opt,name=valueExpression" openapi:"required"`
}

// ExpressionWarning is a warning of the type checker about an expression.
type ExpressionWarning struct {
	// Path of the expression in the policy.
	FieldRef string `json:"fieldRef" protobuf:"bytes,2,opt,name=fieldRef" openapi:"required"`
	// Warning of the type checker, with the types it concerns.
	Warning string `json:"warning" protobuf:"bytes,3,opt,name=warning" openapi:"required"`
}

// JSONPatch is an expression that evaluates to a JSON patch.
type JSONPatch struct {
	// CEL expression that evaluates to a list of JSONPatch{} operations.
	Expression string `json:"expression,omitempty" protobuf:"bytes,1,opt,name=expression"`
}

// MatchCondition is a condition in CEL that requests must satisfy.
type MatchCondition struct {
	// Name of the condition, unique in its list.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// CEL expression that must evaluate to true.
	Expression string `json:"expression" protobuf:"bytes,2,opt,name=expression" openapi:"required"`
}

// MatchResources selects the requests that a policy applies to.
type MatchResources struct {
	// Selects objects by the labels of their namespace; cluster-scoped objects other than namespaces always
	// match. All if unset.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,1,opt,name=namespaceSelector"`
	// Selects objects by label; the object before or after the operation must match. All if unset.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,2,opt,name=objectSelector"`
	// Rules, of which a request must match at least one. Required in a policy; in a binding, all requests
	// match if empty.
	ResourceRules []NamedRuleWithOperations `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resourceRules"`
	// Rules that exclude requests which would match otherwise.
	ExcludeResourceRules []NamedRuleWithOperations `json:"excludeResourceRules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=excludeResourceRules"`
	// How the rules are matched: Equivalent (the default) also matches requests through another group or
	// version of the same resource, Exact does not.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,7,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
}

// MutatingAdmissionPolicy describes mutations of objects in CEL. It takes effect through bindings.
type MutatingAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requests that the policy applies to, and its mutations.
	Spec MutatingAdmissionPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// MutatingAdmissionPolicyBinding puts a policy into effect, with optional parameters.
type MutatingAdmissionPolicyBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Policy, parameters and requests of the binding.
	Spec MutatingAdmissionPolicyBindingSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// MutatingAdmissionPolicyBindingSpec describes how a policy is put into effect.
type MutatingAdmissionPolicyBindingSpec struct {
	// Name of the policy; the binding has no effect while the policy does not exist.
	PolicyName string `json:"policyName,omitempty" protobuf:"bytes,1,opt,name=policyName"`
	// Parameter objects of the policy; ignored if the policy has no paramKind. If the policy has one and this
	// is unset, params is null.
	ParamRef *ParamRef `json:"paramRef,omitempty" protobuf:"bytes,2,opt,name=paramRef"`
	// Restricts the binding to some of the requests that the policy matches.
	MatchResources *MatchResources `json:"matchResources,omitempty" protobuf:"bytes,3,opt,name=matchResources"`
}

// MutatingAdmissionPolicySpec describes a mutating policy.
type MutatingAdmissionPolicySpec struct {
	// Kind of the parameter objects; if unset, the policy has no parameters and expressions cannot use
	// params.
	ParamKind *ParamKind `json:"paramKind,omitempty" protobuf:"bytes,1,opt,name=paramKind"`
	// Requests that the policy applies to; required. DELETE is not among the operations. Requests for
	// admission webhook configurations, policies and bindings never match.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" protobuf:"bytes,2,opt,name=matchConstraints"`
	// Named expressions that other expressions, except matchConditions, can refer to as variables.NAME;
	// evaluated on first use.
	Variables []Variable `json:"variables,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=variables"`
	// Mutations applied in order, at least one; each sees the result of the previous ones.
	Mutations []Mutation `json:"mutations,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=mutations"`
	// What happens if an expression cannot be evaluated: Fail (the default) rejects the request, Ignore skips
	// the policy.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,5,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Conditions in CEL that must all be true for the policy to apply; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,6,rep,name=matchConditions"`
	// Whether the policy is applied again after later plugins have modified the object: Never or IfNeeded.
	// Required.
	ReinvocationPolicy ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" protobuf:"bytes,7,opt,name=reinvocationPolicy" openapi:"enum=IfNeeded|Never"`
}

// MutatingWebhook describes a webhook that may modify objects.
type MutatingWebhook struct {
	// Fully qualified name of the webhook, such as imagepolicy.example.com.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// How to call the webhook.
	ClientConfig WebhookClientConfig `json:"clientConfig" protobuf:"bytes,2,opt,name=clientConfig" openapi:"required"`
	// Requests that the webhook is called for: those that match any of the rules. Requests for
	// admission webhook configurations, policies and bindings never match.
	Rules []RuleWithOperations `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
	// What happens if the call fails: Fail (the default) rejects the request, Ignore skips the webhook.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// How the rules are matched: Equivalent (the default) also matches requests through another group or
	// version of the same resource, Exact does not.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,9,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
	// Selects objects by the labels of their namespace; cluster-scoped objects other than namespaces always
	// match. All if empty.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,5,opt,name=namespaceSelector"`
	// Selects objects by label; the object before or after the operation must match. All if empty.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,11,opt,name=objectSelector"`
	// Side effects of the webhook: None, or NoneOnDryRun if it has none in a dry run.
	SideEffects *SideEffectClass `json:"sideEffects" protobuf:"bytes,6,opt,name=sideEffects" openapi:"required,enum=None|NoneOnDryRun|Some|Unknown"`
	// Seconds after which the call fails, 1 to 30; defaults to 10.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,7,opt,name=timeoutSeconds"`
	// Versions of AdmissionReview that the webhook supports, in order of preference; at least one of v1
	// and v1beta1.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" listType:"atomic" protobuf:"bytes,8,rep,name=admissionReviewVersions" openapi:"required"`
	// Whether the webhook is called again after others have modified the object: Never (the default) or
	// IfNeeded.
	ReinvocationPolicy *ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" protobuf:"bytes,10,opt,name=reinvocationPolicy" openapi:"enum=IfNeeded|Never"`
	// Conditions in CEL that must all be true for the webhook to be called; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,12,rep,name=matchConditions"`
}

// MutatingWebhookConfiguration registers webhooks that may modify objects.
type MutatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Webhooks, called one after another in the order of configuration names.
	Webhooks []MutatingWebhook `json:"webhooks,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=Webhooks"`
}

// Mutation describes one mutation; the field that corresponds to its type is set.
type Mutation struct {
	// Type of the mutation: ApplyConfiguration or JSONPatch.
	PatchType PatchType `json:"patchType" protobuf:"bytes,2,opt,name=patchType" openapi:"required,enum=ApplyConfiguration|JSONPatch"`
	// Apply configuration that is merged into the object.
	ApplyConfiguration *ApplyConfiguration `json:"applyConfiguration,omitempty" protobuf:"bytes,3,opt,name=applyConfiguration"`
	// JSON patch that is applied to the object.
	JSONPatch *JSONPatch `json:"jsonPatch,omitempty" protobuf:"bytes,4,opt,name=jsonPatch"`
}

// NamedRuleWithOperations matches requests by operation, resource and object name.
type NamedRuleWithOperations struct {
	// Names of the objects; all objects if empty.
	ResourceNames      []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=resourceNames"`
	RuleWithOperations `json:",inline" protobuf:"bytes,2,opt,name=ruleWithOperations"`
}

// ParamKind identifies the kind of the parameter objects of a policy.
type ParamKind struct {
	// API version of the objects, such as rules.example.com/v1.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,1,opt,name=apiVersion"`
	// Kind of the objects.
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
}

// ParamRef selects the parameter objects of a policy, by name or by label.
type ParamRef struct {
	// Name of the object; excludes selector.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Namespace of the objects; that of the request if empty. Must be empty for cluster-scoped kinds.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Label selector of the objects, all if empty; the policy is evaluated once for each of them. Excludes
	// name.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,3,opt,name=selector"`
	// What happens if there are no such objects: Allow skips the binding, Deny fails according to
	// failurePolicy. Required.
	ParameterNotFoundAction *ParameterNotFoundActionType `json:"parameterNotFoundAction,omitempty" protobuf:"bytes,4,opt,name=parameterNotFoundAction"`
}

// Rule matches resources.
type Rule struct {
	// API groups of the resources; * matches all and must be the only entry.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=apiGroups"`
	// API versions of the resources; * matches all and must be the only entry.
	APIVersions []string `json:"apiVersions,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiVersions"`
	// Resources, such as pods, pods/log, pods/*, */scale or *; * does not match subresources, */* matches
	// everything.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// Scope of the resources: Cluster, Namespaced, or * (the default) for both.
	Scope *ScopeType `json:"scope,omitempty" protobuf:"bytes,4,opt,name=scope" openapi:"enum=*|Cluster|Namespaced"`
}

// RuleWithOperations matches requests by operation and resource.
type RuleWithOperations struct {
	// Operations: CREATE, UPDATE, DELETE, CONNECT, or * for all, which must be the only entry.
	Operations []OperationType `json:"operations,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=operations"`
	Rule       `json:",inline" protobuf:"bytes,2,opt,name=rule"`
}

// ServiceReference identifies a port and path of a service.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the service.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// URL path of the requests; defaults to /.
	Path *string `json:"path,omitempty" protobuf:"bytes,3,opt,name=path"`
	// Port of the service; defaults to 443.
	Port *int32 `json:"port,omitempty" protobuf:"varint,4,opt,name=port"`
}

// TypeChecking holds the results of type checking a policy.
type TypeChecking struct {
	// Warnings of the type checker, one per expression.
	ExpressionWarnings []ExpressionWarning `json:"expressionWarnings,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=expressionWarnings"`
}

// ValidatingAdmissionPolicy describes validations of requests in CEL. It takes effect through bindings.
type ValidatingAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Requests that the policy applies to, and its validations.
	Spec ValidatingAdmissionPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Results of type checking; populated by the system.
	Status ValidatingAdmissionPolicyStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ValidatingAdmissionPolicyBinding puts a policy into effect, with optional parameters.
type ValidatingAdmissionPolicyBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Policy, parameters, requests and actions of the binding.
	Spec ValidatingAdmissionPolicyBindingSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// ValidatingAdmissionPolicyBindingSpec describes how a policy is put into effect.
type ValidatingAdmissionPolicyBindingSpec struct {
	// Name of the policy; the binding has no effect while the policy does not exist.
	PolicyName string `json:"policyName,omitempty" protobuf:"bytes,1,opt,name=policyName" openapi:"required"`
	// Parameter objects of the policy; ignored if the policy has no paramKind. If the policy has one and this
	// is unset, params is null.
	ParamRef *ParamRef `json:"paramRef,omitempty" protobuf:"bytes,2,opt,name=paramRef"`
	// Restricts the binding to some of the requests that the policy matches.
	MatchResources *MatchResources `json:"matchResources,omitempty" protobuf:"bytes,3,opt,name=matchResources"`
	// Actions taken if a validation fails: Deny, Warn, Audit. Deny and Warn exclude each other.
	ValidationActions []ValidationAction `json:"validationActions,omitempty" listType:"set" protobuf:"bytes,4,rep,name=validationActions" openapi:"required"`
}

// ValidatingAdmissionPolicySpec describes a validating policy.
type ValidatingAdmissionPolicySpec struct {
	// Kind of the parameter objects; if unset, the policy has no parameters and expressions cannot use
	// params.
	ParamKind *ParamKind `json:"paramKind,omitempty" protobuf:"bytes,1,opt,name=paramKind"`
	// Requests that the policy applies to; required. Requests for admission webhook configurations,
	// policies and bindings never match.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" protobuf:"bytes,2,opt,name=matchConstraints"`
	// Validations that a request must pass; required if there are no audit annotations.
	Validations []Validation `json:"validations,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=validations"`
	// What happens if an expression cannot be evaluated: Fail (the default) counts as a failed validation,
	// Ignore skips the policy.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Annotations to add to the audit event of the request.
	AuditAnnotations []AuditAnnotation `json:"auditAnnotations,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=auditAnnotations"`
	// Conditions in CEL that must all be true for the policy to apply; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,6,rep,name=matchConditions"`
	// Named expressions that other expressions, except matchConditions, can refer to as variables.NAME;
	// evaluated on first use.
	Variables []Variable `json:"variables,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=variables"`
}

// ValidatingAdmissionPolicyStatus is the observed state of a policy.
type ValidatingAdmissionPolicyStatus struct {
	// Generation of the policy that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Results of type checking; unset until it has been done.
	TypeChecking *TypeChecking `json:"typeChecking,omitempty" protobuf:"bytes,2,opt,name=typeChecking"`
	// Conditions of the policy.
	Conditions []metav1.Condition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,3,rep,name=conditions"`
}

// ValidatingWebhook describes a webhook that may reject requests.
type ValidatingWebhook struct {
	// Fully qualified name of the webhook, such as imagepolicy.example.com.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// How to call the webhook.
	ClientConfig WebhookClientConfig `json:"clientConfig" protobuf:"bytes,2,opt,name=clientConfig" openapi:"required"`
	// Requests that the webhook is called for: those that match any of the rules. Requests for
	// admission webhook configurations, policies and bindings never match.
	Rules []RuleWithOperations `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
	// What happens if the call fails: Fail (the default) rejects the request, Ignore skips the webhook.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// How the rules are matched: Equivalent (the default) also matches requests through another group or
	// version of the same resource, Exact does not.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,9,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
	// Selects objects by the labels of their namespace; cluster-scoped objects other than namespaces always
	// match. All if empty.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,5,opt,name=namespaceSelector"`
	// Selects objects by label; the object before or after the operation must match. All if empty.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,10,opt,name=objectSelector"`
	// Side effects of the webhook: None, or NoneOnDryRun if it has none in a dry run.
	SideEffects *SideEffectClass `json:"sideEffects" protobuf:"bytes,6,opt,name=sideEffects" openapi:"required,enum=None|NoneOnDryRun|Some|Unknown"`
	// Seconds after which the call fails, 1 to 30; defaults to 10.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,7,opt,name=timeoutSeconds"`
	// Versions of AdmissionReview that the webhook supports, in order of preference; at least one of v1
	// and v1beta1.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" listType:"atomic" protobuf:"bytes,8,rep,name=admissionReviewVersions" openapi:"required"`
	// Conditions in CEL that must all be true for the webhook to be called; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,11,rep,name=matchConditions"`
}

// ValidatingWebhookConfiguration registers webhooks that may reject requests.
type ValidatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Webhooks, called in parallel.
	Webhooks []ValidatingWebhook `json:"webhooks,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=Webhooks"`
}

// Validation is a validation in CEL.
type Validation struct {
	// CEL expression that must evaluate to true.
	Expression string `json:"expression" protobuf:"bytes,1,opt,name=Expression" openapi:"required"`
	// Message returned if the validation fails.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Machine-readable reason returned if the validation fails: Unauthorized, Forbidden, Invalid (the
	// default) or RequestEntityTooLarge.
	Reason *metav1.StatusReason `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// CEL expression that evaluates to the message; takes precedence over message.
	MessageExpression string `json:"messageExpression,omitempty" protobuf:"bytes,4,opt,name=messageExpression"`
}

// Variable is a named expression.
type Variable struct {
	// Name of the variable; other expressions refer to it as variables.NAME.
	Name string `json:"name" protobuf:"bytes,1,opt,name=Name" openapi:"required"`
	// CEL expression that evaluates to the value; it can use what conditions can, and the variables before
	// it.
	Expression string `json:"expression" protobuf:"bytes,2,opt,name=Expression" openapi:"required"`
}

// WebhookClientConfig describes how to call a webhook; exactly one of url and service is set.
type WebhookClientConfig struct {
	// URL of the webhook; must use https.
	URL *string `json:"url,omitempty" protobuf:"bytes,3,opt,name=url"`
	// Service of the webhook.
	Service *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	// PEM-encoded CA certificates that the webhook's certificate is verified with; those of the system if
	// unset.
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,2,opt,name=caBundle"`
}

// MutatingAdmissionPolicyBindingList is a list of MutatingAdmissionPolicyBinding objects.
type MutatingAdmissionPolicyBindingList = metav1.List[*MutatingAdmissionPolicyBinding]

// MutatingAdmissionPolicyList is a list of MutatingAdmissionPolicy objects.
type MutatingAdmissionPolicyList = metav1.List[*MutatingAdmissionPolicy]

// MutatingWebhookConfigurationList is a list of MutatingWebhookConfiguration objects.
type MutatingWebhookConfigurationList = metav1.List[*MutatingWebhookConfiguration]

// ValidatingAdmissionPolicyBindingList is a list of ValidatingAdmissionPolicyBinding objects.
type ValidatingAdmissionPolicyBindingList = metav1.List[*ValidatingAdmissionPolicyBinding]

// ValidatingAdmissionPolicyList is a list of ValidatingAdmissionPolicy objects.
type ValidatingAdmissionPolicyList = metav1.List[*ValidatingAdmissionPolicy]

// ValidatingWebhookConfigurationList is a list of ValidatingWebhookConfiguration objects.
type ValidatingWebhookConfigurationList = metav1.List[*ValidatingWebhookConfiguration]

// FailurePolicyType enumerates the values of MutatingAdmissionPolicySpec.FailurePolicy,
// MutatingWebhook.FailurePolicy and other fields.
type FailurePolicyType string

const (
	Fail   FailurePolicyType = "Fail"
	Ignore FailurePolicyType = "Ignore"
)

// MatchPolicyType enumerates the values of MatchResources.MatchPolicy, MutatingWebhook.MatchPolicy and other
// fields.
type MatchPolicyType string

const (
	Equivalent MatchPolicyType = "Equivalent"
	Exact      MatchPolicyType = "Exact"
)

// OperationType enumerates the values of RuleWithOperations.Operations.
type OperationType string

const (
	Connect      OperationType = "CONNECT"
	Create       OperationType = "CREATE"
	Delete       OperationType = "DELETE"
	OperationAll OperationType = "*"
	Update       OperationType = "UPDATE"
)

// ParameterNotFoundActionType enumerates the values of ParamRef.ParameterNotFoundAction.
type ParameterNotFoundActionType string

const (
	AllowAction ParameterNotFoundActionType = "Allow"
	DenyAction  ParameterNotFoundActionType = "Deny"
)

// PatchType enumerates the values of Mutation.PatchType.
type PatchType string

const (
	PatchTypeApplyConfiguration PatchType = "ApplyConfiguration"
	PatchTypeJSONPatch          PatchType = "JSONPatch"
)

// ReinvocationPolicyType enumerates the values of MutatingAdmissionPolicySpec.ReinvocationPolicy and
// MutatingWebhook.ReinvocationPolicy.
type ReinvocationPolicyType string

const (
	IfNeededReinvocationPolicy ReinvocationPolicyType = "IfNeeded"
	NeverReinvocationPolicy    ReinvocationPolicyType = "Never"
)

// ScopeType enumerates the values of Rule.Scope.
type ScopeType string

const (
	AllScopes       ScopeType = "*"
	ClusterScope    ScopeType = "Cluster"
	NamespacedScope ScopeType = "Namespaced"
)

// SideEffectClass enumerates the values of MutatingWebhook.SideEffects and ValidatingWebhook.SideEffects.
type SideEffectClass string

const (
	SideEffectClassNone         SideEffectClass = "None"
	SideEffectClassNoneOnDryRun SideEffectClass = "NoneOnDryRun"
	SideEffectClassSome         SideEffectClass = "Some"
	SideEffectClassUnknown      SideEffectClass = "Unknown"
)

// ValidationAction enumerates the values of ValidatingAdmissionPolicyBindingSpec.ValidationActions.
type ValidationAction string

const (
	Audit ValidationAction = "Audit"
	Deny  ValidationAction = "Deny"
	Warn  ValidationAction = "Warn"
)
