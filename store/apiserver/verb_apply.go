package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

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
	form, read := "YAML", codec.YAMLToJSON
	if p.kind == types.ApplyCBORPatchType {
		form, read = "CBOR", cbor.ToJSON
	}
	data, err := read(p.data)
	if err != nil {
		return nil, apierrors.NewBadRequest("error decoding " + form + ": " + err.Error())
	}
	c := &configuration{force: boolParam(r.query, "force")}
	if err := codec.Unmarshal(data, &c.fields); err != nil {
		return nil, apierrors.NewBadRequest("error decoding " + form + ": " + err.Error())
	}
	if err := r.reportDuplicates(p); err != nil {
		return nil, err
	}
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

// reportDuplicates refuses or warns of duplicate keys in the configuration; the last one of each takes
// effect. JSON is YAML too, and is read as such if it has any.
func (r *request) reportDuplicates(p *patchRequest) error {
	if p.fv == fieldsIgnore || p.kind != types.ApplyYAMLPatchType {
		return nil
	}
	isJSON := bytes.HasPrefix(bytes.TrimSpace(p.data), []byte{'{'}) && json.Valid(p.data)
	if isJSON {
		if issues, err := duplicates(codec.UnmarshalOptions, p.data); err == nil && len(issues) == 0 {
			return nil
		}
	}
	issues, err := duplicates(codec.UnmarshalYAML, p.data)
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

func duplicates(read func([]byte, any, codec.DecodeOptions) ([]codec.FieldIssue, error), data []byte) ([]codec.FieldIssue, error) {
	var fields map[string]any
	issues, err := read(data, &fields, codec.DecodeOptions{Strict: true})
	return slices.DeleteFunc(issues, func(i codec.FieldIssue) bool { return i.Kind != codec.DuplicateField }), err
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
