package builtin

import (
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/store/registry"
)

// flowcontrol returns the kinds of the group flowcontrol.apiserver.k8s.io.
func flowcontrol(s *scheme.Scheme) []registry.Definition {
	gv := flowcontrolv1.GroupVersion
	strategy := registry.Strategy{Generation: registry.OnSpec, StatusOnly: true}
	return []registry.Definition{
		{Info: kind[*flowcontrolv1.FlowSchema](s, gv), Table: flowSchemaTable, Strategy: strategy},
		{Info: kind[*flowcontrolv1.PriorityLevelConfiguration](s, gv), Table: priorityLevelTable, Strategy: strategy},
	}
}
