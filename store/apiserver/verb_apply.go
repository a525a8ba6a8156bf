package apiserver

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/cbor"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/apimachinery/validation"
	"github.com/keelson-dev/keelson/store/registry"
)

// configuration is an applied object as the client sent it.
type configuration struct {
	fields map[string]any
	force  bool
	named  bool // the configuration has a name
}

// readConfiguration decodes the body of an apply. shape is an empty object of the kind, with which fields
// that do not belong are found; nil for kinds whose schema is checked elsewhere.
func (r *request) readConfiguration(p *patchRequest, gvk schema.GroupVersionKind, shape metav1.Object) (*configuration, error) {
	if r.query.Get("fieldManager") == "" {
		return nil, invalidOptions("PatchOptions", validation.Required(validation.NewPath("fieldManager"), "is required for apply patch"))
	}
	c, data, err := r.readFields(p)
	if err != nil {
		return nil, err
	}
	c.force = boolParam(r.query, "force")
	kind, _ := c.fields["kind"].(string)
	apiVersion, _ := c.fields["apiVersion"].(string)
	if kind == "" || apiVersion == "" {
		return nil, apierrors.NewBadRequest("an applied configuration must have apiVersion and kind")
	}
	if err := sameKind(schema.FromAPIVersionAndKind(apiVersion, kind), gvk); err != nil {
		return nil, err
	}
	if r.isCustom() && r.info.Subresource != "scale" {
		if err := r.checkDeclared(data, gvk); err != nil {
			return nil, err
		}
	}
	if shape != nil {
		issues, err := codec.UnmarshalOptions(data, shape, codec.DecodeOptions{Strict: p.fv != fieldsIgnore})
		if err != nil {
			return nil, apierrors.NewBadRequest(cannotHandle(gvk, err.Error()))
		}
		if err := r.report(issues, gvk, p.fv); err != nil {
			return nil, err
		}
	}
	return c, c.setName(types.NamespacedName{Namespace: r.info.Namespace, Name: r.info.Name})
}

// readFields decodes the body of an apply, and returns it as JSON too.
func (r *request) readFields(p *patchRequest) (*configuration, []byte, error) {
	c := &configuration{}
	if p.kind == types.ApplyYAMLPatchType && sameInYAML(p.data) {
		issues, err := codec.UnmarshalOptions(p.data, &c.fields, codec.DecodeOptions{Strict: true})
		if err == nil && len(issues) == 0 {
			return c, p.data, nil
		}
		c.fields = nil
	}
	form, read := "YAML", codec.YAMLToJSON
	if p.kind == types.ApplyCBORPatchType {
		form, read = "CBOR", cbor.ToJSON
	}
	data, err := read(p.data)
	if err == nil {
		err = codec.Unmarshal(data, &c.fields)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest("error decoding " + form + ": " + err.Error())
	}
	return c, data, r.reportDuplicates(p)
}

// exactDigits is how many digits an integer may have to be the same in YAML and JSON.
const exactDigits = 15

// sameInYAML reports whether data, if it is JSON, has the same meaning as YAML, which costs many times as
// much to parse. It is false for what the two may read differently: fractions, large integers, escapes by
// number, tabs, and characters that are line breaks in YAML or not allowed there.
func sameInYAML(data []byte) bool {
	data = bytes.TrimLeft(data, " \r\n")
	if len(data) == 0 || data[0] != '{' {
		return false
	}
	text, digits := false, 0 // whether within a string, and of a number so far
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == 0x7f, c < ' ' && c != '\r' && c != '\n':
			return false
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(data[i:])
			if r < 0xa0 || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r == 0xfeff || r == 0xfffe || r == 0xffff {
				return false
			}
			i += size - 1
		case c == '"':
			text, digits = !text, 0
		case text && c == '\\':
			if i++; i == len(data) || !bytes.ContainsRune([]byte(`"\nrt`), rune(data[i])) {
				return false
			}
		case text:
		case '0' <= c && c <= '9':
			if digits++; digits > exactDigits {
				return false
			}
		case digits > 0 && (c == '.' || c == 'e' || c == 'E'):
			return false
		default:
			digits = 0
		}
	}
	return true
}

