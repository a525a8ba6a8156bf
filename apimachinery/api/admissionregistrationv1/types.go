// Package admissionregistrationv1 holds webhook configurations and admission policies
// (admissionregistration.k8s.io/v1).
package admissionregistrationv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
)

// ApplyConfiguration is an expression that makes an apply configuration.
type ApplyConfiguration struct {
	// CEL that gives an object of type Object{} with the fields to set, merged like a server-side apply.
	Expression string `json:"expression,omitempty" protobuf:"bytes,1,opt,name=expression"`
}

// AuditAnnotation is a value to add to the audit log.
type AuditAnnotation struct {
	// Name of the note; the audit event has it as POLICY/KEY.
	Key string `json:"key" protobuf:"bytes,1,opt,name=key" openapi:"required"`
	// CEL that gives the note, or null for none; at most 5 KiB, longer results are cut.
	ValueExpression string `json:"valueExpression" protobuf:"bytes,2,opt,name=valueExpression" openapi:"required"`
}

// ExpressionWarning is a finding of the type checker.
type ExpressionWarning struct {
	// Path of the expression in the policy.
	FieldRef string `json:"fieldRef" protobuf:"bytes,2,opt,name=fieldRef" openapi:"required"`
	// What the type checker says, kind by kind.
	Warning string `json:"warning" protobuf:"bytes,3,opt,name=warning" openapi:"required"`
}

// JSONPatch is an expression that makes a JSON patch.
type JSONPatch struct {
	// CEL that gives a list of JSONPatch{} operations.
	Expression string `json:"expression,omitempty" protobuf:"bytes,1,opt,name=expression"`
}

// MatchCondition is a condition in CEL.
type MatchCondition struct {
	// Name of the condition.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Expression that must be true.
	Expression string `json:"expression" protobuf:"bytes,2,opt,name=expression" openapi:"required"`
}

// MatchResources is the requests a policy is about.
type MatchResources struct {
	// Only objects in namespaces with such labels; cluster-scoped objects always. All unless set.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,1,opt,name=namespaceSelector"`
	// Only if the object, new or old, has such labels; all unless set.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,2,opt,name=objectSelector"`
	// Requests that match any of them.
	ResourceRules []NamedRuleWithOperations `json:"resourceRules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resourceRules"`
	// Requests that are left alone even so.
	ExcludeResourceRules []NamedRuleWithOperations `json:"excludeResourceRules,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=excludeResourceRules"`
	// Exact, or Equivalent, the default, which takes the same object in other groups and versions too.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,7,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
}

// MutatingAdmissionPolicy is changes in CEL that are made to objects, where a binding puts them in force.
type MutatingAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which requests it changes, and how.
	Spec MutatingAdmissionPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// MutatingAdmissionPolicyBinding puts a policy in force.
type MutatingAdmissionPolicyBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which policy is in force for which requests, with which parameters.
	Spec MutatingAdmissionPolicyBindingSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
}

// MutatingAdmissionPolicyBindingSpec is where a policy is in force.
type MutatingAdmissionPolicyBindingSpec struct {
	// The policy; a binding to one that does not exist has no effect.
	PolicyName string `json:"policyName,omitempty" protobuf:"bytes,1,opt,name=policyName"`
	// Objects with parameters; needed exactly if the policy has a paramKind.
	ParamRef *ParamRef `json:"paramRef,omitempty" protobuf:"bytes,2,opt,name=paramRef"`
	// Narrows down the policy's own constraints.
	MatchResources *MatchResources `json:"matchResources,omitempty" protobuf:"bytes,3,opt,name=matchResources"`
}

