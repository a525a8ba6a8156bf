package kubelet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/informers"
)

// variable of a container's environment.
type variable struct{ name, value string }

// environment is what a container finds in its environment: services first, then envFrom, then env, each
// overriding those before.
func (k *Kubelet) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container, ips []string) ([]variable, error) {
	if !k.services.HasSynced() && !isStatic(pod.Annotations) {
		// A pod keeps its variables for life, and clients inside it find the API server by them. Static pods
		// cannot wait for the server.
		return nil, errors.New("services have not yet been read at least once, cannot construct envvars")
	}
	services := k.serviceVariables(pod)
	result := map[string]string{}
	var order []string
	set := func(name, value string) {
		if _, ok := result[name]; !ok {
			order = append(order, name)
		}
		result[name] = value
	}
	for _, from := range c.EnvFrom {
		data, err := k.envFrom(ctx, pod, &from)
		if err != nil {
			return nil, err
		}
		var invalid []string
		for _, key := range slices.Sorted(maps.Keys(data)) {
			name := from.Prefix + key
			if name == "" || strings.ContainsAny(name, "=\x00") {
				invalid = append(invalid, name)
				continue
			}
			set(name, data[key])
		}
		if len(invalid) > 0 {
			k.recorder.Event(pod, events.Warning, "InvalidEnvironmentVariableNames",
				fmt.Sprintf("Keys [%s] were skipped since they are considered invalid environment variable names.", strings.Join(invalid, ", ")))
		}
	}
	own := map[string]string{}
	lookup := func(name string) (string, bool) {
		if v, ok := own[name]; ok {
			return v, true
		}
		if v, ok := result[name]; ok {
			return v, true
		}
		v, ok := services[name]
		return v, ok
	}
	for i := range c.Env {
		e := &c.Env[i]
		value := expand(e.Value, lookup)
		if e.ValueFrom != nil {
			v, ok, err := k.valueFrom(ctx, pod, c, e, ips)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			value = v
		}
		own[e.Name] = value
		set(e.Name, value)
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if _, ok := result[name]; !ok {
			set(name, services[name])
		}
	}
	out := make([]variable, 0, len(order))
	for _, name := range order {
		out = append(out, variable{name, result[name]})
	}
	return out, nil
}

func (k *Kubelet) envFrom(ctx context.Context, pod *corev1.Pod, from *corev1.EnvFromSource) (map[string]string, error) {
	optional := func(o *bool, err error) (map[string]string, error) {
		if o != nil && *o && apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, err
	}
	switch {
	case from.ConfigMapRef != nil:
		cm, err := k.objects.configMaps.GetObject(ctx, pod.Namespace, from.ConfigMapRef.Name)
		if err != nil {
			return optional(from.ConfigMapRef.Optional, err)
		}
		return cm.Data, nil
	case from.SecretRef != nil:
		s, err := k.objects.secrets.GetObject(ctx, pod.Namespace, from.SecretRef.Name)
		if err != nil {
			return optional(from.SecretRef.Optional, err)
		}
		data := map[string]string{}
		for key, v := range s.Data {
			data[key] = string(v)
		}
		return data, nil
	}
	return nil, nil
}

// valueFrom is the value of a variable that refers to something. ok is false when it is optional and not
// there.
func (k *Kubelet) valueFrom(ctx context.Context, pod *corev1.Pod, c *corev1.Container, e *corev1.EnvVar, ips []string) (value string, ok bool, err error) {
	from := e.ValueFrom
	switch {
	case from.FieldRef != nil:
		v, err := k.podField(ctx, pod, from.FieldRef.FieldPath, ips)
		return v, true, err
	case from.ResourceFieldRef != nil:
		v, err := resourceField(pod, c, from.ResourceFieldRef, k.node.allocatable())
		return v, true, err
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		optional := r.Optional != nil && *r.Optional
		cm, err := k.objects.configMaps.GetObject(ctx, pod.Namespace, r.Name)
		if err != nil {
			if optional && apierrors.IsNotFound(err) {
				return "", false, nil
			}
			return "", false, err
		}
		v, ok := cm.Data[r.Key]
		if !ok && !optional {
			return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", r.Key, pod.Namespace, r.Name)
		}
		return v, ok, nil
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		optional := r.Optional != nil && *r.Optional
		s, err := k.objects.secrets.GetObject(ctx, pod.Namespace, r.Name)
		if err != nil {
			if optional && apierrors.IsNotFound(err) {
				return "", false, nil
			}
			return "", false, err
		}
		v, ok := s.Data[r.Key]
		if !ok && !optional {
			return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", r.Key, pod.Namespace, r.Name)
		}
		return string(v), ok, nil
	case from.FileKeyRef != nil:
		return k.fileValue(pod, from.FileKeyRef)
	}
	return "", false, errors.New("the source of the variable is not supported by this node")
}

