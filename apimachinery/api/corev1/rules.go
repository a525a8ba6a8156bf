package corev1

import (
	"errors"

	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// AddRules attaches what a server applies to the kinds of this package: defaults, validation of
// creates, updates and status updates, name rules and warnings. AddToScheme must come first.
func AddRules(s *scheme.Scheme) error {
	return errors.Join(
		scheme.RulesFor[*Pod]{Default: DefaultPod}.Attach(s),
		scheme.RulesFor[*PodTemplate]{Default: func(t *PodTemplate) { DefaultPodTemplate(&t.Template) }}.Attach(s),
		scheme.RulesFor[*ReplicationController]{Default: DefaultReplicationController}.Attach(s),
		scheme.RulesFor[*Service]{Default: DefaultService, NameRule: validation.NameIsLabel}.Attach(s),
		scheme.RulesFor[*Endpoints]{Default: DefaultEndpoints}.Attach(s),
		scheme.RulesFor[*Node]{Default: DefaultNode}.Attach(s),
		scheme.RulesFor[*Namespace]{Default: DefaultNamespace, NameRule: validation.NameIsLabel}.Attach(s),
		scheme.RulesFor[*PersistentVolume]{Default: DefaultPersistentVolume}.Attach(s),
		scheme.RulesFor[*PersistentVolumeClaim]{Default: DefaultPersistentVolumeClaim}.Attach(s),
		scheme.RulesFor[*Secret]{Default: DefaultSecret}.Attach(s),
		scheme.RulesFor[*LimitRange]{Default: DefaultLimitRange}.Attach(s),
		scheme.RulesFor[*ResourceQuota]{Default: DefaultResourceQuota}.Attach(s),
	)
}
