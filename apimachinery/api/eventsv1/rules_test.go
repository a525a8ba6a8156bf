package eventsv1_test

import (
	"testing"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/apitest"
)

func TestUpdateRules(t *testing.T) {
	apitest.Update(t, []apitest.Updated{
		{Alter: [4]string{"event-v1", "reason", `"other"`, "reason Invalid"}},
	})
}
