// Package apiextensionsv1 holds CustomResourceDefinition (apiextensions.k8s.io/v1).
package apiextensionsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// ConversionRequest describes the objects to convert.
type ConversionRequest struct {
	// Identifier of this call, to be copied to the response.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// API version to convert the objects to.
	DesiredAPIVersion string `json:"desiredAPIVersion" protobuf:"bytes,2,opt,name=" openapi:"required"`
	// Objects to convert; they may have different versions.
	Objects []metav1.RawExtension `json:"objects" listType:"atomic" protobuf:"bytes,3,rep,name=objects" openapi:"required"`
}

// ConversionResponse holds the converted objects.
type ConversionResponse struct {
	// UID of the request.
	UID types.UID `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Converted objects in the order of the request; name, namespace and uid must not be changed.
	ConvertedObjects []metav1.RawExtension `json:"convertedObjects" listType:"atomic" protobuf:"bytes,2,rep,name=convertedObjects" openapi:"required"`
	// Whether the conversion succeeded, otherwise why it failed.
	Result metav1.Status `json:"result" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

// ConversionReview carries objects to a conversion webhook and back.
type ConversionReview struct {
	metav1.TypeMeta `json:",inline"`
	// Objects to convert; set by the server.
	Request *ConversionRequest `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	// Converted objects; set by the webhook.
	Response *ConversionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
}

// CustomResourceColumnDefinition describes a column that kubectl get shows.
type CustomResourceColumnDefinition struct {
	// Heading of the column.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// OpenAPI type of the values: integer, number, string, boolean or date.
	Type string `json:"type" protobuf:"bytes,2,opt,name=type" openapi:"required"`
	// OpenAPI format of the values, such as int32.
	Format string `json:"format,omitempty" protobuf:"bytes,3,opt,name=format"`
	// Human-readable description of the column.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// Importance of the column: 0 is always shown, larger values only in wide output.
	Priority int32 `json:"priority,omitempty" protobuf:"varint,5,opt,name=priority"`
	// Simple JSON path of the value in the object.
	JSONPath string `json:"jsonPath" protobuf:"bytes,6,opt,name=jsonPath" openapi:"required"`
}

// CustomResourceConversion describes how objects are converted between versions.
type CustomResourceConversion struct {
	// None to change only apiVersion, or Webhook to call a webhook.
	Strategy ConversionStrategyType `json:"strategy" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// Webhook to call; required if strategy is Webhook.
	Webhook *WebhookConversion `json:"webhook,omitempty" protobuf:"bytes,2,opt,name=webhook"`
}

// CustomResourceDefinition adds a resource to the API; its name is PLURAL.GROUP.
type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Names, versions and schemas of the resource.
	Spec CustomResourceDefinitionSpec `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	// Most recently observed state; populated by the system and read-only for users.
	Status CustomResourceDefinitionStatus `json:"status,omitzero" protobuf:"bytes,3,opt,name=status"`
}

// CustomResourceDefinitionCondition describes one aspect of the state of a definition.
type CustomResourceDefinitionCondition struct {
	// Type of the condition, a CamelCase name.
	Type CustomResourceDefinitionConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	// Status of the condition: True, False or Unknown.
	Status ConditionStatus `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	// Time of the last transition from one status to another.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	// Reason for the last transition, a single CamelCase word.
	Reason string `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	// Human-readable details of the last transition.
	Message string `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
	// Generation of the definition that the condition was computed from.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
}

// CustomResourceDefinitionNames holds the names of a resource.
type CustomResourceDefinitionNames struct {
	// Lower-case plural name, used in paths. Cannot be changed.
	Plural string `json:"plural" protobuf:"bytes,1,opt,name=plural" openapi:"required"`
	// Lower-case singular name; defaults to the kind in lower case.
	Singular string `json:"singular,omitempty" protobuf:"bytes,2,opt,name=singular"`
	// Short names accepted by command line clients.
	ShortNames []string `json:"shortNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=shortNames"`
	// CamelCase singular name of the kind.
	Kind string `json:"kind" protobuf:"bytes,4,opt,name=kind" openapi:"required"`
	// Kind of lists; defaults to the kind followed by List.
	ListKind string `json:"listKind,omitempty" protobuf:"bytes,5,opt,name=listKind"`
	// Groups of resources that the resource belongs to, such as all.
	Categories []string `json:"categories,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=categories"`
}

