package kubelet

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// staticUID is the UID of a static pod whose manifest has none. The real kubelet computes the same, so that
// either may go on with the other's containers: a sum of the pod with its defaults, as Go's types of it print
// in Kubernetes 1.36.3 (pkg/kubelet/config/common.go and pkg/util/hash/hash.go), and of where it comes from.
// text is the pod in the manifest, as decoded JSON.
func staticUID(pod *corev1.Pod, text any, origin string) types.UID {
	h := fnv.New128a()
	p := podPrinter{out: h, spec: reflect.ValueOf(&pod.Spec).Elem()}
	p.value(reflect.ValueOf(pod), text, false)
	_, _ = io.WriteString(h, origin)
	return types.UID(hex.EncodeToString(h.Sum(nil)))
}

// manifestTree is a manifest as decoded JSON, with its numbers as they are written.
func manifestTree(manifest []byte) (tree any, err error) {
	b, err := codec.YAMLToJSON(manifest)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	err = d.Decode(&tree)
	return tree, err
}

// podPrinter prints a pod with the names of types and fields, as %#v of package spew does in the real
// kubelet. Where a quantity is held in one of several ways, the way depends on how the manifest writes it.
type podPrinter struct {
	out  io.Writer
	spec reflect.Value // of the pod
	// milli is true within what is rounded up to thousandths.
	milli bool
}

// The types whose fields have another order in the real kubelet than in the API, or are another type's there.
var printedFields = map[reflect.Type][]string{
	reflect.TypeFor[corev1.PodSpec](): strings.Fields(`Volumes InitContainers Containers EphemeralContainers RestartPolicy
		TerminationGracePeriodSeconds ActiveDeadlineSeconds DNSPolicy NodeSelector ServiceAccountName AutomountServiceAccountToken
		NodeName SecurityContext ImagePullSecrets Hostname Subdomain SetHostnameAsFQDN Affinity SchedulerName Tolerations HostAliases
		PriorityClassName Priority PreemptionPolicy DNSConfig ReadinessGates RuntimeClassName Overhead EnableServiceLinks
		TopologySpreadConstraints OS SchedulingGates ResourceClaims Resources HostnameOverride SchedulingGroup`),
	reflect.TypeFor[corev1.PodSecurityContext](): strings.Fields(`HostNetwork HostPID HostIPC ShareProcessNamespace HostUsers
		SELinuxOptions WindowsOptions RunAsUser RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup
		FSGroupChangePolicy Sysctls SeccompProfile AppArmorProfile SELinuxChangePolicy`),
	reflect.TypeFor[corev1.PodStatus](): strings.Fields(`ObservedGeneration Phase Conditions Message Reason NominatedNodeName HostIP
		HostIPs PodIPs StartTime QOSClass InitContainerStatuses ContainerStatuses EphemeralContainerStatuses Resize
		ResourceClaimStatuses ExtendedResourceClaimStatus AllocatedResources Resources NodeAllocatableResourceClaimStatuses`),
	reflect.TypeFor[corev1.VolumeSource](): strings.Fields(`HostPath EmptyDir GCEPersistentDisk AWSElasticBlockStore GitRepo Secret NFS
		ISCSI Glusterfs PersistentVolumeClaim RBD Quobyte FlexVolume Cinder CephFS Flocker DownwardAPI FC AzureFile ConfigMap
		VsphereVolume AzureDisk PhotonPersistentDisk Projected PortworxVolume ScaleIO StorageOS CSI Ephemeral Image`),
}

// printedNames gives packages of types the names that they have in the real kubelet.
var printedNames = strings.NewReplacer("corev1.", "core.", "metav1.", "v1.")

func (p *podPrinter) print(format string, args ...any) { _, _ = fmt.Fprintf(p.out, format, args...) }

// value prints a value, with its type unless that is known from around it. text is the value in the manifest,
// nil if it is not there.
func (p *podPrinter) value(v reflect.Value, text any, untyped bool) {
	t := v.Type()
	if !untyped {
		p.print("(%s)", printedNames.Replace(t.String()))
	}
	if t == reflect.TypeFor[time.Time]() && !v.IsZero() {
		v = reflect.ValueOf(v.Interface().(time.Time).Local())
	}
	switch t.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			p.print("<nil>")
		} else {
			p.value(v.Elem(), text, true)
		}
	case reflect.Struct:
		p.object(v, text)
	case reflect.Slice:
		p.list(v, text)
	case reflect.Map:
		p.table(v, text)
	case reflect.Bool:
		p.print("%t", v.Bool())
	case reflect.String:
		p.print("%s", v.String())
	default:
		if v.CanInt() {
			p.print("%d", v.Int())
		} else {
			p.print("%d", v.Uint())
		}
	}
}