// MutatingAdmissionPolicySpec is the changes of a policy.
type MutatingAdmissionPolicySpec struct {
	// Kind of parameter objects; none unless set, and params is then null.
	ParamKind *ParamKind `json:"paramKind,omitempty" protobuf:"bytes,1,opt,name=paramKind"`
	// Requests the policy is about; must be set.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" protobuf:"bytes,2,opt,name=matchConstraints"`
	// Expressions with names, for later ones as variables.NAME; computed when first used.
	Variables []Variable `json:"variables,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=variables"`
	// Changes, one after the other; each sees what those before have done.
	Mutations []Mutation `json:"mutations,omitempty" listType:"atomic" protobuf:"bytes,4,rep,name=mutations"`
	// What an error of an expression means: Fail, the default, or Ignore.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,5,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Expressions that must all be true for the policy to act; at most 64.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,6,rep,name=matchConditions"`
	// Never, or IfNeeded to act again after later plugins have changed the object.
	ReinvocationPolicy ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" protobuf:"bytes,7,opt,name=reinvocationPolicy" openapi:"enum=IfNeeded|Never"`
}

// MutatingWebhook is a webhook that may change objects.
type MutatingWebhook struct {
	// Its name, a domain of three parts or more.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Where the webhook is: a URL, or a service of the cluster.
	ClientConfig WebhookClientConfig `json:"clientConfig" protobuf:"bytes,2,opt,name=clientConfig" openapi:"required"`
	// Requests it is asked about.
	Rules []RuleWithOperations `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
	// What if it cannot be asked: Fail (the default) or Ignore.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Equivalent (the default) asks about other versions of the same resource too, Exact does not.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,9,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
	// Namespaces it is asked about.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,5,opt,name=namespaceSelector"`
	// Objects it is asked about, by label, old or new.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,11,opt,name=objectSelector"`
	// None or NoneOnDryRun.
	SideEffects *SideEffectClass `json:"sideEffects" protobuf:"bytes,6,opt,name=sideEffects" openapi:"required,enum=None|NoneOnDryRun|Some|Unknown"`
	// How long to wait, 1 to 30; 10 unless set.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,7,opt,name=timeoutSeconds"`
	// Versions of the review it understands, in order of preference.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" listType:"atomic" protobuf:"bytes,8,rep,name=admissionReviewVersions" openapi:"required"`
	// Whether it is asked again after others changed the object: Never (the default) or IfNeeded.
	ReinvocationPolicy *ReinvocationPolicyType `json:"reinvocationPolicy,omitempty" protobuf:"bytes,10,opt,name=reinvocationPolicy" openapi:"enum=IfNeeded|Never"`
	// Conditions in CEL that must all be true for it to be asked.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,12,rep,name=matchConditions"`
}

// MutatingWebhookConfiguration names webhooks that may change objects.
type MutatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The webhooks; they are asked one after another, by name.
	Webhooks []MutatingWebhook `json:"webhooks,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=Webhooks"`
}

// Mutation is one change; the field of its type is set.
type Mutation struct {
	// ApplyConfiguration or JSONPatch.
	PatchType PatchType `json:"patchType" protobuf:"bytes,2,opt,name=patchType" openapi:"required,enum=ApplyConfiguration|JSONPatch"`
	// Fields to set.
	ApplyConfiguration *ApplyConfiguration `json:"applyConfiguration,omitempty" protobuf:"bytes,3,opt,name=applyConfiguration"`
	// Operations to carry out.
	JSONPatch *JSONPatch `json:"jsonPatch,omitempty" protobuf:"bytes,4,opt,name=jsonPatch"`
}

// NamedRuleWithOperations is requests by operation, resource and object names.
type NamedRuleWithOperations struct {
	// Only objects of these names; all if empty.
	ResourceNames      []string `json:"resourceNames,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=resourceNames"`
	RuleWithOperations `json:",inline" protobuf:"bytes,2,opt,name=ruleWithOperations"`
}

// ParamKind is the kind of the objects with a policy's parameters.
type ParamKind struct {
	// Group and version, such as rules.example.com/v1.
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,1,opt,name=apiVersion"`
	// Kind name.
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
}

