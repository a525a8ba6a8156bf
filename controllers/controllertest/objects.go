package controllertest

import (
	"context"

	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// These functions are the ones of client.Client for tests: as an administrator, and an error fails the test.

// Name is the metadata of an object without labels. The namespace is empty for cluster-wide objects.
func Name(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Admin is the cluster's administrative connection.
func (c *Cluster) Admin() client.Conn { return c.conn }

// Create creates obj and returns it as stored.
func Create[T metav1.Object](c *Cluster, obj T) T {
	c.t.Helper()
	out, err := client.For[T](c.conn).Create(context.Background(), obj)
	if err != nil {
		c.t.Fatalf("create %T %v: %v", obj, metav1.KeyOf(obj), err)
	}
	return out
}

// Get returns the object as the store has it.
func Get[T metav1.Object](c *Cluster, namespace, name string) T {
	c.t.Helper()
	out, err := client.For[T](c.conn).Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil {
		c.t.Fatalf("get %T %s/%s: %v", out, namespace, name, err)
	}
	return out
}

// Exists reports whether the object is there.
func Exists[T metav1.Object](c *Cluster, namespace, name string) bool {
	c.t.Helper()
	out, err := client.For[T](c.conn).Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: name})
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Fatalf("get %T %s/%s: %v", out, namespace, name, err)
	}
	return err == nil
}

// List returns the objects of a namespace, or all with namespace "", ordered by key.
func List[T metav1.Object](c *Cluster, namespace string) []T {
	c.t.Helper()
	list, err := client.For[T](c.conn).List(context.Background(), client.ListOptions{Namespace: namespace})
	if err != nil {
		var zero T
		c.t.Fatalf("list %T in %q: %v", zero, namespace, err)
	}
	return list.Items
}

// Update changes the object with edit and writes it, again if it changed meanwhile.
func Update[T metav1.Object](c *Cluster, namespace, name string, edit func(T)) T {
	c.t.Helper()
	out, err := client.Update(context.Background(), client.For[T](c.conn), types.NamespacedName{Namespace: namespace, Name: name},
		func(obj T) error { edit(obj); return nil })
	if err != nil {
		c.t.Fatalf("update %T %s/%s: %v", out, namespace, name, err)
	}
	return out
}

// UpdateStatus is Update for the status subresource.
func UpdateStatus[T metav1.Object](c *Cluster, namespace, name string, edit func(T)) T {
	c.t.Helper()
	api := client.For[T](c.conn)
	for {
		obj := Get[T](c, namespace, name)
		edit(obj)
		out, err := api.UpdateStatus(context.Background(), obj)
		if err == nil {
			return out
		}
		if !apierrors.IsConflict(err) {
			c.t.Fatalf("update the status of %T %s/%s: %v", obj, namespace, name, err)
		}
	}
}

// Delete deletes the object.
func Delete[T metav1.Object](c *Cluster, namespace, name string, o ...client.DeleteOptions) {
	c.t.Helper()
	if err := client.For[T](c.conn).Delete(context.Background(), types.NamespacedName{Namespace: namespace, Name: name}, o...); err != nil {
		var zero T
		c.t.Fatalf("delete %T %s/%s: %v", zero, namespace, name, err)
	}
}

// Watch calls see, from one goroutine and in order, with every object there is and every change after, until
// the test ends. It returns when the watch is open. In a bubble Settle waits for it too.
func Watch[T metav1.Object](c *Cluster, namespace string, see func(client.Event[T])) {
	c.t.Helper()
	api := client.For[T](c.conn)
	list, err := api.List(context.Background(), client.ListOptions{Namespace: namespace})
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
