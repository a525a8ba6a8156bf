package controllertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/manifest"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client/objects"
	"github.com/keelson-dev/keelson/client/wait"
)

// load creates the objects of the options, definitions and namespaces first, and waits until the definitions
// are served.
func (c *cluster) load(ctx context.Context) error {
	crds, err := read("CRDs", c.opts.CRDs)
	if err == nil && c.opts.CRDs != nil && !slices.ContainsFunc(crds, isDefinition) {
		err = errors.New("Options.CRDs contains no CustomResourceDefinition: use Options.Manifests for other objects")
	}
	if err != nil {
		return err
	}
	c.schema.crds = c.opts.CRDs
	if c.schema.definitions, err = definitionsOf(crds); err != nil {
		return err
	}
	others, err := read("Manifests", c.opts.Manifests)
	if err != nil {
		return err
	}
	hooks, err := read("Webhooks.Config", c.opts.Webhooks.Config, mutating, validating)
	if err != nil {
		return err
	}
	objs := slices.Concat(crds, others, hooks)
	for _, obj := range objs {
		if err := c.trust(obj); err != nil {
			return err
		}
	}
	all := objects.New(c.conn, objects.Options{Namespace: metav1.NamespaceDefault})
	ctx, cancel := context.WithTimeoutCause(ctx, 10*time.Second, errors.New("not served within 10 s"))
	defer cancel()
	if _, err := all.CreateAll(ctx, objects.List(objs)); err != nil {
		return err
	}
	definitions := slices.DeleteFunc(objs, func(u *metav1.Unstructured) bool { return !isDefinition(u) })
	return all.WaitAll(ctx, objects.List(definitions), wait.ReadyOrFailed)
}

// read returns the objects of an option, which must have some unless it is nil.
func read(option string, f fs.FS, kinds ...string) ([]*metav1.Unstructured, error) {
	if f == nil {
		return nil, nil
	}
	list, err := manifests(f, kinds...)
	if err != nil {
		return nil, fmt.Errorf("Options.%s%s: %w", option, folder(f), err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("Options.%s%s contains no objects in files that end in .yaml, .yml or .json", option, folder(f))
	}
	return list, nil
}

// folder names the folder of an os.DirFS, for messages.
func folder(f fs.FS) string {
	if v := reflect.ValueOf(f); v.Kind() == reflect.String {
		return " (" + v.String() + ")"
	}
	return ""
}

func isDefinition(u *metav1.Unstructured) bool { return u.Kind == "CustomResourceDefinition" }

// manifests reads the objects of all files, or only those of the given kinds. Files that configure kustomize,
// which projects keep beside their manifests, hold no objects and are skipped.
func manifests(f fs.FS, kinds ...string) (out []*metav1.Unstructured, err error) {
	err = fs.WalkDir(f, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !manifest.IsManifest(name) || strings.HasPrefix(path.Base(name), "kustomiz") {
			return err
		}
		file, err := f.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		for obj, err := range manifest.All(file, name) {
			if err != nil {
				return err
			}
			if len(kinds) == 0 || slices.Contains(kinds, obj.Kind) {
				out = append(out, obj)
			}
		}
		return nil
	})
	return out, err
}
