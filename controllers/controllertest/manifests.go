package controllertest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// load creates the objects of the options, definitions and namespaces first, and waits until the definitions
// are served.
func (c *Cluster) load() {
	c.t.Helper()
	var objs []*metav1.Unstructured
	read := func(option string, f fs.FS, kinds ...string) {
		c.t.Helper()
		if f == nil {
			return
		}
		list, err := manifests(f, kinds...)
		if err != nil {
			c.t.Fatalf("controllertest: Options.%s: %v", option, err)
		}
		if len(list) == 0 {
			c.t.Fatalf("controllertest: Options.%s contains no objects in files that end in .yaml, .yml or .json", option)
		}
		if option == "CRDs" && !slices.ContainsFunc(list, func(u *metav1.Unstructured) bool { return rank(u) == 0 }) {
			c.t.Fatalf("controllertest: Options.CRDs contains no CustomResourceDefinition: use Options.Manifests for other objects")
		}
		objs = append(objs, list...)
	}
	read("CRDs", c.opts.CRDs)
	read("Manifests", c.opts.Manifests)
	read("Webhooks.Config", c.opts.Webhooks.Config, mutating, validating)
	slices.SortStableFunc(objs, func(a, b *metav1.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	find := discovery.New(c.conn, discovery.Options{})
	for i, obj := range objs {
		c.trust(obj)
		if rank(obj) > 0 && i > 0 && rank(objs[i-1]) == 0 {
			c.waitEstablished()
		}
		if err := c.create(find, obj); err != nil {
			c.t.Fatalf("controllertest: %s %s: %v", obj.Kind, obj.Name, err)
		}
	}
	if len(objs) > 0 && rank(objs[len(objs)-1]) == 0 {
		c.waitEstablished()
	}
}

func rank(u *metav1.Unstructured) int {
	switch u.Kind {
	case "CustomResourceDefinition":
		return 0
	case "Namespace":
		return 1
	case mutating, validating:
		return 3 // so that they are not called for the other objects
	}
	return 2
}

func (c *Cluster) create(find *discovery.Client, obj *metav1.Unstructured) error {
	gv, err := schema.ParseGroupVersion(obj.APIVersion)
	if err != nil {
		return err
	}
	r, err := find.ForKind(context.Background(), schema.GroupKind{Group: gv.Group, Kind: obj.Kind}, gv.Version)
	if err != nil {
		return err
	}
	if r.Namespaced && obj.Namespace == "" {
		obj.Namespace = metav1.NamespaceDefault
	}
	_, err = client.ForResource[*metav1.Unstructured](c.conn, r.Client()).Create(context.Background(), obj)
	return err
}

// waitEstablished waits until every definition is served.
func (c *Cluster) waitEstablished() {
	c.t.Helper()
	waiting := ""
	for range 1000 {
		if c.bubble {
			idle()
		}
		waiting = ""
		for _, crd := range List[*apiextensionsv1.CustomResourceDefinition](c, "") {
			if !established(crd) {
				waiting = crd.Name
			}
		}
		if waiting == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatalf("controllertest: CustomResourceDefinition %s was not established within 10 s", waiting)
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue
	})
}

// manifests reads the objects of all files, or only those of the given kinds.
func manifests(f fs.FS, kinds ...string) (out []*metav1.Unstructured, err error) {
	err = fs.WalkDir(f, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(name)) {
			return err
		}
		data, err := fs.ReadFile(f, name)
		if err != nil {
			return err
		}
		for doc, err := range codec.SplitYAML(bytes.NewReader(data)) {
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			u := &metav1.Unstructured{}
			if _, err := codec.UnmarshalYAML(doc, u, codec.DecodeOptions{}); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			switch {
			case len(kinds) > 0 && !slices.Contains(kinds, u.Kind):
			case u.Kind == "" && len(u.Fields) == 0: // an empty document
			case u.Kind == "" || u.APIVersion == "":
				return fmt.Errorf("%s: an object without apiVersion or kind", name)
			case u.Kind == "Kustomization":
			default:
				out = append(out, u)
			}
		}
		return nil
	})
	return out, err
}
