package policyv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestCreateRules(t *testing.T) {
	apitest.Create(t, [][4]string{
		{"pdb", "spec.minAvailable", `"50"`, "spec.minAvailable Invalid"},
	})
}
