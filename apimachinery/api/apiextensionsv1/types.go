// Package apiextensionsv1 holds CustomResourceDefinition (apiextensions.k8s.io/v1).
package apiextensionsv1

import (
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

type ConversionRequest struct {
	UID               types.UID             `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	DesiredAPIVersion string                `json:"desiredAPIVersion" protobuf:"bytes,2,opt,name=" openapi:"required"`
	Objects           []metav1.RawExtension `json:"objects" listType:"atomic" protobuf:"bytes,3,rep,name=objects" openapi:"required"`
}

type ConversionResponse struct {
	UID              types.UID             `json:"uid" protobuf:"bytes,1,opt,name=" openapi:"required"`
	ConvertedObjects []metav1.RawExtension `json:"convertedObjects" listType:"atomic" protobuf:"bytes,2,rep,name=convertedObjects" openapi:"required"`
	Result           metav1.Status         `json:"result" protobuf:"bytes,3,opt,name=" openapi:"required"`
}

type ConversionReview struct {
	metav1.TypeMeta `json:",inline"`
	Request         *ConversionRequest  `json:"request,omitempty" protobuf:"bytes,1,opt,name=request"`
	Response        *ConversionResponse `json:"response,omitempty" protobuf:"bytes,2,opt,name=response"`
}

type CustomResourceColumnDefinition struct {
	Name        string `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	Type        string `json:"type" protobuf:"bytes,2,opt,name=type" openapi:"required"`
	Format      string `json:"format,omitempty" protobuf:"bytes,3,opt,name=format"`
	Description string `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	Priority    int32  `json:"priority,omitempty" protobuf:"varint,5,opt,name=priority"`
	JSONPath    string `json:"jsonPath" protobuf:"bytes,6,opt,name=jsonPath" openapi:"required"`
}

type CustomResourceConversion struct {
	Strategy ConversionStrategyType `json:"strategy" protobuf:"bytes,1,opt,name=" openapi:"required"`
	Webhook  *WebhookConversion     `json:"webhook,omitempty" protobuf:"bytes,2,opt,name=webhook"`
}

type CustomResourceDefinition struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Spec              CustomResourceDefinitionSpec   `json:"spec" protobuf:"bytes,2,opt,name=spec" openapi:"required"`
	Status            CustomResourceDefinitionStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

type CustomResourceDefinitionCondition struct {
	Type               CustomResourceDefinitionConditionType `json:"type" protobuf:"bytes,1,opt,name=type" openapi:"required"`
	Status             ConditionStatus                       `json:"status" protobuf:"bytes,2,opt,name=status" openapi:"required"`
	LastTransitionTime metav1.Time                           `json:"lastTransitionTime,omitempty" protobuf:"bytes,3,opt,name=lastTransitionTime"`
	Reason             string                                `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason"`
	Message            string                                `json:"message,omitempty" protobuf:"bytes,5,opt,name=message"`
	ObservedGeneration int64                                 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
}

type CustomResourceDefinitionNames struct {
	Plural     string   `json:"plural" protobuf:"bytes,1,opt,name=plural" openapi:"required"`
	Singular   string   `json:"singular,omitempty" protobuf:"bytes,2,opt,name=singular"`
	ShortNames []string `json:"shortNames,omitempty" listType:"atomic" protobuf:"bytes,3,rep,name=shortNames"`
	Kind       string   `json:"kind" protobuf:"bytes,4,opt,name=kind" openapi:"required"`
	ListKind   string   `json:"listKind,omitempty" protobuf:"bytes,5,opt,name=listKind"`
	Categories []string `json:"categories,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=categories"`
}

type CustomResourceDefinitionSpec struct {
	Group                 string                            `json:"group" protobuf:"bytes,1,opt,name=group" openapi:"required"`
	Names                 CustomResourceDefinitionNames     `json:"names" protobuf:"bytes,3,opt,name=names" openapi:"required"`
	Scope                 ResourceScope                     `json:"scope" protobuf:"bytes,4,opt,name=scope" openapi:"required"`
	Versions              []CustomResourceDefinitionVersion `json:"versions" listType:"atomic" protobuf:"bytes,7,rep,name=versions" openapi:"required"`
	Conversion            *CustomResourceConversion         `json:"conversion,omitempty" protobuf:"bytes,9,opt,name=conversion"`
	PreserveUnknownFields bool                              `json:"preserveUnknownFields,omitempty" protobuf:"varint,10,opt,name=preserveUnknownFields"`
}

type CustomResourceDefinitionStatus struct {
	Conditions         []CustomResourceDefinitionCondition `json:"conditions" listType:"map" listMapKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	AcceptedNames      CustomResourceDefinitionNames       `json:"acceptedNames" protobuf:"bytes,2,opt,name=acceptedNames"`
	StoredVersions     []string                            `json:"storedVersions" listType:"atomic" protobuf:"bytes,3,rep,name=storedVersions"`
	ObservedGeneration int64                               `json:"observedGeneration,omitempty" protobuf:"varint,4,opt,name=observedGeneration"`
}

type CustomResourceDefinitionVersion struct {
	Name                     string                           `json:"name" protobuf:"bytes,1,opt,name=name" openapi:"required"`
	Served                   bool                             `json:"served" protobuf:"varint,2,opt,name=served" openapi:"required"`
	Storage                  bool                             `json:"storage" protobuf:"varint,3,opt,name=storage" openapi:"required"`
	Deprecated               bool                             `json:"deprecated,omitempty" protobuf:"varint,7,opt,name=deprecated"`
	DeprecationWarning       *string                          `json:"deprecationWarning,omitempty" protobuf:"bytes,8,opt,name=deprecationWarning"`
	Schema                   *CustomResourceValidation        `json:"schema,omitempty" protobuf:"bytes,4,opt,name=schema"`
	Subresources             *CustomResourceSubresources      `json:"subresources,omitempty" protobuf:"bytes,5,opt,name=subresources"`
	AdditionalPrinterColumns []CustomResourceColumnDefinition `json:"additionalPrinterColumns,omitempty" listType:"atomic" protobuf:"bytes,6,rep,name=additionalPrinterColumns"`
	SelectableFields         []SelectableField                `json:"selectableFields,omitempty" listType:"atomic" protobuf:"bytes,9,rep,name=selectableFields"`
}

type CustomResourceSubresourceScale struct {
	SpecReplicasPath   string  `json:"specReplicasPath" protobuf:"bytes,1,opt,name=" openapi:"required"`
	StatusReplicasPath string  `json:"statusReplicasPath" protobuf:"bytes,2,opt,name=statusReplicasPath" openapi:"required"`
	LabelSelectorPath  *string `json:"labelSelectorPath,omitempty" protobuf:"bytes,3,opt,name=labelSelectorPath"`
}

type CustomResourceSubresourceStatus struct {
}

type CustomResourceSubresources struct {
	Status *CustomResourceSubresourceStatus `json:"status,omitempty" protobuf:"bytes,1,opt,name=status"`
	Scale  *CustomResourceSubresourceScale  `json:"scale,omitempty" protobuf:"bytes,2,opt,name=scale"`
}

type CustomResourceValidation struct {
	OpenAPIV3Schema *JSONSchemaProps `json:"openAPIV3Schema,omitempty" protobuf:"bytes,1,opt,name=openAPIV3Schema"`
}

type ExternalDocumentation struct {
	Description string `json:"description,omitempty" protobuf:"bytes,1,opt,name=description"`
	URL         string `json:"url,omitempty" protobuf:"bytes,2,opt,name=url"`
}

type JSON struct {
	Raw []byte `json:"-" protobuf:"bytes,1,opt,name=raw"`
}

type JSONSchemaProps struct {
	ID                     string                     `json:"id,omitempty" protobuf:"bytes,1,opt,name=id"`
	Schema                 JSONSchemaURL              `json:"$schema,omitempty" protobuf:"bytes,2,opt,name=schema"`
	Ref                    *string                    `json:"$ref,omitempty" protobuf:"bytes,3,opt,name=ref"`
	Description            string                     `json:"description,omitempty" protobuf:"bytes,4,opt,name=description"`
	Type                   string                     `json:"type,omitempty" protobuf:"bytes,5,opt,name=type"`
	Format                 string                     `json:"format,omitempty" protobuf:"bytes,6,opt,name=format"`
	Title                  string                     `json:"title,omitempty" protobuf:"bytes,7,opt,name=title"`
	Default                *JSON                      `json:"default,omitempty" protobuf:"bytes,8,opt,name=default"`
	Maximum                *float64                   `json:"maximum,omitempty" protobuf:"fixed64,9,opt,name=maximum"`
	ExclusiveMaximum       bool                       `json:"exclusiveMaximum,omitempty" protobuf:"varint,10,opt,name=exclusiveMaximum"`
	Minimum                *float64                   `json:"minimum,omitempty" protobuf:"fixed64,11,opt,name=minimum"`
	ExclusiveMinimum       bool                       `json:"exclusiveMinimum,omitempty" protobuf:"varint,12,opt,name=exclusiveMinimum"`
	MaxLength              *int64                     `json:"maxLength,omitempty" protobuf:"varint,13,opt,name=maxLength"`
	MinLength              *int64                     `json:"minLength,omitempty" protobuf:"varint,14,opt,name=minLength"`
	Pattern                string                     `json:"pattern,omitempty" protobuf:"bytes,15,opt,name=pattern"`
	MaxItems               *int64                     `json:"maxItems,omitempty" protobuf:"varint,16,opt,name=maxItems"`
	MinItems               *int64                     `json:"minItems,omitempty" protobuf:"varint,17,opt,name=minItems"`
	UniqueItems            bool                       `json:"uniqueItems,omitempty" protobuf:"varint,18,opt,name=uniqueItems"`
	MultipleOf             *float64                   `json:"multipleOf,omitempty" protobuf:"fixed64,19,opt,name=multipleOf"`
	Enum                   []JSON                     `json:"enum,omitempty" listType:"atomic" protobuf:"bytes,20,rep,name=enum"`
	MaxProperties          *int64                     `json:"maxProperties,omitempty" protobuf:"varint,21,opt,name=maxProperties"`
	MinProperties          *int64                     `json:"minProperties,omitempty" protobuf:"varint,22,opt,name=minProperties"`
	Required               []string                   `json:"required,omitempty" listType:"atomic" protobuf:"bytes,23,rep,name=required"`
	Items                  *JSONSchemaPropsOrArray    `json:"items,omitempty" protobuf:"bytes,24,opt,name=items"`
	AllOf                  []JSONSchemaProps          `json:"allOf,omitempty" listType:"atomic" protobuf:"bytes,25,rep,name=allOf"`
	OneOf                  []JSONSchemaProps          `json:"oneOf,omitempty" listType:"atomic" protobuf:"bytes,26,rep,name=oneOf"`
	AnyOf                  []JSONSchemaProps          `json:"anyOf,omitempty" listType:"atomic" protobuf:"bytes,27,rep,name=anyOf"`
	Not                    *JSONSchemaProps           `json:"not,omitempty" protobuf:"bytes,28,opt,name=not"`
	Properties             map[string]JSONSchemaProps `json:"properties,omitempty" protobuf:"bytes,29,rep,name=properties"`
	AdditionalProperties   *JSONSchemaPropsOrBool     `json:"additionalProperties,omitempty" protobuf:"bytes,30,opt,name=additionalProperties"`
	PatternProperties      map[string]JSONSchemaProps `json:"patternProperties,omitempty" protobuf:"bytes,31,rep,name=patternProperties"`
	Dependencies           JSONSchemaDependencies     `json:"dependencies,omitempty" protobuf:"bytes,32,rep,name=dependencies"`
	AdditionalItems        *JSONSchemaPropsOrBool     `json:"additionalItems,omitempty" protobuf:"bytes,33,opt,name=additionalItems"`
	Definitions            JSONSchemaDefinitions      `json:"definitions,omitempty" protobuf:"bytes,34,rep,name=definitions"`
	ExternalDocs           *ExternalDocumentation     `json:"externalDocs,omitempty" protobuf:"bytes,35,opt,name=externalDocs"`
	Example                *JSON                      `json:"example,omitempty" protobuf:"bytes,36,opt,name=example"`
	Nullable               bool                       `json:"nullable,omitempty" protobuf:"varint,37,opt,name=nullable"`
	XPreserveUnknownFields *bool                      `json:"x-kubernetes-preserve-unknown-fields,omitempty" protobuf:"varint,38,opt,name=xKubernetesPreserveUnknownFields"`
	XEmbeddedResource      bool                       `json:"x-kubernetes-embedded-resource,omitempty" protobuf:"varint,39,opt,name=xKubernetesEmbeddedResource"`
	XIntOrString           bool                       `json:"x-kubernetes-int-or-string,omitempty" protobuf:"varint,40,opt,name=xKubernetesIntOrString"`
	XListMapKeys           []string                   `json:"x-kubernetes-list-map-keys,omitempty" listType:"atomic" protobuf:"bytes,41,rep,name=xKubernetesListMapKeys"`
	XListType              *string                    `json:"x-kubernetes-list-type,omitempty" protobuf:"bytes,42,opt,name=xKubernetesListType"`
	XMapType               *string                    `json:"x-kubernetes-map-type,omitempty" protobuf:"bytes,43,opt,name=xKubernetesMapType"`
	XValidations           ValidationRules            `json:"x-kubernetes-validations,omitempty" patchStrategy:"merge" patchMergeKey:"rule" listType:"map" listMapKey:"rule" protobuf:"bytes,44,rep,name=xKubernetesValidations"`
}

type JSONSchemaPropsOrArray struct {
	Schema      *JSONSchemaProps  `json:"-" protobuf:"bytes,1,opt,name=schema"`
	JSONSchemas []JSONSchemaProps `json:"-" protobuf:"bytes,2,rep,name=jSONSchemas"`
}

type JSONSchemaPropsOrBool struct {
	Allows bool             `json:"-" protobuf:"varint,1,opt,name=allows"`
	Schema *JSONSchemaProps `json:"-" protobuf:"bytes,2,opt,name=schema"`
}

type JSONSchemaPropsOrStringArray struct {
	Schema   *JSONSchemaProps `json:"-" protobuf:"bytes,1,opt,name=schema"`
	Property []string         `json:"-" protobuf:"bytes,2,rep,name=property"`
}

type SelectableField struct {
	JSONPath string `json:"jsonPath" protobuf:"bytes,1,opt,name=jsonPath" openapi:"required"`
}

type ServiceReference struct {
	Namespace string  `json:"namespace" protobuf:"bytes,1,opt,name=namespace" openapi:"required"`
	Name      string  `json:"name" protobuf:"bytes,2,opt,name=name" openapi:"required"`
	Path      *string `json:"path,omitempty" protobuf:"bytes,3,opt,name=path"`
	Port      *int32  `json:"port,omitempty" protobuf:"varint,4,opt,name=port"`
}

type ValidationRule struct {
	Rule              string                 `json:"rule" protobuf:"bytes,1,opt,name=rule" openapi:"required"`
	Message           string                 `json:"message,omitempty" protobuf:"bytes,2,opt,name=message"`
	MessageExpression string                 `json:"messageExpression,omitempty" protobuf:"bytes,3,opt,name=messageExpression"`
	Reason            *FieldValueErrorReason `json:"reason,omitempty" protobuf:"bytes,4,opt,name=reason" openapi:"enum=FieldValueDuplicate|FieldValueForbidden|FieldValueInvalid|FieldValueRequired"`
	FieldPath         string                 `json:"fieldPath,omitempty" protobuf:"bytes,5,opt,name=fieldPath"`
	OptionalOldSelf   *bool                  `json:"optionalOldSelf,omitempty" protobuf:"varint,6,opt,name=optionalOldSelf"`
}

type WebhookClientConfig struct {
	URL      *string           `json:"url,omitempty" protobuf:"bytes,3,opt,name=url"`
	Service  *ServiceReference `json:"service,omitempty" protobuf:"bytes,1,opt,name=service"`
	CABundle []byte            `json:"caBundle,omitempty" protobuf:"bytes,2,opt,name=caBundle"`
}

type WebhookConversion struct {
	ClientConfig             *WebhookClientConfig `json:"clientConfig,omitempty" protobuf:"bytes,2,opt,name="`
	ConversionReviewVersions []string             `json:"conversionReviewVersions" listType:"atomic" protobuf:"bytes,3,rep,name=conversionReviewVersions" openapi:"required"`
}

// CustomResourceDefinitionList is a list of CustomResourceDefinition objects.
type CustomResourceDefinitionList = metav1.List[*CustomResourceDefinition]

type ConditionStatus string

// The values of ConditionStatus.
const (
	ConditionFalse   ConditionStatus = "False"
	ConditionTrue    ConditionStatus = "True"
	ConditionUnknown ConditionStatus = "Unknown"
)

type ConversionStrategyType string

// The values of ConversionStrategyType.
const (
	NoneConverter    ConversionStrategyType = "None"
	WebhookConverter ConversionStrategyType = "Webhook"
)

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

type FieldValueErrorReason string

// The values of FieldValueErrorReason.
const (
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
	FieldValueInvalid   FieldValueErrorReason = "FieldValueInvalid"
	FieldValueRequired  FieldValueErrorReason = "FieldValueRequired"
)

type JSONSchemaDefinitions map[string]JSONSchemaProps

type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

type JSONSchemaURL string

type ResourceScope string

// The values of ResourceScope.
const (
	ClusterScoped   ResourceScope = "Cluster"
	NamespaceScoped ResourceScope = "Namespaced"
)

type ValidationRules []ValidationRule

// Well-known names and values of this group.
const (
	CustomResourceCleanupFinalizer = "customresourcecleanup.apiextensions.k8s.io"
	KubeAPIApprovedAnnotation      = "api-approved.kubernetes.io"
)
