package discovery

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/client"
)

// Version describes the build of a server.
type Version struct {
	Major        string `json:"major"`
	Minor        string `json:"minor"`
	GitVersion   string `json:"gitVersion"`
	GitCommit    string `json:"gitCommit"`
	GitTreeState string `json:"gitTreeState"`
	BuildDate    string `json:"buildDate"`
	GoVersion    string `json:"goVersion"`
	Compiler     string `json:"compiler"`
	Platform     string `json:"platform"`
}

// Version returns the server's version.
func (c *Client) Version(ctx context.Context) (Version, error) {
	var v Version
	resp, err := c.conn.Do(ctx, &client.Request{Path: "/version"})
	if err == nil {
		err = json.Unmarshal(resp.Body, &v)
	}
	if err != nil {
		return v, fmt.Errorf("discovery: version: %w", err)
	}
	return v, nil
}

// OpenAPIPaths returns the OpenAPI v3 documents of the server: group-version path such as "apis/apps/v1" to
// the path of the document, which contains a hash, so that the document may be cached forever.
func (c *Client) OpenAPIPaths(ctx context.Context) (map[string]string, error) {
	resp, err := c.conn.Do(ctx, &client.Request{Path: "/openapi/v3"})
	if err != nil {
		return nil, fmt.Errorf("discovery: openapi: %w", err)
	}
	var root struct {
		Paths map[string]struct {
			URL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(resp.Body, &root); err != nil {
		return nil, fmt.Errorf("discovery: openapi: %w", err)
	}
	out := make(map[string]string, len(root.Paths))
	for k, v := range root.Paths {
		out[k] = v.URL
	}
	return out, nil
}

// OpenAPI returns the OpenAPI v3 document of a group-version as JSON.
func (c *Client) OpenAPI(ctx context.Context, gv schema.GroupVersion) ([]byte, error) {
	paths, err := c.OpenAPIPaths(ctx)
	if err != nil {
		return nil, err
	}
	name := "apis/" + gv.String()
	if gv.Group == "" {
		name = "api/" + gv.Version
	}
	url, ok := paths[name]
	if !ok {
		return nil, &NoMatchError{What: "OpenAPI document " + name}
	}
	path, rawQuery, _ := strings.Cut(url, "?")
	r := &client.Request{Path: path}
	if k, v, ok := strings.Cut(rawQuery, "="); ok {
		r.Query = map[string][]string{k: {v}}
	}
	resp, err := c.conn.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("discovery: openapi %s: %w", name, err)
	}
	return resp.Body, nil
}

// OpenAPIV2 returns the OpenAPI v2 document of all kinds as JSON, which may have tens of megabytes. It is for
// tools that do not read v3.
func (c *Client) OpenAPIV2(ctx context.Context) ([]byte, error) {
	resp, err := c.conn.Do(ctx, &client.Request{Path: "/openapi/v2", Accept: client.MediaJSON})
	if err != nil {
		return nil, fmt.Errorf("discovery: openapi v2: %w", err)
	}
	return resp.Body, nil
}

// Schema returns the OpenAPI v3 schema of a kind as JSON, with unresolved references into its document.
func (c *Client) Schema(ctx context.Context, gvk schema.GroupVersionKind) (json.RawMessage, error) {
	doc, err := c.OpenAPI(ctx, gvk.GroupVersion())
	if err != nil {
		return nil, err
	}
	var d struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(doc, &d); err != nil {
		return nil, fmt.Errorf("discovery: openapi %s: %w", gvk.GroupVersion(), err)
	}
	for _, raw := range d.Components.Schemas {
		var s struct {
			Kinds []schema.GroupVersionKind `json:"x-kubernetes-group-version-kind"`
		}
		if json.Unmarshal(raw, &s) == nil {
			for _, k := range s.Kinds {
				if k == gvk {
					return raw, nil
				}
			}
		}
	}
	return nil, &NoMatchError{What: "schema of " + gvk.String()}
}