func (p *podPrinter) list(v reflect.Value, text any) {
	if v.IsNil() {
		p.print("<nil>")
		return
	}
	texts, _ := text.([]any)
	p.print("[")
	for i := range v.Len() {
		if i > 0 {
			p.print(" ")
		}
		var item any
		if i < len(texts) {
			item = texts[i]
		}
		p.value(v.Index(i), item, true)
	}
	p.print("]")
}

func (p *podPrinter) table(v reflect.Value, text any) {
	if v.IsNil() {
		p.print("<nil>")
		return
	}
	p.milli = v.Type() == reflect.TypeFor[corev1.ResourceList]()
	defer func() { p.milli = false }()
	texts, _ := text.(map[string]any)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	p.print("map[")
	for i, key := range keys {
		if i > 0 {
			p.print(" ")
		}
		p.print("%s:", key.String())
		p.value(v.MapIndex(key), texts[key.String()], true)
	}
	p.print("]")
}

func (p *podPrinter) object(v reflect.Value, text any) {
	t := v.Type()
	switch t {
	case reflect.TypeFor[resource.Quantity]():
		p.quantity(v.Interface().(resource.Quantity), text)
		return
	case reflect.TypeFor[metav1.TypeMeta]():
		v = reflect.Zero(t) // it goes with the version of the API
	}
	texts, _ := text.(map[string]any)
	if t == reflect.TypeFor[corev1.ResourceRequirements]() {
		texts = withRequests(texts)
	}
	names := printedFields[t]
	if names == nil {
		for i := range t.NumField() {
			names = append(names, t.Field(i).Name)
		}
	}
	p.print("{")
	for i, name := range names {
		if i > 0 {
			p.print(" ")
		}
		p.print("%s:", name)
		f, ok := t.FieldByName(name)
		if !ok {
			p.value(p.spec.FieldByName(name), nil, false)
			continue
		}
		field, inner := v.FieldByIndex(f.Index), any(texts)
		if key, _, _ := strings.Cut(f.Tag.Get("json"), ","); key != "" {
			inner = texts[key]
		}
		if t == reflect.TypeFor[corev1.ServiceAccountTokenProjection]() && field.Kind() == reflect.Pointer && !field.IsNil() {
			field = field.Elem()
		}
		p.value(field, inner, false)
	}
	p.print("}")
}

// withRequests adds the requests that are defaults to the text of resources: what is limited only is
// requested, too.
func withRequests(text map[string]any) map[string]any {
	limits, _ := text["limits"].(map[string]any)
	given, _ := text["requests"].(map[string]any)
	requests := map[string]any{}
	for name, q := range limits {
		requests[name] = q
	}
	for name, q := range given {
		requests[name] = q
	}
	return map[string]any{"limits": text["limits"], "requests": requests}
}

// quantity prints the fields of a quantity after it has been parsed from text, and rounded if p.milli is set.
func (p *podPrinter) quantity(q resource.Quantity, text any) {
	written := ""
	switch text := text.(type) {
	case string:
		written = strings.TrimSpace(text)
	case json.Number:
		written = text.String()
	}
	if was, err := resource.Parse(written); err != nil || p.rounded(was).Cmp(q) != 0 {
		written = "" // it was computed, of several perhaps
		if !q.IsZero() || q.Format() != "" {
			h := heldAs(q.String(), q.Format())
			h.canonical = ""
			p.held(h)
			return
		}
	}
	if written == "" {
		p.held(heldQuantity{})
		return
	}
	p.held(heldAs(written, q.Format()))
}

func (p *podPrinter) rounded(q resource.Quantity) resource.Quantity {
	if p.milli {
		q.RoundUp(resource.Milli)
	}
	return q
}

// heldQuantity are the fields of a quantity in the real kubelet: the number is value times a power of ten, or
// else large over a power of ten.
type heldQuantity struct {
	value     int64
	scale     int32
	large     *big.Int
	canonical string // as it was written, if that is how it would be printed
	format    resource.Format
}