// CustomResourceDefinitionSpec describes a resource.
type CustomResourceDefinitionSpec struct {
	// API group of the resource, a domain name. Cannot be changed.
	Group string `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	// Names of the resource and its kind.
	Names CustomResourceDefinitionNames `json:"names" protobuf:"bytes,3,opt,name=names" openapi:"required"`
	// Scope of the resource: Namespaced or Cluster. Cannot be changed once established.
	Scope ResourceScope `json:"scope" protobuf:"bytes,4,opt,name=scope" openapi:"required"`
	// Versions of the resource; exactly one of them is the storage version.
	Versions []CustomResourceDefinitionVersion `json:"versions" listType:"atomic" protobuf:"bytes,7,rep,name=versions" openapi:"required"`
	// How objects are converted between versions.
	Conversion *CustomResourceConversion `json:"conversion,omitempty" protobuf:"bytes,9,opt,name=conversion"`
	// Must be false; use x-kubernetes-preserve-unknown-fields in the schema instead.
	PreserveUnknownFields bool `json:"preserveUnknownFields,omitempty" protobuf:"varint,10,opt,name=preserveUnknownFields"`
}

// CustomResourceDefinitionStatus is the observed state of a definition.
type CustomResourceDefinitionStatus struct {
	// Conditions of the definition, such as Established and NamesAccepted.
	Conditions []CustomResourceDefinitionCondition `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// Names that are in use; they differ from those of the spec while there is a conflict.
	AcceptedNames CustomResourceDefinitionNames `json:"acceptedNames" protobuf:"bytes,2,opt,name=acceptedNames"`
	// Versions in which objects may have been stored. A version cannot be removed from the spec while it is
	// listed here.
	StoredVersions []string `json:"storedVersions" listType:"atomic" protobuf:"bytes,3,rep,name=storedVersions"`
	// Generation of the spec that this status reflects.
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`
}

// CustomResourceDefinitionVersion describes a version of a resource.
type CustomResourceDefinitionVersion struct {
	// Name of the version, such as v1 or v1beta1.
	Name string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	// Whether the version is served.
	Served bool `json:"served" protobuf:"varint,2,opt,name=served" openapi:"required"`
	// Whether objects are stored in this version; true for exactly one version.
	Storage bool `json:"storage" protobuf:"varint,3,opt,name=storage" openapi:"required"`
	// Whether the version is deprecated; requests for it then return a warning.
	Deprecated bool `json:"deprecated,omitempty" protobuf:"varint,7,opt,name=deprecated"`
	// Warning to return instead of the default one; only if deprecated.
	DeprecationWarning *string `json:"deprecationWarning,omitempty" protobuf:"bytes,8,opt,name=deprecationWarning"`
	// Schema of the objects, used for validation, pruning and defaulting.
	Schema *CustomResourceValidation `json:"schema,omitempty" protobuf:"bytes,4,opt,name=schema"`
	// Subresources of the resource; none if unset.
	Subresources *CustomResourceSubresources `json:"subresources,omitempty" protobuf:"bytes,5,opt,name=subresources"`
	// Columns that kubectl get shows; name and age if empty.
	AdditionalPrinterColumns []CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=additionalPrinterColumns"`
	// Fields that field selectors can use; at most 8.
	SelectableFields []SelectableField `json:"selectableFields,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=selectableFields"`
}

// CustomResourceSubresourceScale configures the scale subresource.
type CustomResourceSubresourceScale struct {
	// JSON path, below .spec, of the desired number of replicas.
	SpecReplicasPath string `json:"specReplicasPath" protobuf:"bytes,1,opt,name=" openapi:"required"`
	// JSON path, below .status, of the observed number of replicas.
	StatusReplicasPath string `json:"statusReplicasPath" protobuf:"bytes,2,opt,name=statusReplicasPath" openapi:"required"`
	// JSON path of a label selector in string form, below .status or .spec; required for autoscaling.
	LabelSelectorPath *string `json:"labelSelectorPath,omitempty" protobuf:"bytes,3,opt,name=labelSelectorPath"`
}

// CustomResourceSubresourceStatus configures the status subresource, through which alone the status can be
// updated.
type CustomResourceSubresourceStatus struct {
}

// CustomResourceSubresources describes the subresources of a resource.
type CustomResourceSubresources struct {
	// Serve the status subresource; other writes then ignore changes of the status.
	Status *CustomResourceSubresourceStatus `json:"status,omitempty" protobuf:"bytes,1,opt,name=status"`
	// Serve the scale subresource.
	Scale *CustomResourceSubresourceScale `json:"scale,omitempty" protobuf:"bytes,2,opt,name=scale"`
}

