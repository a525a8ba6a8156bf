package corev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*Pod]{
			Meta:    scheme.MetaStrict,
			Default: DefaultPod, Validate: ValidatePod, ValidateUpdate: ValidatePodUpdate, ValidateStatus: ValidatePodStatus,
			Warnings: podWarnings,
		}.Attach(s),
		scheme.RulesFor[*PodTemplate]{
			Default:  func(t *PodTemplate) { DefaultPodTemplate(&t.Template) },
			Validate: ValidatePodTemplateObject, ValidateUpdate: check.OnUpdate(ValidatePodTemplateObject),
		}.Attach(s),
		scheme.RulesFor[*ReplicationController]{
			NameRule: controllerName, Warnings: controllerWarnings,
			Default: DefaultReplicationController, Validate: ValidateReplicationController,
			ValidateUpdate: check.OnUpdate(ValidateReplicationController), ValidateStatus: ValidateReplicationControllerStatus,
		}.Attach(s),
		scheme.RulesFor[*Service]{
			Default: DefaultService, Validate: ValidateService, ValidateUpdate: ValidateServiceUpdate, ValidateStatus: ValidateServiceStatus,
			NameRule: validation.NameIsLabel, Warnings: serviceWarnings,
		}.Attach(s),
		scheme.RulesFor[*Endpoints]{
			Meta:    scheme.MetaStrict,
			Default: DefaultEndpoints, Validate: ValidateEndpoints, ValidateUpdate: ValidateEndpointsUpdate,
			Warnings: func(*Endpoints, *Endpoints) []string {
				return []string{"v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"}
			},
		}.Attach(s),
		scheme.RulesFor[*Node]{
			Meta:     scheme.MetaStrict,
			Warnings: nodeWarnings,
			Default:  DefaultNode, Validate: ValidateNode, ValidateUpdate: ValidateNodeUpdate, ValidateStatus: ValidateNodeStatus,
		}.Attach(s),
		scheme.RulesFor[*Namespace]{
			Meta:    scheme.MetaStrict,
			Default: DefaultNamespace, Validate: ValidateNamespace, ValidateUpdate: check.OnUpdate(ValidateNamespace),
			ValidateStatus: ValidateNamespaceStatus, NameRule: validation.NameIsLabel,
		}.Attach(s),
		scheme.RulesFor[*PersistentVolume]{
			Meta:    scheme.MetaStrict,
			Default: DefaultPersistentVolume, Validate: ValidatePersistentVolume, ValidateUpdate: ValidatePersistentVolumeUpdate,
		}.Attach(s),
		scheme.RulesFor[*PersistentVolumeClaim]{
			Meta:    scheme.MetaStrict,
			Default: DefaultPersistentVolumeClaim, Validate: ValidatePersistentVolumeClaim,
			ValidateUpdate: ValidatePersistentVolumeClaimUpdate, ValidateStatus: ValidatePersistentVolumeClaimStatus,
		}.Attach(s),
		scheme.RulesFor[*ConfigMap]{Meta: scheme.MetaStrict, Validate: ValidateConfigMap, ValidateUpdate: ValidateConfigMapUpdate}.Attach(s),
		scheme.RulesFor[*Secret]{Meta: scheme.MetaStrict, Default: DefaultSecret, Validate: ValidateSecret, ValidateUpdate: ValidateSecretUpdate}.Attach(s),
		scheme.RulesFor[*LimitRange]{
			Default: DefaultLimitRange, Validate: ValidateLimitRange, ValidateUpdate: check.OnUpdate(ValidateLimitRange),
		}.Attach(s),
		scheme.RulesFor[*ResourceQuota]{
			Default: DefaultResourceQuota, Validate: ValidateResourceQuota, ValidateUpdate: ValidateResourceQuotaUpdate,
			ValidateStatus: ValidateResourceQuotaStatus,
		}.Attach(s),
		scheme.RulesFor[*Event]{Meta: scheme.MetaLoose, Validate: ValidateEvent, ValidateUpdate: check.OnUpdate(ValidateEvent)}.Attach(s),
		scheme.RulesFor[*ServiceAccount]{Meta: scheme.MetaStrict}.Attach(s),
		scheme.RulesFor[*Binding]{Validate: ValidateBinding}.Attach(s),
	)
}

// controllerName is the rule of replication controllers, which a prefix only has to fit into a URL for.
func controllerName(name string, prefix bool) []string {
	if prefix {
		return validation.NameIsPathSegment(name, prefix)
	}
	return validation.NameIsSubdomain(name, prefix)
}