// held prints h, rounded up to thousandths where p says so.
func (p *podPrinter) held(h heldQuantity) {
	if milli := int32(resource.Milli); p.milli && h.large == nil && h.scale < milli {
		unit := int64(1)
		for ; h.scale < milli; h.scale++ {
			unit *= 10
		}
		up := unit - 1
		if h.value < 0 {
			up = -up
		}
		h.value, h.canonical = (h.value+up)/unit, ""
	}
	scale := h.scale
	if h.large != nil {
		scale = 0
	}
	p.print("{i:(resource.int64Amount){value:(int64)%d scale:(resource.Scale)%d} d:(resource.infDecAmount){Dec:(*inf.Dec)", h.value, scale)
	if h.large == nil {
		p.print("<nil>")
	} else {
		unscaled, places := h.decimal(p.milli)
		p.print("{unscaled:")
		p.value(reflect.ValueOf(unscaled).Elem(), nil, false)
		p.print(" scale:(inf.Scale)%d}", places)
	}
	p.print("} s:(string)%s Format:(resource.Format)%s}", h.canonical, h.format)
}

// decimal returns large as the real kubelet holds it: in units of a billionth, or of a thousandth if it is
// rounded to those. Zero keeps the places that it was written with, and amounts with a binary suffix have a
// maximum, in whole units.
func (h *heldQuantity) decimal(milli bool) (unscaled *big.Int, places int32) {
	n, scale, places := h.large, h.scale, int32(9)
	most := big.NewInt(math.MaxInt64)
	switch {
	case n.Sign() == 0:
		places = -scale
	case h.format == resource.BinarySI && n.CmpAbs(shift(most, -scale)) > 0:
		if n.Sign() < 0 {
			most.Neg(most)
		}
		n, scale, places = most, 0, 0
	}
	if milli {
		places = 3
	}
	if n.Sign() == 0 {
		return new(big.Int), places // its digits are nil, which is printed
	}
	return shift(n, scale+places), places
}

// shift is n times 10 to the power of places, rounded away from zero.
func shift(n *big.Int, places int32) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil)
	if places >= 0 {
		return unit.Mul(unit, n)
	}
	q, rest := new(big.Int).QuoRem(n, unit, new(big.Int))
	return q.Add(q, big.NewInt(int64(rest.Sign())))
}

// heldAs is how a quantity that is written so is held.
func heldAs(written string, format resource.Format) heldQuantity {
	if written == "0" {
		return heldQuantity{canonical: written, format: format}
	}
	unsigned := strings.TrimLeft(written, "+-")
	end := strings.IndexFunc(unsigned, func(r rune) bool { return r != '.' && (r < '0' || r > '9') })
	if end < 0 {
		end = len(unsigned)
	}
	whole, places, _ := strings.Cut(unsigned[:end], ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	digits, suffix := whole+places, unsigned[end:]
	n, _ := new(big.Int).SetString(digits, 10) // they are digits
	if strings.HasPrefix(written, "-") {
		n.Neg(n)
	}
	h := heldQuantity{scale: int32(-len(places)), format: format}
	if i := strings.Index("KiMiGiTiPiEi", suffix); suffix != "" && strings.HasSuffix(suffix, "i") {
		bits := uint(i/2+1) * 10
		large := n.Int64()
		if n.Lsh(n, bits); places == "" && 15-len(digits)-int(float32(bits)*3/10)-1 >= 0 {
			h.value = n.Int64()
			if large&7 != 0 {
				h.canonical = written
			}
			return h
		}
		h.large = n
		return h
	}
	h.scale += exponentOf(suffix)
	if len(digits) > 18 || h.scale < int32(resource.Nano) {
		h.large = n
		return h
	}
	h.value = n.Int64()
	if h.scale%3 == 0 && !strings.HasSuffix(digits, "000") && digits[0] != '0' {
		h.canonical = written
	}
	return h
}

// exponentOf is the power of ten that a decimal suffix stands for.
func exponentOf(suffix string) int32 {
	if i := slices.Index([]string{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"}, suffix); i >= 0 {
		return int32(i-3) * 3
	}
	n, _ := strconv.ParseInt(suffix[1:], 10, 32) // e3 or E3, which has been parsed before
	return int32(n)
}