// reportDuplicates refuses or warns of duplicate keys in the configuration; the last one of each takes
// effect.
func (r *request) reportDuplicates(p *patchRequest) error {
	if p.fv == fieldsIgnore || p.kind != types.ApplyYAMLPatchType {
		return nil
	}
	var fields map[string]any
	issues, err := codec.UnmarshalYAML(p.data, &fields, codec.DecodeOptions{Strict: true})
	issues = slices.DeleteFunc(issues, func(i codec.FieldIssue) bool { return i.Kind != codec.DuplicateField })
	switch {
	case err != nil:
		return apierrors.NewBadRequest("error decoding YAML: " + err.Error())
	case len(issues) > 0 && p.fv == fieldsStrict:
		return apierrors.NewBadRequest("error strict decoding YAML: error converting YAML to JSON: " + textOf(issues))
	}
	for _, issue := range issues {
		r.warn(issue.String())
	}
	return nil
}

// setName compares name and namespace with the path's, and fills them in.
func (c *configuration) setName(key types.NamespacedName) error {
	meta, ok := c.fields["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
		c.fields["metadata"] = meta
	}
	if name, _ := meta["name"].(string); name != "" && name != key.Name {
		return apierrors.NewBadRequest("the name in the configuration does not match the name on the URL (" + key.Name + ")")
	}
	if ns, _ := meta["namespace"].(string); ns != "" && key.Namespace != "" && ns != key.Namespace {
		return apierrors.NewBadRequest("the namespace in the configuration does not match the namespace on the URL (" + key.Namespace + ")")
	}
	c.named = meta["name"] != nil
	meta["name"] = key.Name
	return nil
}

// checkDeclared refuses a configuration of a custom resource with fields that its schema does not have: they
// cannot be owned.
func (r *request) checkDeclared(data []byte, gvk schema.GroupVersionKind) error {
	prune := r.rt.res.Definition().Prune
	if prune == nil {
		return nil
	}
	var obj metav1.Unstructured
	if err := codec.Unmarshal(data, &obj); err != nil {
		return apierrors.NewBadRequest("error decoding YAML: " + err.Error())
	}
	unknown := prune(&obj)
	if len(unknown) == 0 {
		return nil
	}
	text := "errors:"
	for _, path := range unknown {
		text += "\n  ." + path + ": field not declared in schema"
	}
	if len(unknown) == 1 {
		text = "." + unknown[0] + ": field not declared in schema"
	}
	return apierrors.NewBadRequest(fmt.Sprintf("failed to create typed patch object (%s/%s; %s): %s", obj.GetNamespace(), obj.GetName(), gvk, text))
}

// apply serves a server-side apply: it creates the object or merges the client's configuration into it.
func (s *Server) apply(rt *route, r *request, out output, p *patchRequest) {
	shape := rt.info.New()
	if rt.res.Definition().Custom {
		shape = nil
	}
	config, err := r.readConfiguration(p, rt.info.GVK, shape)
	if err != nil {
		r.fail(err)
		return
	}
	ctx, err := s.fenceContext(r)
	if err != nil {
		r.fail(err)
		return
	}
	opts := registry.UpdateOptions{Patch: true, Write: r.write(p.wo, patchOptions(r, p))}
	opts.Tracked = true
	if r.info.Subresource == "" {
		opts.Create = r.mayCreate
	}
	key := r.key(rt.info.Namespaced)
	obj, created, err := rt.res.Update(ctx, key, func(current registry.Current) (metav1.Object, error) {
		if current.Object == nil && !config.named {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", key.Name))
		}
		obj, err := rt.res.Apply(ctx, current, config.fields, opts.Write, config.force)
		if err == nil && current.Object == nil {
			obj.SetNamespace(key.Namespace)
		}
		return obj, err
	}, opts)
	if err != nil {
		r.fail(err)
		return
	}
	r.sendWritten(rt, out, obj, created)
}
