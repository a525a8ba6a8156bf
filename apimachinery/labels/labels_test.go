package labels_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func TestCanonicalText(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "  ": "",
		"a": "a", "!a": "!a", "! a": "!a", "a=b": "a=b", "a==b": "a==b", "a!=b": "a!=b", " a = b ": "a=b",
		"a=": "a=", "a!=": "a!=", "a=,b": "a=,b",
		"a in (x)": "a in (x)", "a in (z,x,y,x)": "a in (x,y,z)", "a notin(x , y)": "a notin (x,y)",
		"a in ()": "a in ()", "a in (,)": "a in ()", "a in (x,)": "a in (,x)", "a in (,x,,y)": "a in (,x,y)",
		"a>5": "a>5", "a<7": "a<7",
		"c,b=1,a notin (q)": "a notin (q),b=1,c",
		"in in (in,notin)":  "in in (in,notin)", "notin": "notin", "!in": "!in", "in=notin": "in=notin",
		"example.com/a\tin\n(b)": "example.com/a in (b)",
	} {
		s, err := labels.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, s.String(), text)
		again, err := labels.Parse(s.String())
		require.NoError(t, err, text)
		require.True(t, s.Equal(again), text)
	}
}

func TestRefusedTexts(t *testing.T) {
	for _, text := range []string{
		",", "a,", ",a", "a,,b", "a b", "a=b c", "=b", "!", "!a=b", "!a in (b)", "!!a", "a in", "a in b", "a in (b", "a in b)", "a in (b c)", "a in ((b))", "a in (b))",
		"a!b", "a=!b", "a===b", "a>=5", "a>x", "a<", "a>5.5", "a exists", "a gt 5", "(a)", "a in (=)", "a b (c)",
		"-a", "a/b/c", "a=-", "a in (b,-)", strings.Repeat("a", 64), "a=" + strings.Repeat("b", 64), "a\x00", "a=\x00", "é",
	} {
		_, err := labels.Parse(text)
		require.ErrorIs(t, err, labels.ErrInvalid, "%q", text)
		require.Contains(t, err.Error(), "unable to parse requirement", "%q", text)
	}
	_, err := labels.Parse(strings.Repeat("a,", 1<<20))
	require.ErrorIs(t, err, labels.ErrInvalid)
	require.Panics(t, func() { labels.MustParse("=") })
}

func TestMatching(t *testing.T) {
	for text, want := range map[string][4]bool{
		// against: {}, {a:""}, {a:x}, {a:6}
		"":              {true, true, true, true},
		"a":             {false, true, true, true},
		"!a":            {true, false, false, false},
		"a=x":           {false, false, true, false},
		"a=":            {false, true, false, false},
		"a!=x":          {true, true, false, true},
		"a in (x,6)":    {false, false, true, true},
		"a notin (x,6)": {true, true, false, false},
		"a>5":           {false, false, false, true},
		"a<5":           {false, false, false, false},
		"a>6":           {false, false, false, false},
		"a<7":           {false, false, false, true},
		"a,a!=x":        {false, true, false, true},
	} {
		s := labels.MustParse(text)
		for i, set := range []labels.Set{nil, {"a": ""}, {"a": "x"}, {"a": "6"}} {
			require.Equal(t, want[i], s.Matches(set), "%q on %v", text, set)
			require.Equal(t, want[i], s.MatchesFunc(func(key string) (string, bool) { v, ok := set[key]; return v, ok }))
		}
	}
}

func TestEverythingAndNothing(t *testing.T) {
	require.True(t, labels.Everything().Empty())
	require.True(t, labels.Everything().Matches(nil))
	require.True(t, labels.SelectorFromSet(nil).Empty())
	require.False(t, labels.Nothing().Empty())
	require.True(t, labels.Nothing().SelectsNothing())
	require.False(t, labels.Nothing().Matches(labels.Set{"a": "b"}))
	require.False(t, labels.Nothing().MatchesFunc(func(string) (string, bool) { return "", true }))
	r, err := labels.NewRequirement("a", labels.Exists, nil)
	require.NoError(t, err)
	require.False(t, labels.Nothing().Add(*r).Matches(labels.Set{"a": ""}), "stays nothing")
	_, selectable := labels.Nothing().Requirements()
	require.False(t, selectable)
	require.False(t, labels.Nothing().Equal(labels.Everything()))
}

