// Package apiextensionsv1 holds CustomResourceDefinition (apiextensions.k8s.io/v1).
package apiextensionsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// ConversionRequest is objects to convert to another version.
type ConversionRequest struct {
	// Names this call; the answer repeats it.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Group and version to convert to.
	DesiredAPIVersion string `json:"desiredAPIVersion" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// What to convert; versions may differ from one to the next.
	Objects []metav1.RawExtension `json:"objects" listType:"atomic" protobuf:"bytes,3,rep,name=objects" openapi:"required"`
}

// ConversionResponse is the converted objects.
type ConversionResponse struct {
	// Copied from the request.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// The objects in the same order; names, namespaces and uids unchanged.
	ConvertedObjects []metav1.RawExtension `json:"convertedObjects" listType:"atomic" protobuf:"bytes,2,rep,name=convertedObjects" openapi:"required"`
	// Success, or why nothing was converted.
	Result metav1.Status `json:"result" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ConversionReview carries objects to a conversion webhook, and back.
type ConversionReview struct {
	metav1.TypeMeta `json:",inline"`
	// The question; set by the server.
	Request *ConversionRequest `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	// The answer; set by the webhook.
	Response *ConversionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
}

// CustomResourceColumnDefinition is a column kubectl shows.
type CustomResourceColumnDefinition struct {
	// Heading of the column.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// integer, number, string, boolean or date.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type" openapi:"required"`
	// Format of the type, such as int32.
	Format string `json:"format,omitempty" protobuf:"bytes,3,opt,name=format"`
	// What the column shows, for readers.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// 0 to show it always, more to show it only in wide output.
	Priority int32 `json:"priority,omitempty" protobuf:"varint,5,opt,name=priority"`
	// Path of the value.
	JSONPath string `json:"jsonPath" protobuf:"bytes,6,opt,name=jsonPath" openapi:"required"`
}

// CustomResourceConversion is how versions are converted.
type CustomResourceConversion struct {
	// None changes only apiVersion; Webhook asks a webhook.
	Strategy ConversionStrategyType `json:"strategy" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Who converts; with strategy Webhook only.
	Webhook *WebhookConversion `json:"webhook,omitempty" protobuf:"bytes,2,opt,name=webhook"`
}

// CustomResourceDefinition adds a kind of object to the API; it is named plural.group.
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Names, versions and schemas of the new kind.
	Spec CustomResourceDefinitionSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Whether it is served; written by the system.
	Status CustomResourceDefinitionStatus `json:"status,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// CustomResourceDefinitionCondition is one fact about a definition.
type CustomResourceDefinitionCondition struct {
	// Name of the fact.
	Type CustomResourceDefinitionConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// When the status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Cause, in one word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Details, for people.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
	// Generation of the definition it was found on.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
}

// CustomResourceDefinitionNames is the names of a kind.
type CustomResourceDefinitionNames struct {
	// Lower-case plural, used in paths; cannot change.
	Plural string `json:"plural" protobuf:"bytes,1,opt,name=plural" openapi:"required"`
	// Lower-case singular; the kind in lower case unless set.
	Singular string `json:"singular,omitempty" protobuf:"bytes,2,opt,name=singular"`
	// Short names that kubectl knows.
	ShortNames []string `json:"shortNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=shortNames"`
	// CamelCase singular.
	Kind string `json:"kind" protobuf:"bytes,4,opt,name=kind" openapi:"required"`
	// Kind of lists; the kind with List behind unless set.
	ListKind string `json:"listKind,omitempty" protobuf:"bytes,5,opt,name=listKind"`
	// Groups of resources it belongs to, such as all.
	Categories []string `json:"categories,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=categories"`
}

// CustomResourceDefinitionSpec is a kind of object.
type CustomResourceDefinitionSpec struct {
	// API group, a domain with a dot; cannot change.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Names of the kind.
	Names CustomResourceDefinitionNames `json:"names" protobuf:"bytes,3,opt,name=names" openapi:"required"`
	// Namespaced or Cluster.
	Scope ResourceScope `json:"scope" protobuf:"bytes,4,opt,name=scope" openapi:"required"`
	// Versions it is served in; one of them is stored.
	Versions []CustomResourceDefinitionVersion `json:"versions" listType:"atomic" protobuf:"bytes,7,rep,name=versions" openapi:"required"`
	// How versions are converted into each other.
	Conversion *CustomResourceConversion `json:"conversion,omitempty" protobuf:"bytes,9,opt,name=conversion"`
	// Must be false; say it in the schema instead.
	PreserveUnknownFields bool `json:"preserveUnknownFields,omitempty" protobuf:"varint,10,opt,name=preserveUnknownFields"`
}

// CustomResourceDefinitionStatus is whether a kind is served.
type CustomResourceDefinitionStatus struct {
	// Facts such as Established and NamesAccepted.
	Conditions []CustomResourceDefinitionCondition `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Names in use, which may differ from those asked for.
	AcceptedNames CustomResourceDefinitionNames `json:"acceptedNames" protobuf:"bytes,2,opt,name=acceptedNames"`
	// Versions in which objects may be stored.
	StoredVersions []string `json:"storedVersions" listType:"atomic" protobuf:"bytes,3,rep,name=storedVersions"`
	// Generation of the spec this is about.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`
}

// CustomResourceDefinitionVersion is one version of a kind.
type CustomResourceDefinitionVersion struct {
	// Name such as v1 or v1beta1.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Whether the API serves it.
	Served bool `json:"served" protobuf:"varint,2,opt,name=served" openapi:"required"`
	// Whether objects are stored in it; true for exactly one.
	Storage bool `json:"storage" protobuf:"varint,3,opt,name=storage" openapi:"required"`
	// Warn everybody who uses it.
	Deprecated bool `json:"deprecated,omitempty" protobuf:"varint,7,opt,name=deprecated"`
	// The warning, instead of the usual one.
	DeprecationWarning *string `json:"deprecationWarning,omitempty" protobuf:"bytes,8,opt,name=deprecationWarning"`
	// What objects look like.
	Schema *CustomResourceValidation `json:"schema,omitempty" protobuf:"bytes,4,opt,name=schema"`
	// Whether objects have status and scale; neither unless set.
	Subresources *CustomResourceSubresources `json:"subresources,omitempty" protobuf:"bytes,5,opt,name=subresources"`
	// Columns kubectl shows.
	AdditionalPrinterColumns []CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=additionalPrinterColumns"`
	// Fields that field selectors can use, at most 8.
	SelectableFields []SelectableField `json:"selectableFields,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=selectableFields"`
}

// CustomResourceSubresourceScale says where the numbers for scale are.
type CustomResourceSubresourceScale struct {
	// Path below .spec of how many are wanted.
	SpecReplicasPath string `json:"specReplicasPath" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Path below .status of how many there are.
	StatusReplicasPath string `json:"statusReplicasPath" protobuf:"bytes,2,opt,name=statusReplicasPath" openapi:"required"`
	// Path of a label selector as text; autoscalers need it.
	LabelSelectorPath *string `json:"labelSelectorPath,omitempty" protobuf:"bytes,3,opt,name=labelSelectorPath"`
}

// CustomResourceSubresourceStatus serves status apart from the rest of an object.
type CustomResourceSubresourceStatus struct {
}

// CustomResourceSubresources is subresources of a kind.
type CustomResourceSubresources struct {
	// Serve status apart from the rest.
	Status *CustomResourceSubresourceStatus `json:"status,omitempty" protobuf:"bytes,1,opt,name=status"`
	// Serve scale, so that autoscalers can work with it.
	Scale *CustomResourceSubresourceScale `json:"scale,omitempty" protobuf:"bytes,2,opt,name=scale"`
}

// CustomResourceValidation is what objects look like.
type CustomResourceValidation struct {
	// The schema, which must be structural.
	OpenAPIV3Schema *JSONSchemaProps `json:"openAPIV3Schema,omitempty" protobuf:"bytes,1,opt,name=openAPIV3Schema"`
}

// ExternalDocumentation is a link to more about a schema.
type ExternalDocumentation struct {
	// What is to be found there.
	Description string `json:"description,omitempty" protobuf:"bytes,1,opt,name=description"`
	// Where to read on.
	URL string `json:"url,omitempty" protobuf:"bytes,2,opt,name=url"`
}

// JSON is any JSON value, kept as it came.
type JSON struct {
	// The bytes of the value; empty for null.
	Raw []byte `json:"-" protobuf:"bytes,1,opt,name=raw"`
}

// JSONSchemaProps is a schema; what is not listed as supported for custom resources is refused.
type JSONSchemaProps struct {
	// Refused.
	ID string `json:"id,omitempty" protobuf:"bytes,1,opt,name=id"`
	// Dialect of the schema; ignored.
	Schema JSONSchemaURL `json:"$schema,omitempty" protobuf:"bytes,2,opt,name=schema"`
	// Refused: schemas have no references.
	Ref *string `json:"$ref,omitempty" protobuf:"bytes,3,opt,name=ref"`
	// What the value means; shown by kubectl explain.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// object, array, string, integer, number or boolean.
	Type string `json:"type,omitempty" protobuf:"bytes,5,opt,name=type"`
	// Format of the type, such as int64 or date-time.
	Format string `json:"format,omitempty" protobuf:"bytes,6,opt,name=format"`
	// A short name for readers.
	Title string `json:"title,omitempty" protobuf:"bytes,7,opt,name=title"`
	// Value for objects that do not have one.
	Default *JSON `json:"default,omitempty" protobuf:"bytes,8,opt,name=default"`
	// Largest number that is allowed; with exclusiveMaximum, the first that is not.
	Maximum *float64 `json:"maximum,omitempty" protobuf:"fixed64,9,opt,name=maximum"`
	// The value must be under maximum, not at it.
	ExclusiveMaximum bool `json:"exclusiveMaximum,omitempty" protobuf:"varint,10,opt,name=exclusiveMaximum"`
	// Smallest number that is allowed; with exclusiveMinimum, the last that is not.
	Minimum *float64 `json:"minimum,omitempty" protobuf:"fixed64,11,opt,name=minimum"`
	// The value must be over minimum, not at it.
	ExclusiveMinimum bool `json:"exclusiveMinimum,omitempty" protobuf:"varint,12,opt,name=exclusiveMinimum"`
	// Most characters of a string; code points, not bytes.
	MaxLength *int64 `json:"maxLength,omitempty" protobuf:"varint,13,opt,name=maxLength"`
	// Fewest characters.
	MinLength *int64 `json:"minLength,omitempty" protobuf:"varint,14,opt,name=minLength"`
	// Regular expression that text must match.
	Pattern string `json:"pattern,omitempty" protobuf:"bytes,15,opt,name=pattern"`
	// Most items of an array; also bounds the estimated cost of rules on it.
	MaxItems *int64 `json:"maxItems,omitempty" protobuf:"varint,16,opt,name=maxItems"`
	// Fewest items of an array.
	MinItems *int64 `json:"minItems,omitempty" protobuf:"varint,17,opt,name=minItems"`
	// Must not be true; list type set does the same.
	UniqueItems bool `json:"uniqueItems,omitempty" protobuf:"varint,18,opt,name=uniqueItems"`
	// The number divided by this is whole; over 0.
	MultipleOf *float64 `json:"multipleOf,omitempty" protobuf:"fixed64,19,opt,name=multipleOf"`
	// The only values that are allowed.
	Enum []JSON `json:"enum,omitempty" listType:"atomic" protobuf:"bytes,20,rep,name=enum"`
	// Most properties of an object; also bounds the estimated cost of rules on it.
	MaxProperties *int64 `json:"maxProperties,omitempty" protobuf:"varint,21,opt,name=maxProperties"`
	// Fewest properties.
	MinProperties *int64 `json:"minProperties,omitempty" protobuf:"varint,22,opt,name=minProperties"`
	// Properties that must be there.
	Required []string `json:"required,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=required"`
	// Schema of the items.
	Items *JSONSchemaPropsOrArray `json:"items,omitempty" protobuf:"bytes,24,opt,name=items"`
	// Schemas that must all hold.
	AllOf []JSONSchemaProps `json:"allOf,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=allOf"`
	// Schemas of which exactly one must hold.
	OneOf []JSONSchemaProps `json:"oneOf,omitempty" listType:"atomic" protobuf:"bytes,26,rep,name=oneOf"`
	// Schemas of which one at least must hold.
	AnyOf []JSONSchemaProps `json:"anyOf,omitempty" listType:"atomic" protobuf:"bytes,27,rep,name=anyOf"`
	// Schema that must not hold.
	Not *JSONSchemaProps `json:"not,omitempty" protobuf:"bytes,28,opt,name=not"`
	// Schemas of the properties.
	Properties map[string]JSONSchemaProps `json:"properties,omitempty" protobuf:"bytes,29,rep,name=properties"`
	// Schema of all properties of a map.
	AdditionalProperties *JSONSchemaPropsOrBool `json:"additionalProperties,omitempty" protobuf:"bytes,30,opt,name=additionalProperties"`
	// Refused.
	PatternProperties map[string]JSONSchemaProps `json:"patternProperties,omitempty" protobuf:"bytes,31,rep,name=patternProperties"`
	// Refused.
	Dependencies JSONSchemaDependencies `json:"dependencies,omitempty" protobuf:"bytes,32,rep,name=dependencies"`
	// Refused.
	AdditionalItems *JSONSchemaPropsOrBool `json:"additionalItems,omitempty" protobuf:"bytes,33,opt,name=additionalItems"`
	// Refused.
	Definitions JSONSchemaDefinitions `json:"definitions,omitempty" protobuf:"bytes,34,rep,name=definitions"`
	// Where to read more.
	ExternalDocs *ExternalDocumentation `json:"externalDocs,omitempty" protobuf:"bytes,35,opt,name=externalDocs"`
	// A value for readers; not checked.
	Example *JSON `json:"example,omitempty" protobuf:"bytes,36,opt,name=example"`
	// Whether null is allowed.
	Nullable bool `json:"nullable,omitempty" protobuf:"varint,37,opt,name=nullable"`
	// Keep fields the schema does not list.
	XPreserveUnknownFields *bool `json:"x-kubernetes-preserve-unknown-fields,omitempty" protobuf:"varint,38,opt,name=xKubernetesPreserveUnknownFields"`
	// The value is an object with apiVersion, kind and metadata.
	XEmbeddedResource bool `json:"x-kubernetes-embedded-resource,omitempty" protobuf:"varint,39,opt,name=xKubernetesEmbeddedResource"`
	// The value is an integer or a string.
	XIntOrString bool `json:"x-kubernetes-int-or-string,omitempty" protobuf:"varint,40,opt,name=xKubernetesIntOrString"`
	// Properties that identify an item, for lists of type map.
	XListMapKeys []string `json:"x-kubernetes-list-map-keys,omitempty" listType:"atomic" protobuf:"bytes,41,rep,name=xKubernetesListMapKeys"`
	// How lists are merged: atomic (the default), set or map.
	XListType *string `json:"x-kubernetes-list-type,omitempty" protobuf:"bytes,42,opt,name=xKubernetesListType"`
	// How maps are merged: granular (the default) or atomic.
	XMapType *string `json:"x-kubernetes-map-type,omitempty" protobuf:"bytes,43,opt,name=xKubernetesMapType"`
	// CEL rules that must be true of the value.
	XValidations ValidationRules `json:"x-kubernetes-validations,omitempty" patchStrategy:"merge" patchMergeKey:"rule" listType:"map" listMapKey:"rule" protobuf:"bytes,44,rep,name=xKubernetesValidations"`
}

// JSONSchemaPropsOrArray is a schema, or a list of schemas.
type JSONSchemaPropsOrArray struct {
	// The one schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,1,opt,name=schema"`
	// The list; refused in definitions.
	JSONSchemas []JSONSchemaProps `json:"-" codec:"array" protobuf:"bytes,2,rep,name=jSONSchemas"`
}

// JSONSchemaPropsOrBool is a schema, or true or false.
type JSONSchemaPropsOrBool struct {
	// The truth value; true beside a schema.
	Allows bool `json:"-" codec:"bool" protobuf:"varint,1,opt,name=allows"`
	// The schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,2,opt,name=schema"`
}

// JSONSchemaPropsOrStringArray is a schema, or a list of property names.
type JSONSchemaPropsOrStringArray struct {
	// The schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,1,opt,name=schema"`
	// The names.
	Property []string `json:"-" codec:"array" protobuf:"bytes,2,rep,name=property"`
}

// SelectableField is a field that field selectors can use.
type SelectableField struct {
	// Path of a string, boolean or integer.
	JSONPath string `json:"jsonPath" protobuf:"bytes,1,opt,name=jsonPath" openapi:"required"`
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

// ValidationRule is a rule in CEL that values must meet.
type ValidationRule struct {
	// Expression over self, and oldSelf on updates; must be true.
	Rule string `json:"rule" protobuf:"bytes,1,opt,name=rule" openapi:"required"`
	// What to say when it is not.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Expression that makes the message.
	MessageExpression string `json:"messageExpression,omitempty" protobuf:"bytes,3,opt,name=messageExpression"`
	// Cause type to report; FieldValueInvalid unless set.
	Reason *FieldValueErrorReason `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason" openapi:"enum=FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired"`
	// Field to report it for, relative to the schema.
	FieldPath string `json:"fieldPath,omitempty" protobuf:"bytes,5,opt,name=fieldPath"`
	// Evaluate rules about oldSelf on creation too, where it is optional.
	OptionalOldSelf *bool `json:"optionalOldSelf,omitempty" protobuf:"varint,6,opt,name=optionalOldSelf"`
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

// WebhookConversion is a webhook that converts.
type WebhookConversion struct {
	// Where the webhook is: a URL, or a service of the cluster.
	ClientConfig *WebhookClientConfig `json:"clientConfig,omitempty" protobuf:"bytes,2,opt,name="`
	// Versions of the review it understands, in order of preference.
	ConversionReviewVersions []string `json:"conversionReviewVersions" listType:"atomic" protobuf:"bytes,3,rep,name=conversionReviewVersions" openapi:"required"`
}

// CustomResourceDefinitionList is a list of CustomResourceDefinition objects.
type CustomResourceDefinitionList = metav1.List[*CustomResourceDefinition]

// ConditionStatus is what CustomResourceDefinitionCondition.Status can be.
type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// ConversionStrategyType is what CustomResourceConversion.Strategy can be.
type ConversionStrategyType string

// The values of ConversionStrategyType.
const (
	NoneConverter    ConversionStrategyType = "None"
	WebhookConverter ConversionStrategyType = "Webhook"
)

// CustomResourceDefinitionConditionType is what CustomResourceDefinitionCondition.Type can be.
type CustomResourceDefinitionConditionType string

// The values of CustomResourceDefinitionConditionType.
const (
	Established                           CustomResourceDefinitionConditionType = "Established"
	KubernetesAPIApprovalPolicyConformant CustomResourceDefinitionConditionType = "KubernetesAPIApprovalPolicyConformant"
	NamesAccepted                         CustomResourceDefinitionConditionType = "NamesAccepted"
	NonStructuralSchema                   CustomResourceDefinitionConditionType = "NonStructuralSchema"
	StorageMigrating                      CustomResourceDefinitionConditionType = "StorageMigrating"
	Terminating                           CustomResourceDefinitionConditionType = "Terminating"
)

// FieldValueErrorReason is what ValidationRule.Reason can be.
type FieldValueErrorReason string

// The values of FieldValueErrorReason.
const (
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
	FieldValueInvalid   FieldValueErrorReason = "FieldValueInvalid"
	FieldValueRequired  FieldValueErrorReason = "FieldValueRequired"
)

// JSONSchemaDefinitions is what JSONSchemaProps.Definitions can be.
type JSONSchemaDefinitions map[string]JSONSchemaProps

// JSONSchemaDependencies is what JSONSchemaProps.Dependencies can be.
type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

// JSONSchemaURL is what JSONSchemaProps.Schema can be.
type JSONSchemaURL string

// ResourceScope is what CustomResourceDefinitionSpec.Scope can be.
type ResourceScope string

// The values of ResourceScope.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// ValidationRules is what JSONSchemaProps.XValidations can be.
type ValidationRules []ValidationRule

// Well-known names and values of this group.
const (
	CustomResourceCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"
	KubeAPIApprovedAnnotation      = "api-approved.kubernetes.io"
)
