package admission

import (
	"context"
	"fmt"
	"slices"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/nodev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1alpha2"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

// podOf returns the pod of a request on the pods resource itself.
func podOf(a *Attributes) (*corev1.Pod, bool) {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil, false
	}
	pod, ok := a.Object.(*corev1.Pod)
	return pod, ok
}

// alwaysPullImages makes every pod pull its images, so that a private image on a node is used only by pods
// with credentials for it.
type alwaysPullImages struct{ named }

func newAlwaysPullImages(Access) Plugin {
	return &alwaysPullImages{named{"AlwaysPullImages", []Operation{Create, Update}}}
}

func (p *alwaysPullImages) Admit(_ context.Context, a *Attributes) error {
	eachNewImage(a, func(_ string, policy *corev1.PullPolicy) { *policy = corev1.PullAlways })
	return nil
}

// Validate checks the result after the plugins that followed.
func (p *alwaysPullImages) Validate(_ context.Context, a *Attributes) error {
	var wrong validation.ErrorList
	eachNewImage(a, func(path string, policy *corev1.PullPolicy) {
		if *policy != corev1.PullAlways {
			wrong = append(wrong, validation.NotSupported(validation.NewPath(path), *policy, []string{string(corev1.PullAlways)}))
		}
	})
	if len(wrong) == 0 {
		return nil
	}
	return forbid(a, "%s", wrong)
}

// eachNewImage calls visit with the pull policies, and their paths, of the images that a request adds to a
// pod. The policies of images that the pod has pulled cannot be changed.
func eachNewImage(a *Attributes, f func(path string, policy *corev1.PullPolicy)) {
	pod, ok := podOf(a)
	if !ok && a.Resource == core("pods") && a.Subresource == "ephemeralcontainers" {
		pod, ok = a.Object.(*corev1.Pod)
	}
	if !ok {
		return
	}
	had := map[string]string{} // images by the kind and name of their container
	if old, ok := a.Old.(*corev1.Pod); ok {
		eachImage(old, func(_, name, image string, _ *corev1.PullPolicy) { had[name] = image })
	}
	eachImage(pod, func(path, name, image string, policy *corev1.PullPolicy) {
		if before, ok := had[name]; !ok || before != image {
			f(path, policy)
		}
	})
}

// eachImage calls visit with the images of a pod.
func eachImage(pod *corev1.Pod, f func(path, name, image string, policy *corev1.PullPolicy)) {
	visit := func(list string, i int, name, image string, policy *corev1.PullPolicy) {
		f(fmt.Sprintf("spec.%s[%d].imagePullPolicy", list, i), list+"/"+name, image, policy)
	}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		visit("initContainers", i, c.Name, c.Image, &c.ImagePullPolicy)
	}
	for i := range pod.Spec.Containers {
		c := &pod.Spec.Containers[i]
		visit("containers", i, c.Name, c.Image, &c.ImagePullPolicy)
	}
	for i := range pod.Spec.EphemeralContainers {
		c := &pod.Spec.EphemeralContainers[i]
		visit("ephemeralContainers", i, c.Name, c.Image, &c.ImagePullPolicy)
	}
	for i := range pod.Spec.Volumes {
		if img := pod.Spec.Volumes[i].Image; img != nil && img.Reference != "" {
			f(fmt.Sprintf("spec.volumes[%d].image.pullPolicy", i), "volumes/"+pod.Spec.Volumes[i].Name, img.Reference, &img.PullPolicy)
		}
	}
}

// defaultTolerations makes pods tolerate a node that is not ready or unreachable for five minutes.
type defaultTolerations struct{ named }

func newDefaultTolerations(Access) Plugin {
	return &defaultTolerations{named{"DefaultTolerationSeconds", []Operation{Create, Update}}}
}

func (p *defaultTolerations) Admit(_ context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	for _, key := range []string{"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"} {
		tolerated := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		})
		if !tolerated {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300))})
		}
	}
	return nil
}

// priority resolves priorityClassName to a number, and keeps the global default class unique.
type priority struct {
	named
	access Access
	groups bool
}

func newPriority(access Access, o Options) Plugin {
	return &priority{named{"Priority", []Operation{Create, Update}}, access, o.GroupPriority}
}

var priorityClasses = resource("scheduling.k8s.io", "v1", "priorityclasses")

