package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func TestSame(t *testing.T) {
	type thing struct {
		List []string
		Map  map[string]resource.Quantity
		Time *metav1.Time
		Name *string
	}
	utc := metav1.NewTime(time.Unix(5, 0).UTC())
	local := metav1.NewTime(time.Unix(5, 0).In(time.FixedZone("x", 3600)))
	a := thing{Map: map[string]resource.Quantity{"a": resource.MustParse("1")}, Time: &utc, Name: new("n")}
	b := thing{List: []string{}, Map: map[string]resource.Quantity{"a": resource.MustParse("1000m")}, Time: &local, Name: new("n")}
	require.True(t, check.Same(a, b))
	require.True(t, check.Same(&a, &b))
	b.Name = nil
	require.False(t, check.Same(a, b))
	require.True(t, check.Same((*thing)(nil), (*thing)(nil)))
	require.False(t, check.Same(&a, (*thing)(nil)))
	require.False(t, check.Same([]string{"a"}, []string{"b"}))
}

func TestReport(t *testing.T) {
	var r check.Report
	p := validation.NewPath("f")
	require.True(t, r.OK())
	require.Nil(t, r.List())
	r.Name(p, "", validation.NameIsLabel)
	r.Name(p, "A_", validation.NameIsLabel)
	check.Chosen(&r, p, "x", "a", "b")
	check.NonNegativeOpt(&r, p, new(int32(-1)))
	check.Immutable(&r, p, 1, 2)
	check.OneOfOpt[string](&r, p, nil, "a")
	var types []validation.ErrorType
	for _, e := range r.List() {
		types = append(types, e.Type)
	}
	require.Equal(t, []validation.ErrorType{
		validation.TypeRequired, validation.TypeInvalid, validation.TypeNotSupported, validation.TypeInvalid, validation.TypeInvalid,
	}, types)
	require.Equal(t, []string{"a", "b"}, check.Keys(map[string]int{"b": 1, "a": 2}))
	seen := map[string]bool{}
	require.True(t, check.Unique(seen, "a"))
	require.False(t, check.Unique(seen, "a"))
}
