package kubelet

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// remoteTimeout bounds one request of manifests.
const remoteTimeout = 10 * time.Second

// remoteManifests reads the pods of a URL.
type remoteManifests struct {
	k      *Kubelet
	url    string
	client *http.Client

	// Of run only: the last complaint, and the answer that pods were read from.
	complained string
	answer     []byte

	mu   sync.Mutex
	pods map[types.UID]*corev1.Pod // nil until they have been read
}

func newRemoteManifests(k *Kubelet) *remoteManifests {
	return &remoteManifests{k: k, url: k.opts.StaticPodURL,
		client: &http.Client{Transport: k.opts.StaticPodURLTransport, Timeout: remoteTimeout}}
}

// last returns the pods that were read last, and whether the URL has been read. Without a URL there are none,
// and that is known.
func (r *remoteManifests) last() (map[types.UID]*corev1.Pod, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pods, r.pods != nil || r.url == ""
}

// run reads the URL until ctx ends.
func (r *remoteManifests) run(ctx context.Context) {
	tick := time.NewTicker(r.k.opts.StaticPodURLInterval)
	defer tick.Stop()
	for {
		found, err := r.read(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			r.complained = ""
			r.mu.Lock()
			r.pods = found
			r.mu.Unlock()
			r.k.pokeStatic()
		case r.complained != err.Error():
			r.complained = err.Error()
			r.k.log.Warn("read static pods of URL failed", "url", r.url, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read fetches the pods once.
func (r *remoteManifests) read(ctx context.Context) (map[types.UID]*corev1.Pod, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range r.k.opts.StaticPodURLHeader {
		for _, v := range values {
			req.Header.Add(name, v)
		}
	}
	req.Host = req.Header.Get("Host") // which is no field of the header in net/http
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s", resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, codec.MaxYAMLBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > codec.MaxYAMLBytes {
		return nil, fmt.Errorf("the answer is larger than %d bytes", codec.MaxYAMLBytes)
	}
	if last, ok := r.last(); ok && bytes.Equal(body, r.answer) {
		return last, nil // the same pointers
	}
	found, err := r.parse(body)
	if err == nil {
		r.answer = body
	}
	return found, err
}

// parse returns the pods of an answer, all or none.
func (r *remoteManifests) parse(body []byte) (map[types.UID]*corev1.Pod, error) {
	found := map[types.UID]*corev1.Pod{}
	if len(bytes.TrimSpace(body)) == 0 {
		return found, nil
	}
	list := &corev1.PodList{}
	var kind metav1.TypeMeta
	if _, err := codec.UnmarshalYAML(body, &kind, codec.DecodeOptions{MaxBytes: codec.MaxYAMLBytes}); err != nil {
		return nil, err
	}
	var into any = list
	if kind.Kind == "Pod" {
		list.Items = []*corev1.Pod{{}}
		into = list.Items[0]
	} else if kind.Kind != "PodList" || kind.APIVersion != "v1" {
		return nil, fmt.Errorf("want a v1 Pod or PodList, found %s %s", kind.APIVersion, kind.Kind)
	}
	issues, err := codec.UnmarshalYAML(body, into, codec.DecodeOptions{Strict: true, MaxBytes: codec.MaxYAMLBytes})
	if err != nil {
		return nil, err
	}
	if len(issues) > 0 {
		return nil, fmt.Errorf("%v", issues[0])
	}
	text, err := manifestTree(body)
	if err != nil {
		return nil, err
	}
	texts := []any{text}
	if into == list {
		texts, _ = text.(map[string]any)["items"].([]any)
	}
	names := map[types.NamespacedName]bool{}
	for i, pod := range list.Items {
		if pod == nil {
			return nil, fmt.Errorf("pod %d is null", i)
		}
		if pod.Kind == "" && pod.APIVersion == "" {
			pod.Kind, pod.APIVersion = "Pod", "v1" // the items of a list may leave them out
		}
		// The item alone makes the UID: a change of another one is not a change of this one.
		if pod, err = r.k.adoptStatic(pod, texts[i], sourceHTTP, "url:"+r.url); err != nil {
			return nil, fmt.Errorf("pod %d: %w", i, err)
		}
		key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		if names[key] || found[pod.UID] != nil {
			return nil, fmt.Errorf("pod %d: a second pod of the name %s or the UID %s", i, key, pod.UID)
		}
		names[key], found[pod.UID] = true, pod
	}
	return found, nil
}