func (p *priority) Admit(ctx context.Context, a *Attributes) error {
	if g, ok := a.Object.(*schedulingv1alpha2.PodGroup); ok && p.groups && a.Operation == Create && a.Subresource == "" {
		return p.admitGroup(ctx, a, g)
	}
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	if a.Operation == Update {
		old, ok := a.Old.(*corev1.Pod)
		if ok && pod.Spec.Priority == nil {
			pod.Spec.Priority = old.Spec.Priority
		}
		if ok && pod.Spec.PreemptionPolicy == nil {
			pod.Spec.PreemptionPolicy = old.Spec.PreemptionPolicy
		}
		return nil
	}
	class, err := p.classOf(ctx, a, pod.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	value, policy := int32(0), corev1.PreemptLowerPriority
	if class != nil {
		pod.Spec.PriorityClassName, value = class.Name, class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if given := pod.Spec.Priority; given != nil && *given != value {
		return apierrors.NewForbidden(core("pods").GroupResource(), pod.Name, fmt.Errorf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", *given, value))
	}
	if given := pod.Spec.PreemptionPolicy; given != nil && *given != policy {
		return apierrors.NewForbidden(core("pods").GroupResource(), pod.Name, fmt.Errorf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", *given, policy))
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
	return nil
}

// admitGroup resolves the class of a new group.
func (p *priority) admitGroup(ctx context.Context, a *Attributes, g *schedulingv1alpha2.PodGroup) error {
	class, err := p.classOf(ctx, a, g.Spec.PriorityClassName)
	if err != nil {
		return err
	}
	value := int32(0)
	if class != nil {
		g.Spec.PriorityClassName, value = class.Name, class.Value
	}
	if given := g.Spec.Priority; given != nil && *given != value {
		return forbid(a, "priority set in the pod group (%d) must match the priority computed (%d) based on the priority class set in the spec", *given, value)
	}
	g.Spec.Priority = &value
	return nil
}

// classOf is classFor of a request, which is refused if there is no such class.
func (p *priority) classOf(ctx context.Context, a *Attributes, name string) (*schedulingv1.PriorityClass, error) {
	class, err := p.classFor(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, forbid(a, "no PriorityClass with name %s was found", name)
	}
	return class, err
}

// Validate refuses a second global default.
func (p *priority) Validate(ctx context.Context, a *Attributes) error {
	class, ok := a.Object.(*schedulingv1.PriorityClass)
	if !ok || !class.GlobalDefault {
		return nil
	}
	was, err := p.classFor(ctx, "")
	if err != nil || was == nil || a.Operation == Update && was.Name == class.Name {
		return err
	}
	return forbid(a, "PriorityClass %s is already marked as default. Only one default can exist", was.Name)
}

// classFor returns the named class, or for no name the global default with the lowest value; nil if there is
// none.
func (p *priority) classFor(ctx context.Context, name string) (*schedulingv1.PriorityClass, error) {
	if name != "" {
		obj, err := p.access.Get(ctx, priorityClasses, types.NamespacedName{Name: name})
		if err != nil {
			return nil, err
		}
		return obj.(*schedulingv1.PriorityClass), nil
	}
	all, err := p.access.List(ctx, priorityClasses, "", labels.Everything())
	if err != nil {
		return nil, err
	}
	var best *schedulingv1.PriorityClass
	for _, obj := range all {
		if c := obj.(*schedulingv1.PriorityClass); c.GlobalDefault && (best == nil || c.Value < best.Value) {
			best = c
		}
	}
	return best, nil
}

// runtimeClass fills overhead and scheduling of a pod's RuntimeClass.
type runtimeClass struct {
	named
	access Access
}

func newRuntimeClass(access Access) Plugin {
	return &runtimeClass{named{"RuntimeClass", []Operation{Create}}, access}
}

func (p *runtimeClass) Admit(ctx context.Context, a *Attributes) error {
	pod, ok := podOf(a)
	if !ok {
		return nil
	}
	forbid := func(err error) error { return apierrors.NewForbidden(core("pods").GroupResource(), pod.Name, err) }
	if pod.Spec.RuntimeClassName == nil {
		if len(pod.Spec.Overhead) > 0 {
			return forbid(fmt.Errorf("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
		}
		return nil
	}
	obj, err := p.access.Get(ctx, resource("node.k8s.io", "v1", "runtimeclasses"), types.NamespacedName{Name: *pod.Spec.RuntimeClassName})
	if apierrors.IsNotFound(err) {
		return forbid(fmt.Errorf("pod rejected: RuntimeClass %q not found", *pod.Spec.RuntimeClassName))
	}
	if err != nil {
		return err
	}
	class := obj.(*nodev1.RuntimeClass)
	if o := class.Overhead; o != nil {
		if len(pod.Spec.Overhead) == 0 {
			pod.Spec.Overhead = corev1.ResourceList{}
			for k, v := range o.PodFixed {
				pod.Spec.Overhead[k] = v
			}
		} else if !equalResources(pod.Spec.Overhead, o.PodFixed) {
			return forbid(fmt.Errorf("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"))
		}
	} else if len(pod.Spec.Overhead) > 0 {
		return forbid(fmt.Errorf("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"))
	}
	if s := class.Scheduling; s != nil {
		for k, v := range s.NodeSelector {
			if have, ok := pod.Spec.NodeSelector[k]; ok && have != v {
				return forbid(fmt.Errorf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", k, v, k, have))
			}
			if pod.Spec.NodeSelector == nil {
				pod.Spec.NodeSelector = map[string]string{}
			}
			pod.Spec.NodeSelector[k] = v
		}
		for _, t := range s.Tolerations {
			if !slices.ContainsFunc(pod.Spec.Tolerations, func(have corev1.Toleration) bool {
				return have.Key == t.Key && have.Operator == t.Operator && have.Value == t.Value && have.Effect == t.Effect
			}) {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, t)
			}
		}
	}
	return nil
}

func equalResources(a, b corev1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		w, ok := b[k]
		if !ok || v.Cmp(w) != 0 {
			return false
		}
	}
	return true
}

// suffix returns five random characters, as in generated names.
func suffix(n uint64) string {
	const alphabet = "bcdfghjklmnpqrstvwxz2456789"
	var b [5]byte
	for i := range b {
		b[i] = alphabet[n%uint64(len(alphabet))]
		n /= uint64(len(alphabet))
	}
	return string(b[:])
}