// ParamRef names the objects with parameters, by name or by labels.
type ParamRef struct {
	// Name of one object. Excludes selector.
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// Where to look; the request's namespace if empty. Not for cluster-scoped kinds.
	Namespace string `json:"namespace,omitempty" protobuf:"bytes,2,opt,name=namespace"`
	// Labels of the objects; the policy runs once for each. Excludes name.
	Selector *metav1.LabelSelector `json:"selector,omitempty" protobuf:"bytes,3,opt,name=selector"`
	// Allow or Deny: what happens when there is no such object.
	ParameterNotFoundAction *ParameterNotFoundActionType `json:"parameterNotFoundAction,omitempty" protobuf:"bytes,4,opt,name=parameterNotFoundAction"`
}

// Rule is resources.
type Rule struct {
	// Groups; * is all.
	APIGroups []string `json:"apiGroups,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=apiGroups"`
	// Versions; * is all.
	APIVersions []string `json:"apiVersions,omitempty" listType:"atomic" protobuf:"bytes,2,rep,name=apiVersions"`
	// Resources, such as pods, pods/log, */scale or *.
	Resources []string `json:"resources,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=resources"`
	// Cluster, Namespaced, or * (the default).
	Scope *ScopeType `json:"scope,omitempty" protobuf:"bytes,4,opt,name=scope" openapi:"enum=*|Cluster|Namespaced"`
}

// RuleWithOperations is requests by operation and resource.
type RuleWithOperations struct {
	// CREATE, UPDATE, DELETE, CONNECT, or * for all.
	Operations []OperationType `json:"operations,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=operations"`
	Rule       `json:",inline" protobuf:"bytes,2,opt,name=rule"`
}

// ServiceReference names a port and path of a service.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	// Name of the service.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	// URL path to call; / unless set.
	Path *string `json:"path,omitempty" protobuf:"bytes,3,opt,name=path"`
	// Number of its port; 443 unless set.
	Port *int32 `json:"port,omitempty" protobuf:"varint,4,opt,name=port"`
}

// TypeChecking is what the type checker found.
type TypeChecking struct {
	// One entry per expression with findings.
	ExpressionWarnings []ExpressionWarning `json:"expressionWarnings,omitempty" listType:"atomic" protobuf:"bytes,1,rep,name=expressionWarnings"`
}

// ValidatingAdmissionPolicy is rules in CEL that may refuse requests, where a binding puts them in force.
type ValidatingAdmissionPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which requests it looks at, and what must be true of them.
	Spec ValidatingAdmissionPolicySpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// What the type checker found; written by the system.
	Status ValidatingAdmissionPolicyStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ValidatingAdmissionPolicyBinding puts a policy in force.
type ValidatingAdmissionPolicyBinding struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Which policy, where, and with what effect.
	Spec ValidatingAdmissionPolicyBindingSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
}

// ValidatingAdmissionPolicyBindingSpec is where a policy is in force.
type ValidatingAdmissionPolicyBindingSpec struct {
	// The policy; a binding to one that does not exist has no effect.
	PolicyName string `json:"policyName,omitempty" protobuf:"bytes,1,opt,name=policyName" openapi:"required"`
	// Objects with parameters; needed exactly if the policy has a paramKind.
	ParamRef *ParamRef `json:"paramRef,omitempty" protobuf:"bytes,2,opt,name=paramRef"`
	// Requests, of those the policy is about.
	MatchResources *MatchResources `json:"matchResources,omitempty" protobuf:"bytes,3,opt,name=matchResources"`
	// Deny, Warn, Audit; not Deny and Warn together.
	ValidationActions []ValidationAction `json:"validationActions,omitempty" listType:"set" protobuf:"bytes,4,rep,name=validationActions" openapi:"required"`
}

