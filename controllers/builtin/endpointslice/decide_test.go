package endpointslice

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
)

// sliceOf returns a slice of a port with endpoints whose addresses are letters.
func sliceOf(name string, port int32, addresses string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	s.Name, s.Ports = name, []discoveryv1.EndpointPort{{Name: new(""), Port: &port, Protocol: new(corev1.ProtocolTCP)}}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{string(a)}})
	}
	return s
}

// owned returns a slice with an owner.
func owned(name string, port int32, addresses string) *discoveryv1.EndpointSlice {
	s := sliceOf(name, port, addresses)
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: "1"}}
	return s
}

func addresses(s *discoveryv1.EndpointSlice) string {
	var out strings.Builder
	for _, e := range s.Endpoints {
		out.WriteString(e.Addresses[0])
	}
	return out.String()
}

func TestDecide(t *testing.T) {
	type list = []*discoveryv1.EndpointSlice
	for name, c := range map[string]struct {
		have, want list
		plan       []string
	}{
		"nothing is there":              {want: list{sliceOf("", 80, "abcde")}, plan: []string{"create abcd", "create e"}},
		"no endpoints are one slice":    {want: list{sliceOf("", 80, "")}, plan: []string{"create "}},
		"all is so":                     {have: list{sliceOf("x", 80, "ab")}, want: list{sliceOf("", 80, "ba")}},
		"new ones where there is room":  {have: list{sliceOf("x", 80, "abcd"), sliceOf("y", 80, "e")}, want: list{sliceOf("", 80, "abcdefg")}, plan: []string{"y: efg"}},
		"one that changes takes others": {have: list{sliceOf("x", 80, "abcd"), sliceOf("y", 80, "e")}, want: list{sliceOf("", 80, "abcef")}, plan: []string{"x: abcf"}},
		"not over several with room":    {have: list{sliceOf("x", 80, "abc"), sliceOf("y", 80, "def")}, want: list{sliceOf("", 80, "abcdefgh")}, plan: []string{"create gh"}},
		"an empty one goes":             {have: list{sliceOf("x", 80, "abcd"), sliceOf("y", 80, "e")}, want: list{sliceOf("", 80, "abcd")}, plan: []string{"delete y"}},
		"the last one stays":            {have: list{sliceOf("x", 80, "a"), sliceOf("y", 80, "b")}, want: list{sliceOf("", 80, "")}, plan: []string{"x: ", "delete y"}},
		"other ports":                   {have: list{sliceOf("x", 80, "a")}, want: list{sliceOf("", 90, "a")}, plan: []string{"x: a"}},
		"other ports of one of two":     {have: list{sliceOf("x", 80, "a"), sliceOf("y", 90, "b")}, want: list{sliceOf("", 90, "b"), sliceOf("", 70, "a")}, plan: []string{"x: a"}},
		"those of another Service":      {have: list{owned("x", 80, "a")}, want: list{sliceOf("", 90, "a")}, plan: []string{"create a", "delete x"}},
		"a Service that is gone":        {have: list{sliceOf("x", 80, "a"), sliceOf("y", 90, "b")}, plan: []string{"delete x", "delete y"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, w := range decide(c.have, c.want, 4) {
				switch {
				case w.have == nil:
					got = append(got, "create "+addresses(w.next))
				case w.next == nil:
					got = append(got, "delete "+w.have.Name)
				default:
					got = append(got, w.have.Name+": "+addresses(w.next))
				}
			}
			require.Equal(t, c.plan, got)
		})
	}
}

// After any number of changes the slices have each endpoint once, none is longer than it may be, a plan of
// what is there is empty, and no more are written than changes need.
func TestPlansOfRandomChanges(t *testing.T) {
	for _, seed := range seeds.Of(t, 200) {
		r := rand.New(rand.NewPCG(seed, 3))
		have := map[string]*discoveryv1.EndpointSlice{}
		made, most, before := 0, 1+r.IntN(5), ""
		for range 20 {
			var b strings.Builder
			for c := 'a'; c <= 'z'; c++ {
				if was := strings.ContainsRune(before, c); was != (r.IntN(5) == 0) {
					b.WriteRune(c)
				}
			}
			want := func() []*discoveryv1.EndpointSlice { return []*discoveryv1.EndpointSlice{sliceOf("", 80, b.String())} }
			plan := decide(slices.Collect(maps.Values(have)), want(), most)
			for _, w := range plan {
				switch {
				case w.have == nil:
					made++
					w.next.Name = fmt.Sprint("s", made)
					have[w.next.Name] = w.next
				case w.next == nil:
					delete(have, w.have.Name)
				default:
					have[w.have.Name] = w.next
				}
			}
			all := ""
			for _, s := range have {
				require.LessOrEqual(t, len(s.Endpoints), most)
				all += addresses(s)
			}
			letters := strings.Split(all, "")
			slices.Sort(letters)
			require.Equal(t, b.String(), strings.Join(letters, ""), "seed %d", seed)
			require.Empty(t, decide(slices.Collect(maps.Values(have)), want(), most), "seed %d", seed)
			require.LessOrEqual(t, len(plan), changes(before, b.String())+1, "seed %d", seed)
			before = b.String()
		}
	}
}

// changes returns how many letters are in one of two strings only.
func changes(a, b string) (n int) {
	for _, c := range a + b {
		if strings.ContainsRune(a, c) != strings.ContainsRune(b, c) {
			n++
		}
	}
	return n
}

func TestWanted(t *testing.T) {
	svc := &corev1.Service{}
	svc.Name, svc.Labels = "web", map[string]string{"app": "web"}
	svc.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	svc.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("http")}}
	podOf := func(name string, port int32, ips ...string) *corev1.Pod {
		p := &corev1.Pod{}
		p.Name, p.Spec.NodeName, p.Status.PodIP = name, "node-"+name, ips[0]
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port, Protocol: corev1.ProtocolTCP}}}}
		return p
	}
	ended := podOf("d", 8080, "10.0.0.4")
	ended.Status.Phase = corev1.PodSucceeded
	zones := map[string]string{"node-a": "east"}
	var got []string
	for _, s := range wanted(svc, []*corev1.Pod{podOf("b", 9090, "10.0.0.2"), podOf("a", 8080, "10.0.0.1", "fd00::1"), ended},
		func(node string) string { return zones[node] }) {
		text := fmt.Sprint(s.AddressType, *s.Ports[0].Port)
		for _, e := range s.Endpoints {
			text += " " + e.Addresses[0]
			if e.Zone != nil {
				text += " in " + *e.Zone
			}
		}
		got = append(got, text)
	}
	require.Equal(t, []string{"IPv48080 10.0.0.1 in east", "IPv49090 10.0.0.2", "IPv68080 fd00::1 in east"}, got)
}
