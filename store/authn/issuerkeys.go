package authn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	// JSON web keys and signatures have many forms; this library is what the Kubernetes API server uses.
	"github.com/go-jose/go-jose/v4"
)

const (
	// fetchTimeout bounds the fetch of an issuer's keys, fetchPatience how long a request waits for it.
	fetchTimeout  = 30 * time.Second
	fetchPatience = 2 * time.Second
	// fetchGap is between the end of a fetch and the next one, so that tokens with unknown keys, which any
	// client can make, cost an issuer little.
	fetchGap = 10 * time.Second
	// keysFresh is the age from which keys are fetched again in the background, so that a key that the issuer
	// no longer publishes is not accepted much longer.
	keysFresh = 10 * time.Minute
	// maxDocument bounds an issuer's documents.
	maxDocument = 1 << 20
)

// issuerKeys are the public keys of an issuer, fetched when they are needed.
type issuerKeys struct {
	issuer, document string // URLs
	client           *http.Client
	fetched          func(issuer string, keySet []byte, err error)

	current atomic.Pointer[keySet]
	mu      sync.Mutex // guards what follows
	running *keyFetch  // nil if none is
	err     error      // of the last fetch
	ended   time.Time  // when it ended
}

// keySet are the keys at a time.
type keySet struct {
	keys []jose.JSONWebKey
	at   time.Time
}

// keyFetch is a fetch that runs until done is closed.
type keyFetch struct {
	done  chan struct{}
	began time.Time
}

// errUnknownKey is the error of a signature by none of the issuer's keys.
var errUnknownKey = errors.New("failed to verify id token signature")

// verify returns what is signed. If no known key has signed it the keys are fetched again, unless they have
// just been.
func (k *issuerKeys) verify(ctx context.Context, signed *jose.JSONWebSignature) ([]byte, error) {
	id := signed.Signatures[0].Header.KeyID
	set := k.current.Load()
	if payload, ok := set.verify(signed, id); ok {
		if time.Since(set.at) > keysFresh {
			_, _ = k.begin() // the result is for the next token
		}
		return payload, nil
	}
	if err := k.fetch(ctx); err != nil {
		return nil, err
	}
	if payload, ok := k.current.Load().verify(signed, id); ok {
		return payload, nil
	}
	return nil, errUnknownKey
}

func (s *keySet) verify(signed *jose.JSONWebSignature, id string) ([]byte, bool) {
	if s == nil {
		return nil, false
	}
	for i := range s.keys {
		if key := &s.keys[i]; id == "" || key.KeyID == id {
			if payload, err := signed.Verify(key); err == nil {
				return payload, true
			}
		}
	}
	return nil, false
}

// fetch fetches the keys, or waits for the fetch that runs: for a moment only, because an issuer that does
// not respond costs its own requests and no more.
func (k *issuerKeys) fetch(ctx context.Context) error {
	f, err := k.begin()
	if f == nil {
		return err
	}
	patience := time.NewTimer(fetchPatience - time.Since(f.began))
	defer patience.Stop()
	select {
	case <-f.done:
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.err
	case <-patience.C:
		return fmt.Errorf("the keys of the issuer have not arrived within %v", fetchPatience)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin returns the fetch that runs, or starts one. If the last one has just ended it returns nil and its
// error.
func (k *issuerKeys) begin() (*keyFetch, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.running != nil:
		return k.running, nil
	case !k.ended.IsZero() && time.Since(k.ended) < fetchGap:
		return nil, k.err
	}
	f := &keyFetch{done: make(chan struct{}), began: time.Now()}
	k.running = f
	go k.run(f)
	return f, nil
}

// failure is the error of the last fetch.
func (k *issuerKeys) failure() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

// run fetches the keys. It is not bound to a request, because others may wait for it.
func (k *issuerKeys) run(f *keyFetch) {
	defer close(f.done)
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	keys, document, err := k.read(ctx)
	if err == nil {
		k.current.Store(&keySet{keys, time.Now()})
	}
	k.fetched(k.issuer, document, err)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running, k.err, k.ended = nil, err, time.Now()
}

// read reads the discovery document and the keys to which it leads. It returns also the document with the
// keys.
func (k *issuerKeys) read(ctx context.Context) ([]jose.JSONWebKey, []byte, error) {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	if _, err := k.get(ctx, k.document, &document); err != nil {
		return nil, nil, fmt.Errorf("discovery: %w", err)
	}
	if document.Issuer != k.issuer {
		return nil, nil, fmt.Errorf("discovery: the document is of issuer %q, not %q", document.Issuer, k.issuer)
	}
	if !strings.HasPrefix(document.Keys, "https://") {
		return nil, nil, fmt.Errorf("discovery: jwks_uri %q is no https URL", document.Keys)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	data, err := k.get(ctx, document.Keys, &set)
	if err != nil {
		return nil, nil, fmt.Errorf("keys: %w", err)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		// A key of a kind that is unknown here, or for encryption, does not affect the others.
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && key.IsPublic() && key.Valid() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, nil, fmt.Errorf("keys: none of the %d at %s can be used", len(set.Keys), document.Keys)
	}
	return keys, data, nil
}

// get reads a JSON document, and returns its text too.
func (k *issuerKeys) get(ctx context.Context, url string, out any) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := k.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", url, err)
	case resp.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: the status is %s", url, resp.Status)
	case len(data) > maxDocument:
		return nil, fmt.Errorf("%s: more than %d bytes", url, maxDocument)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return data, nil
}

// signingAlgorithms are those that tokens may be signed with.
var signingAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512}

// SigningAlgorithms returns the names of the algorithms that the tokens of an issuer may be signed with.
func SigningAlgorithms() []string {
	var names []string
	for _, a := range signingAlgorithms {
		names = append(names, string(a))
	}
	slices.Sort(names)
	return names
}
