package scheduler

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/controllers/internal/nodefit"
)

// Pod is a pod with what decisions need of it, computed once. It is immutable and may be used concurrently.
type Pod struct {
	pod           *corev1.Pod
	need, nonZero amounts
	// asked is what NodeResourcesFit counts for the pod when it scores: as upstream, nonZero of the
	// containers only, whatever the pod as a whole requests.
	asked    amounts
	priority int32
	// group is the PodGroup that it is scheduled with, without a name if there is none.
	group        types.NamespacedName
	ports        []hostPort
	affinity     podAffinity
	nodeSelector labels.Selector
	nodeAffinity *nodeTerms
	// pinned are the only nodes that the required node affinity allows, by name; nil if it names none.
	pinned []string
	spread []spreadConstraint
	// kinKey says what the cluster's default constraints depend on; see groupings.
	kinKey string
	images []string
	claims []claimUse
	// devices are the ResourceClaims that it uses.
	devices []deviceUse
	// features are those that nodes must declare.
	features []string
	// disks are the volumes that few pods may share; see sharedDisk.
	disks    []*corev1.Volume
	attaches bool
	// choiceKey and tolerationKey are equal for pods with equal node selectors and affinities, and equal
	// tolerations.
	choiceKey, tolerationKey string
}

// NewPod prepares a pod for decisions. It retains pod, which must not be modified.
func NewPod(pod *corev1.Pod) *Pod {
	p := &Pod{pod: pod, priority: priorityOf(pod), group: groupKey(pod)}
	p.need, p.nonZero = requestOf(pod)
	if p.asked = p.nonZero; wholeRequests(pod) {
		p.asked = sumOfContainers(pod, true, true)
	}
	p.ports = hostPorts(pod)
	if len(pod.Spec.NodeSelector) > 0 {
		p.nodeSelector = labels.SelectorFromSet(pod.Spec.NodeSelector)
	}
	p.nodeAffinity = compileNodeAffinity(pod)
	p.pinned = pinnedNodes(pod)
	p.affinity = compilePodAffinity(pod)
	p.choiceKey, p.tolerationKey = choiceKey(pod), tolerationKey(pod)
	p.spread = compileSpread(p)
	p.kinKey = kinKey(pod)
	p.images, p.features = imagesOf(pod), featuresOf(pod)
	p.claims, p.disks, p.devices, p.attaches = claimsOf(pod), disksOf(pod), devicesOf(pod), attaches(pod)
	return p
}

// Object returns the pod itself, which must not be modified.
func (p *Pod) Object() *corev1.Pod { return p.pod }

// Label returns the value of one of the pod's labels.
func (p *Pod) Label(key string) string { return p.pod.Labels[key] }

// Request returns how much the pod requests of a resource: CPU in thousandths, the others in their unit.
func (p *Pod) Request(name corev1.ResourceName) int64 { return p.need.of(name) }

type hostPort struct {
	ip, protocol string
	port         int32
}

// conflicts reports whether two host ports cannot be used on one node.
func (a hostPort) conflicts(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || a.ip == "0.0.0.0" || b.ip == "0.0.0.0")
}

// hostPorts are the ports of the containers that run for as long as the pod does.
func hostPorts(pod *corev1.Pod) (out []hostPort) {
	for _, c := range pod.Spec.Containers {
		out = appendPorts(out, pod, c.Ports)
	}
	for _, c := range pod.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			out = appendPorts(out, pod, c.Ports)
		}
	}
	return out
}

func appendPorts(out []hostPort, pod *corev1.Pod, ports []corev1.ContainerPort) []hostPort {
	for _, cp := range ports {
		hp := hostPort{cp.HostIP, string(cp.Protocol), cp.HostPort}
		if pod.Spec.HostNetwork && hp.port == 0 {
			hp.port = cp.ContainerPort
		}
		if hp.port <= 0 {
			continue
		}
		if hp.ip == "" {
			hp.ip = "0.0.0.0"
		}
		if hp.protocol == "" {
			hp.protocol = "TCP"
		}
		out = append(out, hp)
	}
	return out
}