// ValidatingAdmissionPolicySpec is the rules of a policy.
type ValidatingAdmissionPolicySpec struct {
	// Kind of the objects with parameters.
	ParamKind *ParamKind `json:"paramKind,omitempty" protobuf:"bytes,1,opt,name=paramKind"`
	// Requests it is about.
	MatchConstraints *MatchResources `json:"matchConstraints,omitempty" protobuf:"bytes,2,opt,name=matchConstraints"`
	// Rules; a request must meet all.
	Validations []Validation `json:"validations,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=validations"`
	// What if a rule cannot be evaluated: Fail (the default) or Ignore.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Values to add to the audit log.
	AuditAnnotations []AuditAnnotation `json:"auditAnnotations,omitempty" listType:"atomic" protobuf:"bytes,5,rep,name=auditAnnotations"`
	// Conditions that must all be true for the policy to count.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,6,rep,name=matchConditions"`
	// Expressions with names, for use in the others.
	Variables []Variable `json:"variables,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,7,rep,name=variables"`
}

// ValidatingAdmissionPolicyStatus is what the type checker found about a policy.
type ValidatingAdmissionPolicyStatus struct {
	// Generation of the policy that was looked at.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,1,opt,name=observedGeneration"`
	// Findings of the type checker; absent until it has run.
	TypeChecking *TypeChecking `json:"typeChecking,omitempty" protobuf:"bytes,2,opt,name=typeChecking"`
	// Facts about the policy, by type.
	Conditions []metav1.Condition `json:"conditions,omitempty" listType:"map" listMapKey:"type" protobuf:"bytes,3,rep,name=conditions"`
}

// ValidatingWebhook is a webhook that may refuse requests.
type ValidatingWebhook struct {
	// Its name, a domain of three parts or more.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Where the webhook is: a URL, or a service of the cluster.
	ClientConfig WebhookClientConfig `json:"clientConfig" protobuf:"bytes,2,opt,name=clientConfig" openapi:"required"`
	// Requests it is asked about.
	Rules []RuleWithOperations `json:"rules,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=rules"`
	// What if it cannot be asked: Fail (the default) or Ignore.
	FailurePolicy *FailurePolicyType `json:"failurePolicy,omitempty" protobuf:"bytes,4,opt,name=failurePolicy" openapi:"enum=Fail|Ignore"`
	// Equivalent (the default) asks about other versions of the same resource too, Exact does not.
	MatchPolicy *MatchPolicyType `json:"matchPolicy,omitempty" protobuf:"bytes,9,opt,name=matchPolicy" openapi:"enum=Equivalent|Exact"`
	// Namespaces it is asked about.
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,5,opt,name=namespaceSelector"`
	// Objects it is asked about, by label, old or new.
	ObjectSelector *metav1.LabelSelector `json:"objectSelector,omitempty" protobuf:"bytes,10,opt,name=objectSelector"`
	// None or NoneOnDryRun.
	SideEffects *SideEffectClass `json:"sideEffects" protobuf:"bytes,6,opt,name=sideEffects" openapi:"required,enum=None|NoneOnDryRun|Some|Unknown"`
	// How long to wait, 1 to 30; 10 unless set.
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty" protobuf:"varint,7,opt,name=timeoutSeconds"`
	// Versions of the review it understands, in order of preference.
	AdmissionReviewVersions []string `json:"admissionReviewVersions" listType:"atomic" protobuf:"bytes,8,rep,name=admissionReviewVersions" openapi:"required"`
	// Conditions in CEL that must all be true for it to be asked.
	MatchConditions []MatchCondition `json:"matchConditions,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,11,rep,name=matchConditions"`
}

// ValidatingWebhookConfiguration names webhooks that may refuse requests.
type ValidatingWebhookConfiguration struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// The webhooks; all are asked at the same time.
	Webhooks []ValidatingWebhook `json:"webhooks,omitempty" patchStrategy:"merge" patchMergeKey:"name" listType:"map" listMapKey:"name" protobuf:"bytes,2,rep,name=Webhooks"`
}

