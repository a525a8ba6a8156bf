package fields_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/fields"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"": "", ",": "", ",,": "",
		"a=b": "a=b", "a==b": "a=b", "a!=b": "a!=b", "a=": "a=", "a!=": "a!=",
		"metadata.name=x,spec.nodeName!=y": "metadata.name=x,spec.nodeName!=y",
		"b=1,a=2":                          "a=2,b=1",
		`a=b\,c\=d\\e`:                     `a=b\,c\=d\\e`,
		"a=!b":                             "a=!b", " a = b ": " a = b ", "a=é": "a=é", "=b": "=b", "=": "",
	} {
		s, err := fields.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String(), text)
	}
	for _, bad := range []string{"a", "a,b=c", "a=b=c", "a===b", `a=\`, `a=\b`, `a=b\`, "!a"} {
		_, err := fields.Parse(bad)
		require.ErrorIs(t, err, fields.ErrInvalid, bad)
	}
	require.Panics(t, func() { fields.MustParse("a") })
}

func TestMatches(t *testing.T) {
	s := fields.MustParse("a=1,b!=2,c!=")
	require.True(t, s.Matches(fields.Set{"a": "1", "c": "x"}))
	require.False(t, s.Matches(fields.Set{"a": "1"}))
	require.False(t, s.Matches(fields.Set{"a": "1", "b": "2", "c": "x"}))
	require.False(t, s.Matches(fields.Set{"a": "", "c": "x"}))
	require.True(t, s.Matches(fields.GetterFunc(func(field string) string { return "1" })))
	require.True(t, fields.Everything().Matches(fields.Set{}))
	require.False(t, fields.Nothing().Matches(fields.Set{}))
}

func TestSelectors(t *testing.T) {
	require.True(t, fields.Everything().Empty())
	require.False(t, fields.Nothing().Empty())
	require.True(t, fields.Nothing().SelectsNothing())
	require.Equal(t, "a=1,b=2", fields.SelectorFromSet(fields.Set{"b": "2", "a": "1"}).String())
	both := fields.And(fields.OneEqual("a", "1"), fields.Everything(), fields.OneNotEqual("b", "2"))
	require.Equal(t, "a=1,b!=2", both.String())
	require.True(t, fields.And(both, fields.Nothing()).SelectsNothing())
	require.Equal(t, []fields.Requirement{{"a", fields.Equals, "1"}, {"b", fields.NotEquals, "2"}}, both.Requirements())
	both.Requirements()[0].Field = "changed"
	value, found := both.RequiresExactMatch("a")
	require.Equal(t, "1", value)
	require.True(t, found)
	_, found = both.RequiresExactMatch("b")
	require.False(t, found)
	require.True(t, both.Equal(fields.MustParse("a=1,b!=2")))
	require.False(t, both.Equal(fields.Everything()))
}

func TestTransform(t *testing.T) {
	s := fields.MustParse("a=1,b!=2")
	renamed, err := s.Transform(func(field, value string) (string, string, error) {
		if field == "b" {
			return "", "", nil
		}
		return "x." + field, value, nil
	})
	require.NoError(t, err)
	require.Equal(t, "x.a=1", renamed.String())
	refused := errors.New("not selectable")
	_, err = s.Transform(func(field, value string) (string, string, error) { return "", "", refused })
	require.ErrorIs(t, err, refused)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=b", `a=b\,c`, "a!=b,c==d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		selector, err := fields.Parse(s)
		if err != nil {
			return
		}
		again, err := fields.Parse(selector.String())
		if err != nil || again.String() != selector.String() && len(again.Requirements()) != len(selector.Requirements()) {
			t.Fatalf("%q: %q then %q, %v", s, selector, again, err)
		}
	})
}

func FuzzEscape(f *testing.F) {
	f.Add(`a,b=c\d`)
	f.Fuzz(func(t *testing.T, s string) {
		back, err := fields.Unescape(fields.Escape(s))
		if err != nil || back != s && fmt.Sprint([]rune(s)) != fmt.Sprint([]rune(back)) {
			t.Fatalf("%q: %q, %v", s, back, err)
		}
	})
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	s := fields.MustParse("metadata.namespace=default,spec.nodeName=n1")
	set := fields.Set{"metadata.namespace": "default", "spec.nodeName": "n1"}
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Matches(set) }))
}

func BenchmarkMatches(b *testing.B) {
	s := fields.MustParse("metadata.namespace=default,spec.nodeName=n1")
	set := fields.Set{"metadata.namespace": "default", "spec.nodeName": "n1"}
	b.ReportAllocs()
	for b.Loop() {
		s.Matches(set)
	}
}

func ExampleParse() {
	s, err := fields.Parse("spec.nodeName=n1,status.phase!=Succeeded")
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := fields.Set{"spec.nodeName": "n1", "status.phase": "Running"}
	fmt.Println(s.Matches(pod))
	// Output: true
}
