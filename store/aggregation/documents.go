package aggregation

import (
	"context"
	"net/http"
	"net/url"

	"github.com/keelson-dev/keelson/apimachinery/codec"
)

// readDocuments takes over the OpenAPI documents of the server, as far as they changed. A server without
// them, or whose documents cannot be read, is used all the same.
func (b *backend) readDocuments(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	b.mu.Lock()
	tag := b.v2Tag
	b.mu.Unlock()
	header := http.Header{"Accept": {"application/json"}}
	if tag != "" {
		header.Set("If-None-Match", tag)
	}
	changed := false
	resp, body, err := b.get(ctx, "/openapi/v2", aggregator, header)
	b.mu.Lock()
	switch {
	case err != nil && ctx.Err() == nil: // it has none
		changed, b.v2, b.v2Tag = b.v2 != nil, nil, ""
	case err == nil && resp.StatusCode == http.StatusOK && string(body) != string(b.v2):
		changed, b.v2, b.v2Tag = true, body, resp.Header.Get("Etag")
	}
	b.mu.Unlock()
	query, has := b.readV3(ctx)
	if ctx.Err() != nil {
		return
	}
	b.mu.Lock()
	changed = changed || query != b.v3 || has != b.hasV3
	b.v3, b.hasV3 = query, has
	b.mu.Unlock()
	if changed {
		b.aggregator.publishState()
	}
}

// readV3 returns the query of the address of the version's v3 document, and whether there is one.
func (b *backend) readV3(ctx context.Context) (query string, has bool) {
	_, body, err := b.get(ctx, "/openapi/v3", aggregator, http.Header{"Accept": {"application/json"}})
	if err != nil {
		return "", false
	}
	var index struct {
		Paths map[string]struct {
			ServerRelativeURL string `json:"serverRelativeURL"`
		} `json:"paths"`
	}
	if err := codec.Unmarshal(body, &index); err != nil {
		return "", false
	}
	entry, has := index.Paths["apis/"+b.gv.String()]
	if !has {
		return "", false
	}
	u, err := url.Parse(entry.ServerRelativeURL)
	if err != nil {
		return "", true
	}
	return u.RawQuery, true
}
