package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// target is what a command works on: a resource, and one object of it or, without a name, all that are
// selected.
type target struct {
	*discovery.Resource
	namespace string
	name      string
}

// label is the resource as output names it, such as deployment.apps.
func (t *target) label() string {
	name := t.Singular
	if name == "" {
		name = strings.ToLower(t.GVK.Kind)
	}
	if t.GVR.Group != "" {
		name += "." + t.GVR.Group
	}
	return name
}

func (t *target) String() string { return t.label() + "/" + t.name }

func (t *target) request(method, subresource string) *client.Request {
	return &client.Request{Method: method, Resource: t.GVR, Namespace: t.namespace, Name: t.name, Subresource: subresource, Query: url.Values{}}
}

// targets reads arguments: TYPE, TYPE NAME..., TYPE/NAME..., and lists of types with commas, as kubectl does.
func (k *kubectl) targets(ctx context.Context, args []string, allNamespaces bool) ([]target, error) {
	if len(args) == 0 {
		return nil, usagef("you must say which kind of resource: TYPE, TYPE NAME or TYPE/NAME")
	}
	catalog, err := k.find.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	resolve := func(word, name string) ([]target, error) {
		found, err := k.lookUp(ctx, catalog, word)
		if err != nil {
			return nil, err
		}
		var out []target
		for i := range found {
			t := target{Resource: &found[i], name: name}
			if t.Namespaced && !allNamespaces {
				t.namespace = k.namespace
			}
			out = append(out, t)
		}
		return out, nil
	}
	var out []target
	if strings.Contains(args[0], "/") {
		for _, a := range args {
			word, name, ok := strings.Cut(a, "/")
			if !ok || word == "" || name == "" {
				return nil, usagef("there is no mixing of TYPE/NAME and other arguments: %q", a)
			}
			ts, err := resolve(word, name)
			if err != nil {
				return nil, err
			}
			out = append(out, ts...)
		}
		return out, nil
	}
	names := args[1:]
	if len(names) == 0 {
		names = []string{""}
	}
	for word := range strings.SplitSeq(args[0], ",") {
		for _, name := range names {
			if strings.Contains(name, "/") {
				return nil, usagef("there is no mixing of TYPE/NAME and other arguments: %q", name)
			}
			ts, err := resolve(word, name)
			if err != nil {
				return nil, err
			}
			out = append(out, ts...)
		}
	}
	if allNamespaces && slices.ContainsFunc(out, func(t target) bool { return t.name != "" && t.Namespaced }) {
		return nil, usagef("a resource cannot be retrieved by name across all namespaces")
	}
	return out, nil
}

// lookUp finds the resource, or the resources of the category, a word means.
func (k *kubectl) lookUp(ctx context.Context, catalog *discovery.Catalog, word string) ([]discovery.Resource, error) {
	if list := catalog.Category(word); len(list) > 0 {
		return slices.DeleteFunc(slices.Clone(list), func(r discovery.Resource) bool { return !r.HasVerb("list") }), nil
	}
	r, err := k.find.Find(ctx, word)
	if discovery.IsNoMatch(err) {
		return nil, fmt.Errorf("the server doesn't have a resource type %q", word)
	}
	if err != nil {
		return nil, err
	}
	return []discovery.Resource{*r}, nil
}

// document is one object of a file.
type document struct {
	target
	body []byte // JSON, with a namespace if it has one
}

// documents reads the objects of files, folders and "-", the standard input. Each must name its kind.
func (k *kubectl) documents(ctx context.Context, files []string, recursive bool) ([]document, error) {
	var out []document
	for _, file := range files {
		paths, err := expand(file, recursive)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			docs, err := k.documentsOf(ctx, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			out = append(out, docs...)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no objects passed")
	}
	return out, nil
}

func expand(file string, recursive bool) ([]string, error) {
	if file == "-" {
		return []string{"-"}, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{file}, nil
	}
	var out []string
	err = filepath.WalkDir(file, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			if path != file && !recursive {
				return filepath.SkipDir
			}
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)):
			out = append(out, path)
		}
		return nil
	})
	return out, err
}

func (k *kubectl) documentsOf(ctx context.Context, path string) ([]document, error) {
	var r io.Reader = k.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	var out []document
	for text, err := range codec.SplitYAML(r) {
		if err != nil {
			return nil, err
		}
		raw, err := codec.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		docs, err := k.parse(ctx, raw)
		if err != nil {
			return nil, err
		}
		out = append(out, docs...)
	}
	return out, nil
}

// parse finds out where an object belongs. A List stands for its items.
func (k *kubectl) parse(ctx context.Context, raw []byte) ([]document, error) {
	obj := map[string]any{}
	if err := codec.Unmarshal(raw, &obj); err != nil {
		return nil, err
	}
	kind, _ := obj["kind"].(string)
	apiVersion, _ := obj["apiVersion"].(string)
	if kind == "" || apiVersion == "" {
		return nil, errors.New("the object has no apiVersion or no kind")
	}
	if items, ok := obj["items"].([]any); ok && strings.HasSuffix(kind, "List") {
		var out []document
		for _, item := range items {
			raw, err := json.Marshal(item)
			if err != nil {
				return nil, err
			}
			docs, err := k.parse(ctx, raw)
			if err != nil {
				return nil, err
			}
			out = append(out, docs...)
		}
		return out, nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return nil, err
	}
	res, err := k.find.ForKind(ctx, schema.GroupKind{Group: gv.Group, Kind: kind}, gv.Version)
	if err != nil {
		return nil, fmt.Errorf("no matches for kind %q in version %q (a definition to apply first?): %w", kind, apiVersion, err)
	}
	meta, _ := obj["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if name == "" {
		return nil, fmt.Errorf("a %s has no metadata.name", kind)
	}
	d := document{target: target{Resource: res, name: name}}
	if res.Namespaced {
		ns, _ := meta["namespace"].(string)
		if ns == "" {
			ns = k.namespace
			meta["namespace"] = ns
		}
		d.namespace = ns
	}
	d.body, err = json.Marshal(obj)
	return []document{d}, err
}
