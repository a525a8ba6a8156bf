package coordinationv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

var cases = [][4]string{
	{"lease", "spec.leaseDurationSeconds", `1`, ""},
	{"lease", "spec.leaseDurationSeconds", `0`, "spec.leaseDurationSeconds Invalid"},
	{"lease", "spec.leaseTransitions", `0`, ""},
	{"lease", "spec.leaseTransitions", `-1`, "spec.leaseTransitions Invalid"},
	{"lease", "spec.preferredHolder", `"a"`, "spec.preferredHolder Forbidden"},
	{"lease", "spec.preferredHolder", `""`, ""},
	{"lease", "spec", `{"preferredHolder":"a","strategy":"OldestEmulationVersion"}`, ""},
	{"lease", "spec", `{}`, ""},
}

func TestCreateRules(t *testing.T) { apitest.Create(t, cases) }

// A lease may be changed to whatever it could be created as.
func TestUpdateRules(t *testing.T) {
	var changes []apitest.Updated
	for _, c := range cases {
		changes = append(changes, apitest.Updated{Alter: c})
	}
	apitest.Update(t, changes)
}
