package scheme_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func TestRulesForAreAttachedToOneSchemeOnly(t *testing.T) {
	s := scheme.New()
	rules := scheme.RulesFor[*corev1.ConfigMap]{
		Default:  func(c *corev1.ConfigMap) { c.Immutable = new(true) },
		Warnings: func(c, old *corev1.ConfigMap) []string { return map[bool][]string{true: {"new"}}[old == nil] },
		Validate: func(*corev1.ConfigMap) validation.ErrorList { return nil },
	}
	require.True(t, scheme.IsUnregistered(rules.Attach(s)))

	require.NoError(t, corev1.AddToScheme(s))
	server := s.Clone()
	require.NoError(t, rules.Attach(server))
	plain, err := scheme.InfoFor[*corev1.ConfigMap](s)
	require.NoError(t, err)
	require.Nil(t, plain.Rules.Default, "the scheme cloned from is as before")

	info, err := scheme.InfoFor[*corev1.ConfigMap](server)
	require.NoError(t, err)
	require.Same(t, info, server.ForKind(info.GVK))
	require.Same(t, info, server.ForResource(info.GVR))
	require.Contains(t, server.All(), info)
	c := &corev1.ConfigMap{}
	info.Rules.Default(c)
	require.True(t, *c.Immutable)
	require.Equal(t, []string{"new"}, info.Rules.Warnings(c, nil))
	require.Empty(t, info.Rules.Warnings(c, c))
	require.Nil(t, info.Rules.ValidateUpdate)
}

func TestFrozenSchemesStayAsTheyAre(t *testing.T) {
	s := scheme.New()
	require.NoError(t, corev1.AddToScheme(s))
	s.Freeze()
	require.NoError(t, corev1.AddToScheme(s), "what is registered already changes nothing")
	err := scheme.Add[*Boat](s, schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}, scheme.Kind{Resource: "boats"})
	require.EqualError(t, err, "scheme: cannot add *scheme_test.Boat: the scheme is shared: add to a Clone of it")
	require.Error(t, scheme.RulesFor[*corev1.ConfigMap]{}.Attach(s))
	require.Nil(t, s.ForType(reflect.TypeFor[*Boat]()))

	c := s.Clone()
	require.NoError(t, scheme.Add[*Boat](c, schema.GroupVersion{Group: "harbour.example.com", Version: "v1"}, scheme.Kind{Resource: "boats"}))
	require.NotNil(t, c.ForObject(&Boat{}))
}