// podField is a field of the pod as the downward API names it.
func (k *Kubelet) podField(ctx context.Context, pod *corev1.Pod, path string, ips []string) (string, error) {
	subscript := func(prefix string) (string, bool) {
		rest, ok := strings.CutPrefix(path, prefix+"['")
		if !ok || !strings.HasSuffix(rest, "']") {
			return "", false
		}
		return strings.TrimSuffix(rest, "']"), true
	}
	if key, ok := subscript("metadata.annotations"); ok {
		return pod.Annotations[key], nil
	}
	if key, ok := subscript("metadata.labels"); ok {
		return pod.Labels[key], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return k.opts.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		host, err := k.hostIPs(ctx)
		return first(host), err
	case "status.hostIPs":
		host, err := k.hostIPs(ctx)
		return strings.Join(host, ","), err
	case "status.podIP":
		return first(ips), nil
	case "status.podIPs":
		return strings.Join(ips, ","), nil
	}
	return "", fmt.Errorf("unsupported fieldPath: %v", path)
}

// formatMap writes key="value" lines in the order of keys.
func formatMap(m map[string]string) string {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%q\n", key, m[key])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// resourceField is a request or limit, in units of the divisor, rounded up. A limit that is not set is what
// the node has.
func resourceField(pod *corev1.Pod, c *corev1.Container, ref *corev1.ResourceFieldSelector, allocatable corev1.ResourceList) (string, error) {
	if ref.ContainerName != "" {
		if c = specOf(pod, ref.ContainerName); c == nil {
			return "", fmt.Errorf("container %s not found", ref.ContainerName)
		}
	}
	kind, name, ok := strings.Cut(ref.Resource, ".")
	if !ok || kind != "limits" && kind != "requests" {
		return "", fmt.Errorf("unsupported container resource: %v", ref.Resource)
	}
	resourceName := corev1.ResourceName(name)
	var q resource.Quantity
	if kind == "limits" {
		q = c.Resources.Limits[resourceName]
		if q.IsZero() {
			q = allocatable[resourceName]
		}
	} else {
		q = c.Resources.Requests[resourceName]
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	ceil := func(a, b int64) string { return strconv.FormatInt((a+b-1)/b, 10) }
	if resourceName == corev1.ResourceCPU {
		return ceil(q.MilliValue(), divisor.MilliValue()), nil
	}
	return ceil(q.Value(), max(divisor.Value(), 1)), nil
}

// serviceVariables announce the services of the pod's namespace, and the API server's in any case.
func (k *Kubelet) serviceVariables(pod *corev1.Pod) map[string]string {
	links := pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks
	vars := map[string]string{}
	// Services that cannot be read have no variables, as if they were made after the pod.
	var list []*corev1.Service // shared
	_ = k.services.Lister().View(types.NamespacedName{Namespace: "default", Name: "kubernetes"}, func(s *corev1.Service) { list = append(list, s) })
	if links {
		_ = k.services.Lister().ViewAll(informers.ListOptions{Namespace: pod.Namespace}, func(s *corev1.Service) bool {
			list = append(list, s)
			return true
		})
	}
	slices.SortStableFunc(list, func(a, b *corev1.Service) int { return cmp.Compare(a.Name, b.Name) })
	for _, s := range list {
		ip := s.Spec.ClusterIP
		if ip == "" || ip == "None" || len(s.Spec.Ports) == 0 {
			continue
		}
		name := strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
		vars[name+"_SERVICE_HOST"] = ip
		vars[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
		for i, p := range s.Spec.Ports {
			port := strconv.Itoa(int(p.Port))
			if p.Name != "" {
				vars[name+"_SERVICE_PORT_"+strings.ToUpper(strings.ReplaceAll(p.Name, "-", "_"))] = port
			}
			proto := cmp.Or(string(p.Protocol), "TCP")
			host := ip
			if strings.Contains(ip, ":") {
				host = "[" + ip + "]"
			}
			url := strings.ToLower(proto) + "://" + host + ":" + port
			if i == 0 {
				vars[name+"_PORT"] = url
			}
			prefix := name + "_PORT_" + port + "_" + strings.ToUpper(proto)
			vars[prefix], vars[prefix+"_PROTO"], vars[prefix+"_PORT"], vars[prefix+"_ADDR"] = url, strings.ToLower(proto), port, ip
		}
	}
	return vars
}

// expand replaces $(NAME) by values. $$ stands for $; what is unknown or not closed stays as it is.
func expand(text string, lookup func(string) (string, bool)) string {
	if !strings.Contains(text, "$") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		switch text[i+1] {
		case '$':
			b.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(text[i+2:], ')')
			if end < 0 {
				b.WriteString("$(")
				i++
				continue
			}
			name := text[i+2 : i+2+end]
			if v, ok := lookup(name); ok {
				b.WriteString(v)
			} else {
				b.WriteString("$(" + name + ")")
			}
			i += 2 + end
		default:
			b.WriteByte('$')
			b.WriteByte(text[i+1])
			i++
		}
	}
	return b.String()
}

func lookupIn(env []variable) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for _, e := range env {
			if e.name == name {
				return e.value, true
			}
		}
		return "", false
	}
}

func expandAll(list []string, env []variable) []string {
	var out []string
	for _, s := range list {
		out = append(out, expand(s, lookupIn(env)))
	}
	return out
}

// expandStrict is expand that refuses unknown names.
func expandStrict(text string, env []variable) (string, error) {
	missing := ""
	lookup := lookupIn(env)
	out := expand(text, func(name string) (string, bool) {
		v, ok := lookup(name)
		if !ok {
			missing = name
		}
		return v, ok
	})
	if missing != "" {
		return "", fmt.Errorf("missing value for %q", missing)
	}
	return out, nil
}