// CustomResourceValidation describes how objects are validated.
type CustomResourceValidation struct {
	// OpenAPI v3 schema of the objects; must be structural.
	OpenAPIV3Schema *JSONSchemaProps `json:"openAPIV3Schema,omitempty" protobuf:"bytes,1,opt,name=openAPIV3Schema"`
}

// ExternalDocumentation links to further documentation.
type ExternalDocumentation struct {
	// Description of the documentation.
	Description string `json:"description,omitempty" protobuf:"bytes,1,opt,name=description"`
	// URL of the documentation.
	URL string `json:"url,omitempty" protobuf:"bytes,2,opt,name=url"`
}

// JSON is an arbitrary JSON value kept in its original encoding.
type JSON struct {
	// Raw is the encoded value; empty means null.
	Raw []byte `json:"-" protobuf:"bytes,1,opt,name=raw"`
}

// JSONSchemaProps is a JSON schema, limited to what is supported for custom resources.
type JSONSchemaProps struct {
	// Not supported; must be unset.
	ID string `json:"id,omitempty" protobuf:"bytes,1,opt,name=id"`
	// Dialect of the schema; ignored.
	Schema JSONSchemaURL `json:"$schema,omitempty" protobuf:"bytes,2,opt,name=schema"`
	// Not supported; must be unset.
	Ref *string `json:"$ref,omitempty" protobuf:"bytes,3,opt,name=ref"`
	// Description of the value; shown by kubectl explain.
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	// Type of the value: object, array, string, integer, number or boolean.
	Type string `json:"type,omitempty" protobuf:"bytes,5,opt,name=type"`
	// Format of the value, such as int64 or date-time.
	Format string `json:"format,omitempty" protobuf:"bytes,6,opt,name=format"`
	// Short title of the value.
	Title string `json:"title,omitempty" protobuf:"bytes,7,opt,name=title"`
	// Value that is set if the field is absent.
	Default *JSON `json:"default,omitempty" protobuf:"bytes,8,opt,name=default"`
	// Largest allowed number.
	Maximum *float64 `json:"maximum,omitempty" protobuf:"fixed64,9,opt,name=maximum"`
	// Whether the number must be less than maximum instead of at most maximum.
	ExclusiveMaximum bool `json:"exclusiveMaximum,omitempty" protobuf:"varint,10,opt,name=exclusiveMaximum"`
	// Smallest allowed number.
	Minimum *float64 `json:"minimum,omitempty" protobuf:"fixed64,11,opt,name=minimum"`
	// Whether the number must be greater than minimum instead of at least minimum.
	ExclusiveMinimum bool `json:"exclusiveMinimum,omitempty" protobuf:"varint,12,opt,name=exclusiveMinimum"`
	// Maximum length of a string, in Unicode code points.
	MaxLength *int64 `json:"maxLength,omitempty" protobuf:"varint,13,opt,name=maxLength"`
	// Minimum length of a string, in Unicode code points.
	MinLength *int64 `json:"minLength,omitempty" protobuf:"varint,14,opt,name=minLength"`
	// Regular expression that a string must match.
	Pattern string `json:"pattern,omitempty" protobuf:"bytes,15,opt,name=pattern"`
	// Maximum number of items of an array; also limits the estimated cost of validation rules on it.
	MaxItems *int64 `json:"maxItems,omitempty" protobuf:"varint,16,opt,name=maxItems"`
	// Minimum number of items of an array.
	MinItems *int64 `json:"minItems,omitempty" protobuf:"varint,17,opt,name=minItems"`
	// Must not be true; use x-kubernetes-list-type set instead.
	UniqueItems bool `json:"uniqueItems,omitempty" protobuf:"varint,18,opt,name=uniqueItems"`
	// Number that the value must be a multiple of; greater than 0.
	MultipleOf *float64 `json:"multipleOf,omitempty" protobuf:"fixed64,19,opt,name=multipleOf"`
	// Allowed values.
	Enum []JSON `json:"enum,omitempty" listType:"atomic" protobuf:"bytes,20,rep,name=enum"`
	// Maximum number of properties of an object; also limits the estimated cost of validation rules on it.
	MaxProperties *int64 `json:"maxProperties,omitempty" protobuf:"varint,21,opt,name=maxProperties"`
	// Minimum number of properties of an object.
	MinProperties *int64 `json:"minProperties,omitempty" protobuf:"varint,22,opt,name=minProperties"`
	// Names of properties that must be present.
	Required []string `json:"required,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=required"`
	// Schema of the items of an array.
	Items *JSONSchemaPropsOrArray `json:"items,omitempty" protobuf:"bytes,24,opt,name=items"`
	// Schemas that the value must all match.
	AllOf []JSONSchemaProps `json:"allOf,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=allOf"`
	// Schemas of which the value must match exactly one.
	OneOf []JSONSchemaProps `json:"oneOf,omitempty" listType:"atomic" protobuf:"bytes,26,rep,name=oneOf"`
	// Schemas of which the value must match at least one.
	AnyOf []JSONSchemaProps `json:"anyOf,omitempty" listType:"atomic" protobuf:"bytes,27,rep,name=anyOf"`
	// Schema that the value must not match.
	Not *JSONSchemaProps `json:"not,omitempty" protobuf:"bytes,28,opt,name=not"`
	// Schemas of the properties of an object.
	Properties map[string]JSONSchemaProps `json:"properties,omitempty" protobuf:"bytes,29,rep,name=properties"`
	// Schema of the values of a map; excludes properties.
	AdditionalProperties *JSONSchemaPropsOrBool `json:"additionalProperties,omitempty" protobuf:"bytes,30,opt,name=additionalProperties"`
	// Not supported; must be unset.
	PatternProperties map[string]JSONSchemaProps `json:"patternProperties,omitempty" protobuf:"bytes,31,rep,name=patternProperties"`
	// Not supported; must be unset.
	Dependencies JSONSchemaDependencies `json:"dependencies,omitempty" protobuf:"bytes,32,rep,name=dependencies"`
	// Not supported; must be unset.
	AdditionalItems *JSONSchemaPropsOrBool `json:"additionalItems,omitempty" protobuf:"bytes,33,opt,name=additionalItems"`
	// Not supported; must be unset.
	Definitions JSONSchemaDefinitions `json:"definitions,omitempty" protobuf:"bytes,34,rep,name=definitions"`
	// Link to further documentation.
	ExternalDocs *ExternalDocumentation `json:"externalDocs,omitempty" protobuf:"bytes,35,opt,name=externalDocs"`
	// Example of the value; not validated.
	Example *JSON `json:"example,omitempty" protobuf:"bytes,36,opt,name=example"`
	// Whether null is an allowed value.
	Nullable bool `json:"nullable,omitempty" protobuf:"varint,37,opt,name=nullable"`
	// Whether fields that are not specified in the schema are preserved instead of pruned.
	XPreserveUnknownFields *bool `json:"x-kubernetes-preserve-unknown-fields,omitempty" protobuf:"varint,38,opt,name=xKubernetesPreserveUnknownFields"`
	// Whether the value is an object with apiVersion, kind and metadata.
	XEmbeddedResource bool `json:"x-kubernetes-embedded-resource,omitempty" protobuf:"varint,39,opt,name=xKubernetesEmbeddedResource"`
	// Whether the value is an integer or a string.
	XIntOrString bool `json:"x-kubernetes-int-or-string,omitempty" protobuf:"varint,40,opt,name=xKubernetesIntOrString"`
	// Properties whose values identify an item, for lists of type map.
	XListMapKeys []string `json:"x-kubernetes-list-map-keys,omitempty" listType:"atomic" protobuf:"bytes,41,rep,name=xKubernetesListMapKeys"`
	// How lists are merged: atomic (the default), set or map.
	XListType *string `json:"x-kubernetes-list-type,omitempty" protobuf:"bytes,42,opt,name=xKubernetesListType"`
	// How objects are merged: granular (the default) or atomic.
	XMapType *string `json:"x-kubernetes-map-type,omitempty" protobuf:"bytes,43,opt,name=xKubernetesMapType"`
	// Validation rules in CEL.
	XValidations ValidationRules `json:"x-kubernetes-validations,omitempty" patchStrategy:"merge" patchMergeKey:"rule" listType:"map" listMapKey:"rule" protobuf:"bytes,44,rep,name=xKubernetesValidations"`
}

