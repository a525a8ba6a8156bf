package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/controllers/kubelet/kubeletconfig"
)

// The first value of a flag replaces what the file says, further ones add to it, as those of pflag do.

// pairs is a flag of NAME<sep>VALUE pairs, separated by commas.
type pairs struct {
	to      *map[string]string
	sep     string
	changed bool
}

func (p *pairs) Type() string { return "mapStringString" }

func (p *pairs) String() string {
	if p.to == nil {
		return ""
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(*p.to)) {
		list = append(list, k+p.sep+(*p.to)[k])
	}
	return strings.Join(list, ",")
}

func (p *pairs) Set(text string) error {
	if !p.changed || *p.to == nil {
		*p.to, p.changed = map[string]string{}, true
	}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, p.sep)
		if !ok {
			return fmt.Errorf("%q: want NAME%sVALUE", part, p.sep)
		}
		(*p.to)[strings.TrimSpace(k)] = strings.TrimSpace(v)
	}
	return nil
}

// gates is a flag of NAME=true and NAME=false pairs.
type gates struct{ to *map[string]bool }

func (g *gates) Type() string { return "mapStringBool" }

func (g *gates) String() string {
	if g.to == nil || len(*g.to) == 0 {
		return ""
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(*g.to)) {
		list = append(list, fmt.Sprintf("%s=%t", k, (*g.to)[k]))
	}
	return strings.Join(list, ",")
}

func (g *gates) Set(text string) error {
	var m map[string]string
	p := pairs{to: &m, sep: "="}
	if err := p.Set(text); err != nil {
		return err
	}
	for k, v := range m {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return fmt.Errorf("%s: %q is neither true nor false", k, v)
		}
		if *g.to == nil {
			*g.to = map[string]bool{}
		}
		(*g.to)[k] = b
	}
	return nil
}

// taints is a flag of KEY=VALUE:EFFECT items.
type taints struct {
	to      *[]corev1.Taint
	changed bool
}

func (t *taints) Type() string { return "taints" }

func (t *taints) String() string {
	if t.to == nil {
		return ""
	}
	var list []string
	for _, taint := range *t.to {
		list = append(list, taint.Key+"="+taint.Value+":"+string(taint.Effect))
	}
	return strings.Join(list, ",")
}

func (t *taints) Set(text string) error {
	if !t.changed {
		*t.to, t.changed = nil, true
	}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		kv, effect, ok := strings.Cut(part, ":")
		key, value, _ := strings.Cut(kv, "=")
		if !ok || key == "" {
			return fmt.Errorf("%q: want KEY=VALUE:EFFECT", part)
		}
		*t.to = append(*t.to, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return nil
}

// headers is a flag of NAME:VALUE items.
type headers struct {
	to      *map[string][]string
	changed bool
}

func (h *headers) Type() string { return "colonSeparatedMultimapStringString" }

func (h *headers) String() string {
	if h.to == nil {
		return ""
	}
	var list []string
	for _, k := range slices.Sorted(maps.Keys(*h.to)) {
		for _, v := range (*h.to)[k] {
			list = append(list, k+":"+v)
		}
	}
	return strings.Join(list, ",")
}

func (h *headers) Set(text string) error {
	if !h.changed || *h.to == nil {
		*h.to, h.changed = map[string][]string{}, true
	}
	for part := range strings.SplitSeq(text, ",") {
		if part == "" {
			continue
		}
		k, v, ok := strings.Cut(part, ":")
		if !ok {
			return fmt.Errorf("%q: want NAME:VALUE", part)
		}
		k = strings.TrimSpace(k)
		(*h.to)[k] = append((*h.to)[k], strings.TrimSpace(v))
	}
	return nil
}

// reservations is a flag of NODE:NAME=AMOUNT,... separated by semicolons.
type reservations struct {
	to      *[]kubeletconfig.MemoryReservation
	changed bool
}

func (r *reservations) Type() string { return "reserved-memory" }

func (r *reservations) String() string {
	if r.to == nil {
		return ""
	}
	var list []string
	for _, one := range *r.to {
		var limits []string
		for _, name := range slices.Sorted(maps.Keys(one.Limits)) {
			q := one.Limits[name]
			limits = append(limits, string(name)+"="+q.String())
		}
		list = append(list, strconv.Itoa(int(one.NumaNode))+":"+strings.Join(limits, ","))
	}
	return strings.Join(list, ";")
}

func (r *reservations) Set(text string) error {
	if !r.changed {
		*r.to, r.changed = nil, true
	}
	for part := range strings.SplitSeq(text, ";") {
		number, limits, ok := strings.Cut(part, ":")
		node, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
		if !ok || err != nil || node < 0 {
			return fmt.Errorf("%q: want NODE:NAME=AMOUNT,...", part)
		}
		one := kubeletconfig.MemoryReservation{NumaNode: int32(node), Limits: corev1.ResourceList{}}
		for limit := range strings.SplitSeq(limits, ",") {
			name, amount, ok := strings.Cut(limit, "=")
			q, err := resource.Parse(strings.TrimSpace(amount))
			if !ok || err != nil {
				return fmt.Errorf("%q: want NODE:NAME=AMOUNT,...", part)
			}
			one.Limits[corev1.ResourceName(strings.TrimSpace(name))] = q
		}
		*r.to = append(*r.to, one)
	}
	return nil
}
