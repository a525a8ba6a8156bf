package client

import (
	"context"
	"fmt"

	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// LastChange returns the resourceVersion of the last change of any object of the resource, in all namespaces.
// A copy at that version or a later one (see informers.Lister.AtLeast) is as current as a list that begins
// now, at the cost of one object whatever their number. It is a list of one object of the namespace, for
// which the caller needs the right to list there.
//
// ok is false if the server does not report it: only Keelson's does, for the resources that it stores.
func (c *Client[T]) LastChange(ctx context.Context, namespace string) (version string, ok bool, err error) {
	if c.err != nil {
		return "", false, c.err
	}
	r := c.request("GET", types.NamespacedName{Namespace: namespace}, "")
	r.Query = ListOptions{Limit: 1}.query()
	r.Header = map[string]string{metav1.LastChangeHeader: "true"}
	resp, err := c.do(ctx, r)
	if err != nil {
		return "", false, fmt.Errorf("client: last change of %s: %w", c.res.GVR.GroupResource(), err)
	}
	version, ok = resp.Header[metav1.LastChangeHeader]
	return version, ok, nil
}