func priorityOf(pod *corev1.Pod) int32 {
	if pod.Spec.Priority == nil {
		return 0
	}
	return *pod.Spec.Priority
}

// nodeTerms is a compiled node affinity.
type nodeTerms struct {
	// required is nil when nothing is required; otherwise one of them must match.
	required  []nodefit.Term
	preferred []weightedNodeTerm
}

type weightedNodeTerm struct {
	nodefit.Term
	weight int64
}

func compileNodeAffinity(pod *corev1.Pod) *nodeTerms {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil {
		return nil
	}
	return compileNodeTerms(pod.Spec.Affinity.NodeAffinity)
}

func compileNodeTerms(a *corev1.NodeAffinity) *nodeTerms {
	out := &nodeTerms{required: nodefit.CompileAll(a.RequiredDuringSchedulingIgnoredDuringExecution)}
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		out.preferred = append(out.preferred, weightedNodeTerm{nodefit.Compile(&p.Preference), int64(p.Weight)})
	}
	return out
}

func (t *nodeTerms) preference(n *corev1.Node) (sum int64) {
	for i := range t.preferred {
		if p := &t.preferred[i]; p.Matches(n) {
			sum += p.weight
		}
	}
	return sum
}

// matchesNode checks nodeSelector and required node affinity.
func (p *Pod) matchesNode(n *corev1.Node) bool {
	if len(p.pod.Spec.NodeSelector) > 0 && !p.nodeSelector.Matches(n.Labels) {
		return false
	}
	return p.nodeAffinity == nil || nodefit.MatchesAny(p.nodeAffinity.required, n)
}

// pinnedNodes are the nodes that the required node affinity names, if each of its terms names one, as in the
// pods of DaemonSets.
func pinnedNodes(pod *corev1.Pod) (names []string) {
	required := nodefit.Required(&pod.Spec)
	if required == nil {
		return nil
	}
	for _, t := range required.NodeSelectorTerms {
		i := slices.IndexFunc(t.MatchFields, func(f corev1.NodeSelectorRequirement) bool {
			return f.Key == "metadata.name" && f.Operator == corev1.NodeSelectorOpIn && len(f.Values) == 1
		})
		if i < 0 {
			return nil
		}
		if name := t.MatchFields[i].Values[0]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// keyBuilder writes values so that different lists of values have different texts.
type keyBuilder struct{ strings.Builder }

func (b *keyBuilder) add(values ...string) {
	for _, v := range values {
		b.WriteString(strconv.Itoa(len(v)))
		b.WriteByte(':')
		b.WriteString(v)
	}
}

func choiceKey(pod *corev1.Pod) string {
	required := nodefit.Required(&pod.Spec)
	if len(pod.Spec.NodeSelector) == 0 && required == nil {
		return ""
	}
	var b keyBuilder
	b.add(labels.SelectorFromSet(pod.Spec.NodeSelector).String())
	if required == nil {
		return b.String()
	}
	for _, t := range required.NodeSelectorTerms {
		b.WriteByte('|')
		for i, list := range [][]corev1.NodeSelectorRequirement{t.MatchExpressions, t.MatchFields} {
			for _, r := range list {
				b.add(strconv.Itoa(i), r.Key, string(r.Operator), strconv.Itoa(len(r.Values)))
				b.add(r.Values...)
			}
		}
	}
	return b.String()
}

func tolerationKey(pod *corev1.Pod) string {
	if len(pod.Spec.Tolerations) == 0 {
		return ""
	}
	var b keyBuilder
	for _, t := range pod.Spec.Tolerations {
		b.add(t.Key, string(t.Operator), t.Value, string(t.Effect))
	}
	return b.String()
}

// imagesOf are the images of the pod's containers and volumes, with their tags.
func imagesOf(pod *corev1.Pod) (out []string) {
	add := func(name string) {
		if strings.LastIndexByte(name, ':') <= strings.LastIndexByte(name, '/') {
			name += ":latest"
		}
		out = append(out, name)
	}
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			add(list[i].Image)
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.Image != nil {
			add(v.Image.Reference)
		}
	}
	return out
}
