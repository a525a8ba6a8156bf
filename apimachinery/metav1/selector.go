package metav1

import (
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/labels"
)

// Selector compiles s. A nil selector matches nothing, an empty one everything.
func (s *LabelSelector) Selector() (labels.Selector, error) {
	if s == nil {
		return labels.Nothing(), nil
	}
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return labels.Everything(), nil
	}
	var reqs []labels.Requirement
	for k, v := range s.MatchLabels {
		r, err := labels.NewRequirement(k, labels.Equals, []string{v})
		if err != nil {
			return labels.Selector{}, err
		}
		reqs = append(reqs, *r)
	}
	for _, e := range s.MatchExpressions {
		var op labels.Operator
		switch e.Operator {
		case LabelSelectorOpIn:
			op = labels.In
		case LabelSelectorOpNotIn:
			op = labels.NotIn
		case LabelSelectorOpExists:
			op = labels.Exists
		case LabelSelectorOpDoesNotExist:
			op = labels.DoesNotExist
		default:
			return labels.Selector{}, fmt.Errorf("%q is not a label selector operator", e.Operator)
		}
		r, err := labels.NewRequirement(e.Key, op, e.Values)
		if err != nil {
			return labels.Selector{}, err
		}
		reqs = append(reqs, *r)
	}
	return labels.NewSelector(reqs...), nil
}
