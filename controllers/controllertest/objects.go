package controllertest

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// The functions of this file act as an administrator and fail the test on errors, with the history of the
// object.

// Name returns object metadata with a namespace, empty for cluster-scoped objects, and a name.
func Name(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Admin returns a connection as an administrator.
func (c *Cluster) Admin() client.Conn { return c.conn }

// Create creates obj and returns it as stored.
func Create[T metav1.Object](c *Cluster, obj T) T {
	c.t.Helper()
	m := metav1.MetaOf(obj)
	ask[T](c, m.Namespace, m.Name)
	out, err := client.For[T](c.conn).Create(c.context(), obj)
	if err != nil {
		c.fail("create %T %v: %v", obj, metav1.KeyOf(obj), err)
	}
	return out
}

// Get returns the stored object.
func Get[T metav1.Object](c *Cluster, namespace, name string) T {
	c.t.Helper()
	ask[T](c, namespace, name)
	out, err := client.For[T](c.conn).Get(c.context(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		c.fail("get %T %s/%s: %v", out, namespace, name, err)
	}
	return out
}

// Exists reports whether the object exists.
func Exists[T metav1.Object](c *Cluster, namespace, name string) bool {
	c.t.Helper()
	ask[T](c, namespace, name)
	out, err := client.For[T](c.conn).Get(c.context(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil && !apierrors.IsNotFound(err) {
		c.fail("get %T %s/%s: %v", out, namespace, name, err)
	}
	return err == nil
}

// List returns the objects of a namespace, or of all namespaces if it is empty, ordered by key.
func List[T metav1.Object](c *Cluster, namespace string) []T {
	c.t.Helper()
	list, err := client.For[T](c.conn).List(c.context(), client.ListOptions{Namespace: namespace})
	if err != nil {
		var zero T
		c.t.Fatalf("list %T in %q: %v", zero, namespace, err)
	}
	return list.Items
}

// Update changes the object with edit and writes it. On conflicts it retries with the current object.
func Update[T metav1.Object](c *Cluster, namespace, name string, edit func(T)) T {
	c.t.Helper()
	ask[T](c, namespace, name)
	out, err := client.Update(c.context(), client.For[T](c.conn), types.NamespacedName{Namespace: namespace, Name: name},
		func(obj T) error { edit(obj); return nil })
	if err != nil {
		c.fail("update %T %s/%s: %v", out, namespace, name, err)
	}
	return out
}

// UpdateStatus is like Update for the status subresource.
func UpdateStatus[T metav1.Object](c *Cluster, namespace, name string, edit func(T)) T {
	c.t.Helper()
	ask[T](c, namespace, name)
	api := client.For[T](c.conn)
	for {
		obj := Get[T](c, namespace, name)
		edit(obj)
		out, err := api.UpdateStatus(c.context(), obj)
		if err == nil {
			return out
		}
		if !apierrors.IsConflict(err) {
			c.fail("update the status of %T %s/%s: %v", obj, namespace, name, err)
		}
	}
}

// Delete deletes the object.
func Delete[T metav1.Object](c *Cluster, namespace, name string, opts ...client.DeleteOptions) {
	c.t.Helper()
	ask[T](c, namespace, name)
	if err := client.For[T](c.conn).Delete(c.context(), types.NamespacedName{Namespace: namespace, Name: name}, opts...); err != nil {
		var zero T
		c.fail("delete %T %s/%s: %v", zero, namespace, name, err)
	}
}

// Watch calls see with an Added event for each existing object and then with every change, in order and from
// one goroutine at a time, until the test ends. It returns when the watch is established. In a bubble Settle
// waits for the calls.
func Watch[T metav1.Object](c *Cluster, namespace string, see func(client.Event[T])) {
	c.t.Helper()
	api := client.For[T](c.conn)
	list, err := api.List(c.context(), client.ListOptions{Namespace: namespace})
	if err != nil {
		var zero T
		c.t.Fatalf("watch %T in %q: %v", zero, namespace, err)
	}
	for _, obj := range list.Items {
		see(client.Event[T]{Type: client.Added, Object: obj})
	}
	c.background("watch", func(ctx context.Context) error {
		for e, err := range api.Watch(ctx, client.WatchOptions{Namespace: namespace, ResourceVersion: list.ResourceVersion}) {
			if err != nil {
				return err
			}
			see(e)
		}
		return nil
	})
}