// Validation is a rule in CEL.
type Validation struct {
	// Expression that must be true.
	Expression string `json:"expression" protobuf:"bytes,1,opt,name=Expression" openapi:"required"`
	// What to say when it is not.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Reason of the refusal.
	Reason *metav1.StatusReason `json:"reason,omitempty" protobuf:"bytes,3,opt,name=reason"`
	// Expression that makes the message.
	MessageExpression string `json:"messageExpression,omitempty" protobuf:"bytes,4,opt,name=messageExpression"`
}

// Variable is an expression with a name.
type Variable struct {
	// Name, by which others use it as variables.name.
	Name string `json:"name" protobuf:"bytes,1,opt,name=Name" openapi:"required"`
	// CEL for the value; it sees what conditions see, and the variables before it.
	Expression string `json:"expression" protobuf:"bytes,2,opt,name=Expression" openapi:"required"`
}

// WebhookClientConfig is how to call a webhook; URL or service is set.
type WebhookClientConfig struct {
	// Its URL, with https.
	URL *string `json:"url,omitempty" protobuf:"bytes,3,opt,name=url"`
	// A service in the cluster.
	Service *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	// Certificates to trust, PEM; those of the system unless set.
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

// FailurePolicyType is what MutatingAdmissionPolicySpec.FailurePolicy, MutatingWebhook.FailurePolicy and
// others can be.
type FailurePolicyType string

// The values of FailurePolicyType.
const (
	Fail   FailurePolicyType = "Fail"
	Ignore FailurePolicyType = "Ignore"
)

// MatchPolicyType is what MatchResources.MatchPolicy, MutatingWebhook.MatchPolicy and others can be.
type MatchPolicyType string

// The values of MatchPolicyType.
const (
	Equivalent MatchPolicyType = "Equivalent"
	Exact      MatchPolicyType = "Exact"
)

// OperationType is what RuleWithOperations.Operations can be.
type OperationType string

// The values of OperationType.
const (
	Connect      OperationType = "CONNECT"
	Create       OperationType = "CREATE"
	Delete       OperationType = "DELETE"
	OperationAll OperationType = "*"
	Update       OperationType = "UPDATE"
)

// ParameterNotFoundActionType is what ParamRef.ParameterNotFoundAction can be.
type ParameterNotFoundActionType string

// The values of ParameterNotFoundActionType.
const (
	AllowAction ParameterNotFoundActionType = "Allow"
	DenyAction  ParameterNotFoundActionType = "Deny"
)

// PatchType is what Mutation.PatchType can be.
type PatchType string

// The values of PatchType.
const (
	PatchTypeApplyConfiguration PatchType = "ApplyConfiguration"
	PatchTypeJSONPatch          PatchType = "JSONPatch"
)

// ReinvocationPolicyType is what MutatingAdmissionPolicySpec.ReinvocationPolicy and
// MutatingWebhook.ReinvocationPolicy can be.
type ReinvocationPolicyType string

// The values of ReinvocationPolicyType.
const (
	IfNeededReinvocationPolicy ReinvocationPolicyType = "IfNeeded"
	NeverReinvocationPolicy    ReinvocationPolicyType = "Never"
)

// ScopeType is what Rule.Scope can be.
type ScopeType string

// The values of ScopeType.
const (
	AllScopes       ScopeType = "*"
	ClusterScope    ScopeType = "Cluster"
	NamespacedScope ScopeType = "Namespaced"
)

// SideEffectClass is what MutatingWebhook.SideEffects and ValidatingWebhook.SideEffects can be.
type SideEffectClass string

// The values of SideEffectClass.
const (
	SideEffectClassNone         SideEffectClass = "None"
	SideEffectClassNoneOnDryRun SideEffectClass = "NoneOnDryRun"
	SideEffectClassSome         SideEffectClass = "Some"
	SideEffectClassUnknown      SideEffectClass = "Unknown"
)

// ValidationAction is what ValidatingAdmissionPolicyBindingSpec.ValidationActions can be.
type ValidationAction string

// The values of ValidationAction.
const (
	Audit ValidationAction = "Audit"
	Deny  ValidationAction = "Deny"
	Warn  ValidationAction = "Warn"
)