// JSONSchemaPropsOrArray is a schema or a list of schemas.
type JSONSchemaPropsOrArray struct {
	// Schema is set if the value is a single schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,1,opt,name=schema"`
	// JSONSchemas is set if the value is a list; not supported in definitions.
	JSONSchemas []JSONSchemaProps `json:"-" codec:"array" protobuf:"bytes,2,rep,name=jSONSchemas"`
}

// JSONSchemaPropsOrBool is a schema or a boolean.
type JSONSchemaPropsOrBool struct {
	// Allows is the boolean; true if Schema is set.
	Allows bool `json:"-" codec:"bool" protobuf:"varint,1,opt,name=allows"`
	// Schema is set if the value is a schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,2,opt,name=schema"`
}

// JSONSchemaPropsOrStringArray is a schema or a list of property names.
type JSONSchemaPropsOrStringArray struct {
	// Schema is set if the value is a schema.
	Schema *JSONSchemaProps `json:"-" codec:"object" protobuf:"bytes,1,opt,name=schema"`
	// Property is set if the value is a list of property names.
	Property []string `json:"-" codec:"array" protobuf:"bytes,2,rep,name=property"`
}

// SelectableField is a field that field selectors can use.
type SelectableField struct {
	// Simple JSON path, without lists, of a string, boolean or integer field outside metadata; an absent
	// field counts as the empty string.
	JSONPath string `json:"jsonPath" protobuf:"bytes,1,opt,name=jsonPath" openapi:"required"`
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

// ValidationRule is a validation rule in CEL.
type ValidationRule struct {
	// Expression that must evaluate to true. self is the value; oldSelf is its previous value, in rules that
	// apply to updates only.
	Rule string `json:"rule" protobuf:"bytes,1,opt,name=rule" openapi:"required"`
	// Message of the error if the rule fails.
	Message string `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	// Expression that evaluates to the message; takes precedence over message.
	MessageExpression string `json:"messageExpression,omitempty" protobuf:"bytes,3,opt,name=messageExpression"`
	// Cause type of the error: FieldValueInvalid (the default), FieldValueForbidden, FieldValueRequired or
	// FieldValueDuplicate.
	Reason *FieldValueErrorReason `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason" openapi:"enum=FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired"`
	// Path of the field that the error is reported for, relative to the value.
	FieldPath string `json:"fieldPath,omitempty" protobuf:"bytes,5,opt,name=fieldPath"`
	// Whether a rule that uses oldSelf applies to creation, too; oldSelf is then an optional value.
	OptionalOldSelf *bool `json:"optionalOldSelf,omitempty" protobuf:"varint,6,opt,name=optionalOldSelf"`
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

// WebhookConversion describes a conversion webhook.
type WebhookConversion struct {
	// How to call the webhook.
	ClientConfig *WebhookClientConfig `json:"clientConfig,omitempty" protobuf:"bytes,2,opt,name="`
	// Versions of ConversionReview that the webhook supports, in order of preference; at least one of v1 and
	// v1beta1.
	ConversionReviewVersions []string `json:"conversionReviewVersions" listType:"atomic" protobuf:"bytes,3,rep,name=conversionReviewVersions" openapi:"required"`
}

// CustomResourceDefinitionList is a list of CustomResourceDefinition objects.
type CustomResourceDefinitionList = metav1.List[*CustomResourceDefinition]

// ConditionStatus enumerates the values of CustomResourceDefinitionCondition.Status.
type ConditionStatus string

const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

// ConversionStrategyType enumerates the values of CustomResourceConversion.Strategy.
type ConversionStrategyType string

const (
	NoneConverter    ConversionStrategyType = "None"
	WebhookConverter ConversionStrategyType = "Webhook"
)

// CustomResourceDefinitionConditionType enumerates the values of CustomResourceDefinitionCondition.Type.
type CustomResourceDefinitionConditionType string

const (
	Established                           CustomResourceDefinitionConditionType = "Established"
	KubernetesAPIApprovalPolicyConformant CustomResourceDefinitionConditionType = "KubernetesAPIApprovalPolicyConformant"
	NamesAccepted                         CustomResourceDefinitionConditionType = "NamesAccepted"
	NonStructuralSchema                   CustomResourceDefinitionConditionType = "NonStructuralSchema"
	StorageMigrating                      CustomResourceDefinitionConditionType = "StorageMigrating"
	Terminating                           CustomResourceDefinitionConditionType = "Terminating"
)

// FieldValueErrorReason enumerates the values of ValidationRule.Reason.
type FieldValueErrorReason string

const (
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
	FieldValueInvalid   FieldValueErrorReason = "FieldValueInvalid"
	FieldValueRequired  FieldValueErrorReason = "FieldValueRequired"
)

// JSONSchemaDefinitions is the type of JSONSchemaProps.Definitions.
type JSONSchemaDefinitions map[string]JSONSchemaProps

// JSONSchemaDependencies is the type of JSONSchemaProps.Dependencies.
type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

// JSONSchemaURL is the type of JSONSchemaProps.Schema.
type JSONSchemaURL string

// ResourceScope enumerates the values of CustomResourceDefinitionSpec.Scope.
type ResourceScope string

const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

// ValidationRules is the type of JSONSchemaProps.XValidations.
type ValidationRules []ValidationRule

// Well-known names and values.
const (
	CustomResourceCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"
	KubeAPIApprovedAnnotation      = "api-approved.kubernetes.io"
)