func TestNewRequirement(t *testing.T) {
	for _, bad := range []struct {
		key    string
		op     labels.Operator
		values []string
		field  string
	}{
		{"", labels.Exists, nil, "key"},
		{"a", labels.In, nil, "values"},
		{"a", labels.NotIn, nil, "values"},
		{"a", labels.Equals, nil, "values"},
		{"a", labels.NotEquals, []string{"a", "b"}, "values"},
		{"a", labels.Exists, []string{"a"}, "values"},
		{"a", labels.GreaterThan, []string{"a"}, "values[0]"},
		{"a", labels.LessThan, []string{"1", "2"}, "values"},
		{"a", labels.In, []string{"ok", "-"}, "values[1]"},
		{"a", "near", []string{"a"}, "operator"},
	} {
		_, err := labels.NewRequirement(bad.key, bad.op, bad.values)
		require.ErrorIs(t, err, labels.ErrInvalid)
		var e *labels.SelectorError
		require.ErrorAs(t, err, &e)
		require.Equal(t, bad.field, e.Findings[0].Field, "%v", bad)
	}
	values := []string{"c", "a", "b", "a"}
	r, err := labels.NewRequirement("k", labels.In, values)
	require.NoError(t, err)
	values[0] = "changed"
	require.Equal(t, []string{"a", "b", "c"}, r.Values())
	r.Values()[0] = "changed"
	require.Equal(t, "k in (a,b,c)", r.String())
	require.Equal(t, "k", r.Key())
	require.Equal(t, labels.In, r.Operator())
	require.True(t, r.Matches(labels.Set{"k": "b"}))
}

func TestAddLeavesTheSelectorUnchanged(t *testing.T) {
	base := labels.MustParse("b,c")
	r, err := labels.NewRequirement("a", labels.Exists, nil)
	require.NoError(t, err)
	require.Equal(t, "a,b,c", base.Add(*r).String())
	require.Equal(t, "b,c", base.String())
	reqs, ok := base.Requirements()
	require.True(t, ok)
	reqs[0] = *r
	require.Equal(t, "b,c", base.String())
}

func TestRequiresExactMatch(t *testing.T) {
	s := labels.MustParse("a=1,b==2,c in (3),d in (4,5),e!=6,f")
	for key, want := range map[string]string{"a": "1", "b": "2", "c": "3", "d": "", "e": "", "f": "", "g": ""} {
		value, found := s.RequiresExactMatch(key)
		require.Equal(t, want, value)
		require.Equal(t, want != "", found)
	}
}

func TestSets(t *testing.T) {
	s := labels.Set{"b": "2", "a": "1"}
	require.Equal(t, "a=1,b=2", s.String())
	require.Equal(t, "a=1,b=2", s.AsSelector().String())
	require.True(t, s.Has("a"))
	require.Equal(t, "", s.Get("c"))
	back, err := labels.ParseSet(" a = 1,b=2")
	require.NoError(t, err)
	require.True(t, s.Equals(back))
	empty, err := labels.ParseSet("")
	require.NoError(t, err)
	require.True(t, empty.Equals(nil))
	for _, bad := range []string{"a", "a=b=c", "-=b", "a=-"} {
		_, err := labels.ParseSet(bad)
		require.Error(t, err, bad)
	}
	_, err = labels.ValidatedSelectorFromSet(labels.Set{"a b": ""})
	require.ErrorIs(t, err, labels.ErrInvalid)
	valid, err := labels.ValidatedSelectorFromSet(s)
	require.NoError(t, err)
	require.True(t, valid.Equal(labels.SelectorFromSet(s)))
	require.Equal(t, labels.Set{"a": "x", "b": "2"}, labels.Merge(s, labels.Set{"a": "x"}))
}

// naive is a model of a selector: a list of conditions, evaluated one by one as documented.
type naive []func(labels.Set) bool

