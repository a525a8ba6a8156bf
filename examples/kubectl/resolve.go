package main

import (
	"cmp"
	"context"
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
	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/discovery"
)

// target is an argument of a command: a resource, and one object of it or, without a name, all that are
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

// lookUp finds the resource, or the resources of the category, with a name.
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
				return nil, err
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
		case manifest.IsManifest(path):
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
	for obj, err := range manifest.All(r, path) {
		if err != nil {
			return nil, err
		}
		doc, err := k.place(ctx, obj)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, doc)
	}
	return out, nil
}

// place determines resource and namespace of an object.
func (k *kubectl) place(ctx context.Context, obj *metav1.Unstructured) (document, error) {
	gvk := obj.GroupVersionKind()
	res, err := k.find.ForKind(ctx, gvk.GroupKind(), gvk.Version)
	if err != nil {
		return document{}, fmt.Errorf("no matches for kind %q in version %q (a definition to apply first?): %w", obj.Kind, obj.APIVersion, err)
	}
	if obj.Name == "" {
		return document{}, fmt.Errorf("a %s has no metadata.name", obj.Kind)
	}
	d := document{target: target{Resource: res, name: obj.Name}}
	if res.Namespaced {
		obj.Namespace = cmp.Or(obj.Namespace, k.namespace)
		d.namespace = obj.Namespace
	}
	d.body, err = codec.Marshal(obj)
	return d, err
}
