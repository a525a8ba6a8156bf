package corev1

import (
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/api/internal/check"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/validation"
)

func validateEnv(vars []EnvVar, volumes map[string]*Volume, p *path) validation.ErrorList {
	var r check.Report
	for i := range vars {
		v, q := &vars[i], p.Index(i)
		if v.Name == "" {
			r.Required(q.Child("name"), "")
		} else {
			r.Each(q.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))
		}
		r.Add(validateEnvSource(v, volumes, q.Child("valueFrom")))
	}
	return r.List()
}

func validateEnvSource(v *EnvVar, volumes map[string]*Volume, p *path) validation.ErrorList {
	var r check.Report
	s := v.ValueFrom
	if s == nil {
		return nil
	}
	n := 0
	if f := s.FieldRef; f != nil {
		n++
		r.Add(validateFieldRef(f, envFields(), p.Child("fieldRef")))
	}
	if f := s.ResourceFieldRef; f != nil {
		n++
		r.Add(validateResourceFieldRef(f, false, p.Child("resourceFieldRef")))
	}
	if k := s.ConfigMapKeyRef; k != nil {
		n++
		r.Add(validateKeyRef(k.Name, k.Key, p.Child("configMapKeyRef")))
	}
	if k := s.SecretKeyRef; k != nil {
		n++
		r.Add(validateKeyRef(k.Name, k.Key, p.Child("secretKeyRef")))
	}
	if k := s.FileKeyRef; k != nil {
		n++
		r.Add(validateFileKeyRef(k, volumes, p.Child("fileKeyRef")))
	}
	switch {
	case n == 0:
		r.Invalid(p, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case v.Value != "":
		r.Invalid(p, "", "may not be specified when `value` is not empty")
	case n > 1:
		r.Invalid(p, "", "may not have more than one field specified at a time")
	}
	return r.List()
}

func validateKeyRef(name, key string, p *path) validation.ErrorList {
	var r check.Report
	r.NonEmpty(p.Child("name"), name)
	if key == "" {
		r.Required(p.Child("key"), "")
	} else {
		r.Each(p.Child("key"), key, validation.IsConfigMapKey(key))
	}
	return r.List()
}

func validateFileKeyRef(k *FileKeySelector, volumes map[string]*Volume, p *path) validation.ErrorList {
	const maxKey = 128
	var r check.Report
	if k.Key == "" {
		r.Required(p.Child("key"), "")
	} else {
		r.Each(p.Child("key"), k.Key, validation.IsRelaxedEnvVarName(k.Key))
		if len(k.Key) > maxKey {
			r.TooLong(p.Child("key"), maxKey)
		}
	}
	r.NonEmpty(p.Child("volumeName"), k.VolumeName)
	if k.VolumeName != "" {
		if v := volumes[k.VolumeName]; v == nil {
			r.NotFound(p.Child("volumeName"), k.VolumeName)
		} else if v.EmptyDir == nil {
			r.Invalid(p.Child("volumeName"), k.VolumeName, "must be an emptyDir volume")
		}
	}
	if k.Path == "" {
		r.Required(p.Child("path"), "")
	} else {
		r.Add(descendingPath(k.Path, p.Child("path")))
	}
	return r.List()
}

func validateEnvFrom(sources []EnvFromSource, p *path) validation.ErrorList {
	var r check.Report
	for i := range sources {
		s, q := &sources[i], p.Index(i)
		if s.Prefix != "" {
			r.Each(q.Child("prefix"), s.Prefix, validation.IsRelaxedEnvVarName(s.Prefix))
		}
		n := 0
		if s.ConfigMapRef != nil {
			n++
			r.NonEmpty(q.Child("configMapRef", "name"), s.ConfigMapRef.Name)
		}
		if s.SecretRef != nil {
			n++
			r.NonEmpty(q.Child("secretRef", "name"), s.SecretRef.Name)
		}
		switch {
		case n == 0:
			r.Invalid(p, "", "must specify one of: `configMapRef` or `secretRef`")
		case n > 1:
			r.Invalid(p, "", "may not have more than one field specified at a time")
		}
	}
	return r.List()
}

// envFields are the pod's fields that a variable can take its value from.
func envFields() []string {
	return []string{
		"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
	}
}

// fileFields are the pod's fields that a file of a volume can show.
func fileFields() []string {
	return []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
}

// knownFields are all that a fieldRef may name at all, allowed at the place or not.
func knownFields() []string {
	return slices.Concat(envFields(), []string{
		"metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName", "spec.host", "status.phase",
	})
}

func validateFieldRef(f *ObjectFieldSelector, allowed []string, p *path) validation.ErrorList {
	var r check.Report
	if f.APIVersion == "" {
		r.Required(p.Child("apiVersion"), "")
		return r.List()
	}
	if f.FieldPath == "" {
		r.Required(p.Child("fieldPath"), "")
		return r.List()
	}
	q := p.Child("fieldPath")
	base, key, subscripted := strings.Cut(strings.TrimSuffix(f.FieldPath, "']"), "['")
	if subscripted = subscripted && strings.HasSuffix(f.FieldPath, "']"); !subscripted {
		base = f.FieldPath
	}
	switch {
	case f.APIVersion != "v1" || !slices.Contains(knownFields(), base):
		r.Invalid(q, f.FieldPath, "is not a field of a "+f.APIVersion+" pod that can be referred to")
	case subscripted && base == "metadata.annotations":
		r.Each(p, key, validation.IsQualifiedName(strings.ToLower(key)))
	case subscripted && base == "metadata.labels":
		r.Each(p, key, validation.IsQualifiedName(key))
	case subscripted:
		r.Invalid(p, base, "does not support subscript")
	default:
		if base == "spec.host" {
			base = "spec.nodeName"
		}
		check.OneOf(&r, q, base, allowed...)
	}
	return r.List()
}

func validateResourceFieldRef(f *ResourceFieldSelector, file bool, p *path) validation.ErrorList {
	var r check.Report
	if file && f.ContainerName == "" {
		r.Required(p.Child("containerName"), "")
		return r.List()
	}
	if f.Resource == "" {
		r.Required(p.Child("resource"), "")
		return r.List()
	}
	kind, name, _ := strings.Cut(f.Resource, ".")
	known := name == "cpu" || name == "memory" || name == "ephemeral-storage" || isHugePages(ResourceName(name))
	if kind != "limits" && kind != "requests" || !known {
		r.Add(validation.ErrorList{validation.NotSupported(p.Child("resource"), f.Resource, []string{
			"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory",
		})})
		return r.List()
	}
	if f.Divisor.IsZero() {
		return nil
	}
	divisors := []string{"1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"}
	if name == "cpu" {
		divisors = []string{"1m", "1"}
	}
	if !slices.ContainsFunc(divisors, func(d string) bool { return f.Divisor.Equal(resource.MustParse(d)) }) {
		r.Invalid(p.Child("divisor"), f.Divisor.String(), "only divisor's values "+strings.Join(divisors, ", ")+" are supported with "+name)
	}
	return r.List()
}