func TestRandomSelectorsAgainstANaiveModel(t *testing.T) {
	keys, values := []string{"a", "b", "x/y", "in"}, []string{"", "p", "q", "5", "6", "notin"}
	for _, seed := range seeds.Of(t, 20000) {
		r := seeds.Stream(seed, 2)
		var model naive
		var terms []string
		for range r.IntN(4) {
			key := keys[r.IntN(len(keys))]
			var vs []string
			for range 1 + r.IntN(3) {
				vs = append(vs, values[r.IntN(len(values))])
			}
			v, n := vs[0], r.IntN(10)
			has := func(s labels.Set, list []string) bool { value, ok := s[key]; return ok && slices.Contains(list, value) }
			compare := func(s labels.Set) (int, bool) {
				n2, err := strconv.Atoi(s[key])
				return n2 - n, err == nil
			}
			pad := strings.Repeat(" ", r.IntN(2))
			list := " (" + strings.Join(vs, pad+","+pad) + ")"
			switch r.IntN(8) {
			case 0:
				terms, model = append(terms, key), append(model, func(s labels.Set) bool { return s.Has(key) })
			case 1:
				terms, model = append(terms, "!"+key), append(model, func(s labels.Set) bool { return !s.Has(key) })
			case 2:
				terms, model = append(terms, key+pad+"="+pad+v), append(model, func(s labels.Set) bool { return has(s, []string{v}) })
			case 3:
				terms, model = append(terms, key+"!="+pad+v), append(model, func(s labels.Set) bool { return !has(s, []string{v}) })
			case 4:
				terms, model = append(terms, key+" in"+list), append(model, func(s labels.Set) bool { return has(s, vs) })
			case 5:
				terms, model = append(terms, key+" notin"+list), append(model, func(s labels.Set) bool { return !has(s, vs) })
			case 6:
				terms, model = append(terms, fmt.Sprint(key, ">", n)), append(model, func(s labels.Set) bool { d, ok := compare(s); return ok && d > 0 })
			case 7:
				terms, model = append(terms, fmt.Sprint(key, "<", n)), append(model, func(s labels.Set) bool { d, ok := compare(s); return ok && d < 0 })
			}
		}
		text := strings.Join(terms, ",")
		selector, err := labels.Parse(text)
		require.NoError(t, err, "seed %d: %q", seed, text)
		canonical, err := labels.Parse(selector.String())
		require.NoError(t, err, "seed %d: %q", seed, selector)
		require.Equal(t, selector.String(), canonical.String(), "seed %d", seed)
		for range 10 {
			set := labels.Set{}
			for _, key := range keys {
				if r.IntN(2) == 0 {
					set[key] = values[r.IntN(len(values))]
				}
			}
			want := true
			for _, condition := range model {
				want = want && condition(set)
			}
			require.Equal(t, want, selector.Matches(set), "seed %d: %q on %v", seed, text, set)
			require.Equal(t, want, canonical.Matches(set), "seed %d: %q on %v", seed, canonical, set)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=b", "a in (b,c),!d", "x>5", "a notin ()", "!a,b!=c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		selector, err := labels.Parse(s)
		if err != nil {
			return
		}
		again, err := labels.Parse(selector.String())
		if err != nil || !again.Equal(selector) {
			t.Fatalf("%q: %q then %q, %v", s, selector, again, err)
		}
		reqs, _ := selector.Requirements()
		for _, r := range reqs {
			if validation.IsQualifiedName(r.Key()) != nil {
				t.Fatalf("%q has key %q", s, r.Key())
			}
		}
		selector.Matches(nil)
	})
}

func TestMatchingDoesNotAllocate(t *testing.T) {
	set := map[string]string{"app": "web", "tier": "front", "pod-template-hash": "5d4f8c7b9"}
	for _, text := range []string{"", "app=web", "app=web,tier in (front,back),!canary", "tier notin (back),pod-template-hash", "app!=db"} {
		s := labels.MustParse(text)
		require.True(t, s.Matches(set), text)
		require.Zero(t, testing.AllocsPerRun(100, func() { s.Matches(set) }), text)
	}
}

func BenchmarkSelector(b *testing.B) {
	set := map[string]string{"app": "web", "tier": "front", "pod-template-hash": "5d4f8c7b9"}
	s := labels.MustParse("app=web,tier in (front,back),!canary")
	require.True(b, s.Matches(set))
	b.Run("Matches", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Matches(set)
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = labels.Parse("app=web,tier in (front,back),!canary")
		}
	})
}

func ExampleParse() {
	s, err := labels.Parse("tier in (front, back), !canary, app=web")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s)
	fmt.Println(s.Matches(labels.Set{"app": "web", "tier": "front"}))
	fmt.Println(s.Matches(labels.Set{"app": "web", "tier": "front", "canary": ""}))
	// Output:
	// app=web,!canary,tier in (back,front)
	// true
	// false
}
