package interop

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	upcorev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	upresource "k8s.io/apimachinery/pkg/api/resource"
	upfields "k8s.io/apimachinery/pkg/fields"
	uplabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/fields"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/patch"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

func oneOf[T any](r *rand.Rand, of ...T) T { return of[r.Intn(len(of))] }

// randomQuantity returns a string that is mostly a valid quantity, of any size and scale.
func randomQuantity(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString(oneOf(r, "", "", "", "-", "+"))
	digits := oneOf(r, 0, 1, 2, 3, 6, 12, 19, 24)
	for range digits {
		b.WriteByte(byte('0' + r.Intn(10)))
	}
	if r.Intn(3) == 0 {
		b.WriteByte('.')
		for range r.Intn(11) {
			b.WriteByte(byte('0' + r.Intn(10)))
		}
	}
	b.WriteString(oneOf(r, "", "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
		"e3", "E3", "e-3", "e+2", "e0", "e1", "e-9", "e21", "K", "i", " ", "x"))
	return b.String()
}

// sameText fails the test if the two have different strings. Above E there is no suffix: upstream may
// write 1e21 as 1 then, ours writes 1000E.
func sameText(t *testing.T, u *upresource.Quantity, o *resource.Quantity, what string) {
	t.Helper()
	ours := o.String()
	if digits, large := strings.CutSuffix(ours, "000E"); large && strings.TrimRight(u.String(), "0") == strings.TrimRight(digits, "0") {
		return
	}
	require.Equal(t, u.String(), ours, what)
}

func TestQuantitiesAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 20_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		s1, s2 := randomQuantity(r), randomQuantity(r)
		u1, uerr := upresource.ParseQuantity(s1)
		o1, oerr := resource.Parse(s1)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %q: upstream %v, ours %v", seed, s1, uerr, oerr)
		u2, uerr2 := upresource.ParseQuantity(s2)
		o2, oerr2 := resource.Parse(s2)
		if uerr != nil || uerr2 != nil || oerr2 != nil {
			continue
		}
		same := func(u *upresource.Quantity, o *resource.Quantity, what string) {
			sameText(t, u, o, fmt.Sprintf("seed %d: %s of %q and %q", seed, what, s1, s2))
			// Where the digits do not fit an int64 upstream's values wrap around, ours stay at the limit; a
			// negative fraction is rounded the wrong way by upstream (-0.8 to 1), away from zero by ours.
			digits := u.DeepCopy()
			if f := math.Abs(u.AsApproximateFloat64()); f < 9e18 && u.Sign() >= 0 && digits.AsDec().UnscaledBig().IsInt64() {
				require.Equal(t, u.Value(), o.Value(), "seed %d: value of %s of %q and %q", seed, what, s1, s2)
				if f < 9e15 {
					require.Equal(t, u.MilliValue(), o.MilliValue(), "seed %d: milli value of %s of %q and %q", seed, what, s1, s2)
				}
			}
			require.Equal(t, u.Sign(), o.Sign(), "seed %d: sign of %s", seed, what)
		}
		same(&u1, &o1, "parsing")
		require.Equal(t, u1.Cmp(u2), o1.Cmp(o2), "seed %d: %q and %q compared", seed, s1, s2)
		us, os := u1.DeepCopy(), o1
		us.Add(u2)
		os.Add(o2)
		same(&us, &os, "sum")
		us, os = u1.DeepCopy(), o1
		us.Sub(u2)
		os.Sub(o2)
		same(&us, &os, "difference")
	}
}

func randomSelector(r *rand.Rand) string {
	key := func() string { return oneOf(r, "a", "b", "app", "x.y/z", "A_b.c", "-bad", "a/b/c", "") }
	value := func() string { return oneOf(r, "1", "2", "10", "web", "", "v-1", "-x", "7.5") }
	var terms []string
	for range r.Intn(4) {
		switch r.Intn(8) {
		case 0:
			terms = append(terms, key())
		case 1:
			terms = append(terms, "!"+key())
		case 2:
			terms = append(terms, key()+oneOf(r, "=", "==", " = ", "!=", " != ")+value())
		case 3:
			terms = append(terms, key()+oneOf(r, " in ", " notin ", " in", " IN ")+"("+value()+","+value()+")")
		case 4:
			terms = append(terms, key()+oneOf(r, ">", "<", " > ")+value())
		case 5:
			terms = append(terms, key()+" in ()")
		case 6:
			terms = append(terms, oneOf(r, "(", ")", "in", "notin", "a in b", "a in (b", ",", "!", "a b"))
		default:
			terms = append(terms, key()+"="+value())
		}
	}
	return strings.Join(terms, oneOf(r, ",", ",", " , ", ",,"))
}

func TestLabelSelectorsAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 20_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		s := randomSelector(r)
		u, uerr := uplabels.Parse(s)
		o, oerr := labels.Parse(s)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %q: upstream %v, ours %v", seed, s, uerr, oerr)
		if uerr != nil {
			continue
		}
		require.Equal(t, u.String(), o.String(), "seed %d: %q", seed, s)
		for range 10 {
			set := map[string]string{}
			for range r.Intn(4) {
				set[oneOf(r, "a", "b", "app", "x.y/z", "A_b.c")] = oneOf(r, "1", "2", "10", "web", "", "v-1")
			}
			require.Equal(t, u.Matches(uplabels.Set(set)), o.Matches(labels.Set(set)), "seed %d: %q on %v", seed, s, set)
		}
	}
}

func TestFieldSelectorsAgree(t *testing.T) {
	for _, seed := range seeds.Of(t, 5_000) {
		r := rand.New(rand.NewSource(int64(seed)))
		var terms []string
		for range r.Intn(4) {
			terms = append(terms, oneOf(r, "metadata.name", "spec.nodeName", "status.phase", "")+oneOf(r, "=", "==", "!=", "")+oneOf(r, "", "a", "b", `a\,b`, `a\=b`, `a\\`, `a\x`, "a=b"))
		}
		s := strings.Join(terms, ",")
		u, uerr := upfields.ParseSelector(s)
		o, oerr := fields.Parse(s)
		require.Equal(t, uerr == nil, oerr == nil, "seed %d: %q: upstream %v, ours %v", seed, s, uerr, oerr)
		if uerr != nil {
			continue
		}
		require.Equal(t, u.String(), o.String(), "seed %d: %q", seed, s)
		for range 5 {
			set := map[string]string{"metadata.name": oneOf(r, "a", "b", "a,b", ""), "status.phase": oneOf(r, "a", "a=b", `a\`)}
			require.Equal(t, u.Matches(upfields.Set(set)), o.Matches(fields.Set(set)), "seed %d: %q on %v", seed, s, set)
		}
	}
}

// randomMergedSpec is the JSON of a pod spec with the kinds of lists that are merged: by key, by value, not
// at all.
func randomMergedSpec(r *rand.Rand) map[string]any {
	spec := map[string]any{}
	var cs []any
	for _, name := range shuffled(r, "a", "b", "c") {
		c := map[string]any{"name": name}
		if r.Intn(4) > 0 {
			c["image"] = oneOf(r, "app:1", "app:2", "app:3")
		}
		var env []any
		for _, n := range shuffled(r, "X", "Y", "Z") {
			env = append(env, map[string]any{"name": n, "value": oneOf(r, "1", "2", "")})
		}
		if len(env) > 0 {
			c["env"] = env
		}
		var ports []any
		for _, p := range shuffled(r, 80, 81, 443) {
			ports = append(ports, map[string]any{"containerPort": p, "protocol": oneOf(r, "TCP", "TCP", "UDP")})
		}
		if len(ports) > 0 {
			c["ports"] = ports
		}
		if r.Intn(3) == 0 {
			c["command"] = toAny(shuffled(r, "sh", "-c", "true"))
		}
		if r.Intn(3) == 0 {
			c["resources"] = map[string]any{"limits": map[string]any{oneOf(r, "cpu", "memory"): oneOf(r, "1", "2Gi")}}
		}
		cs = append(cs, c)
	}
	if len(cs) > 0 {
		spec["containers"] = cs
	}
	if r.Intn(2) == 0 {
		spec["nodeSelector"] = map[string]any{oneOf(r, "zone", "disk"): oneOf(r, "1", "2")}
	}
	if r.Intn(2) == 0 {
		spec["hostNetwork"] = r.Intn(2) == 0
	}
	if vs := shuffled(r, "v", "w"); len(vs) > 0 {
		var volumes []any
		for _, v := range vs {
			source := oneOf(r, "emptyDir", "configMap")
			body := map[string]any{}
			if source == "configMap" {
				body["name"] = oneOf(r, "m", "n")
			}
			volumes = append(volumes, map[string]any{"name": v, source: body})
		}
		spec["volumes"] = volumes
	}
	if r.Intn(3) == 0 {
		spec["tolerations"] = []any{map[string]any{"key": oneOf(r, "k", "l"), "operator": "Exists"}}
	}
	return spec
}

// shuffled returns a random subset of the values, in random order.
func shuffled[T any](r *rand.Rand, of ...T) []T {
	r.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	return of[:r.Intn(len(of)+1)]
}

func toAny[T any](in []T) []any {
	out := make([]any, len(in))
	for i := range in {
		out[i] = in[i]
	}
	return out
}

func randomMergedPod(r *rand.Rand) []byte {
	meta := map[string]any{"name": "p"}
	if r.Intn(2) == 0 {
		meta["finalizers"] = toAny(shuffled(r, "a.test/x", "a.test/y", "a.test/z"))
	}
	if r.Intn(2) == 0 {
		labels := map[string]any{}
		for _, k := range shuffled(r, "l", "m", "n") {
			labels[k] = oneOf(r, "1", "2")
		}
		meta["labels"] = labels
	}
	b, err := json.Marshal(map[string]any{"metadata": meta, "spec": randomMergedSpec(r)})
	if err != nil {
		panic(err)
	}
	return b
}

// Patches computed by either side from two objects, and applied by either side to a third, give the same
// result.
func TestStrategicMergePatchesAgree(t *testing.T) {
	ourType := reflect.TypeFor[corev1.Pod]()
	for _, seed := range seeds.Of(t, 3000) {
		r := rand.New(rand.NewSource(int64(seed)))
		from, to, live := randomMergedPod(r), randomMergedPod(r), randomMergedPod(r)
		up, err := strategicpatch.CreateTwoWayMergePatch(from, to, upcorev1.Pod{})
		require.NoError(t, err)
		ours, err := patch.CreateTwoWayStrategic(from, to, ourType)
		require.NoError(t, err)
		for who, p := range map[string][]byte{"upstream's": up, "our": ours} {
			for what, doc := range map[string][]byte{"from": from, "live": live} {
				u, uerr := strategicpatch.StrategicMergePatch(doc, p, upcorev1.Pod{})
				o, oerr := patch.Strategic(doc, p, ourType)
				at := fmt.Sprintf("seed %d: %s patch on %s\n%s\n%s", seed, who, what, doc, p)
				require.NoError(t, oerr, at)
				if what == "live" && uerr != nil {
					continue // upstream cannot sort a list that is empty after deletions
				}
				require.NoError(t, uerr, at)
				// If the document lacks a field, upstream copies the patch with its directives and nulls, so
				// that items to delete from a missing list become items.
				require.NotContains(t, string(o), "$", at)
				if strings.Contains(string(u), `"$`) || strings.Contains(string(u), ":null") {
					continue
				}
				var want, have upcorev1.Pod
				require.NoError(t, json.Unmarshal(u, &want), at)
				require.NoError(t, json.Unmarshal(o, &have), at)
				require.True(t, equality.Semantic.DeepEqual(want, have), "%s\n%s\n%s", at, u, o)
				if what == "from" {
					var goal upcorev1.Pod
					require.NoError(t, json.Unmarshal(to, &goal))
					// A patch does not express a different order of a list of values.
					slices.Sort(goal.Finalizers)
					slices.Sort(have.Finalizers)
					require.True(t, equality.Semantic.DeepEqual(goal, have), "%s\nleads to\n%s\nnot to\n%s", at, o, to)
				}
			}
		}
	}
}
