package metav1

import "slices"

// FindCondition returns the condition of a type, or nil. It points into conditions.
func FindCondition(conditions []Condition, typ string) *Condition {
	for i := range conditions {
		if conditions[i].Type == typ {
			return &conditions[i]
		}
	}
	return nil
}

// ConditionIs reports whether the condition of a type has a status. One that is not there has none.
func ConditionIs(conditions []Condition, typ string, status ConditionStatus) bool {
	c := FindCondition(conditions, typ)
	return c != nil && c.Status == status
}

// SetCondition puts c in the place of the condition of its type, or at the end, and reports whether that
// changed anything. The time of transition moves only with the status: then it is that of c, or now if c has
// none.
func SetCondition(conditions *[]Condition, c Condition) bool {
	old := FindCondition(*conditions, c.Type)
	if old != nil && old.Status == c.Status {
		c.LastTransitionTime = old.LastTransitionTime
		changed := *old != c
		*old = c
		return changed
	}
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = Now().Truncated() // as precise as it is when read back
	}
	if old != nil {
		*old = c
	} else {
		*conditions = append(*conditions, c)
	}
	return true
}

// RemoveCondition removes the condition of a type and reports whether there was one.
func RemoveCondition(conditions *[]Condition, typ string) bool {
	n := len(*conditions)
	*conditions = slices.DeleteFunc(*conditions, func(c Condition) bool { return c.Type == typ })
	return len(*conditions) < n
}
