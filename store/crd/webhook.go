package crd

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/apiextensionsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/store/registry"
)

// WebhookOptions configure a Webhook. The zero value dials URLs directly and services by their cluster IP.
type WebhookOptions struct {
	// Dial opens connections; addr is the host and port of the URL, or NAME.NAMESPACE.svc:PORT for a service. Nil
	// uses the network and, for services, the address Services finds.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Services finds services for the default Dial. Nil means that services cannot be reached.
	Services registry.Access
	// Timeout bounds one conversion. Zero means 30 seconds.
	Timeout time.Duration
}

// Webhook is a Converter that asks the webhook a definition names. One request is made for each object.
type Webhook struct {
	options WebhookOptions

	mu      sync.Mutex
	clients map[string]*http.Client // by authority and server name
}

// NewWebhook returns a Webhook. Close it when it is no longer used.
func NewWebhook(o WebhookOptions) *Webhook {
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	return &Webhook{options: o, clients: map[string]*http.Client{}}
}

// Close drops idle connections.
func (w *Webhook) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.clients {
		c.CloseIdleConnections()
	}
	w.clients = map[string]*http.Client{}
	return nil
}

// Between implements Converter.
func (w *Webhook) Between(d *apiextensionsv1.CustomResourceDefinition, stored, served schema.GroupVersion) (fromStored, toStored func(metav1.Object) (metav1.Object, error)) {
	hook := codec.DeepCopy(d.Spec.Conversion.Webhook)
	to := func(gv schema.GroupVersion) func(metav1.Object) (metav1.Object, error) {
		return func(obj metav1.Object) (metav1.Object, error) {
			u, ok := obj.(*metav1.Unstructured)
			if !ok || u.APIVersion == gv.String() {
				return obj, nil
			}
			converted, err := w.convert(hook, u, gv)
			if err != nil {
				return nil, fmt.Errorf("conversion webhook for %s failed: %w", schema.FromAPIVersionAndKind(u.APIVersion, u.Kind), err)
			}
			return converted, nil
		}
	}
	return to(served), to(stored)
}

func (w *Webhook) convert(hook *apiextensionsv1.WebhookConversion, u *metav1.Unstructured, gv schema.GroupVersion) (*metav1.Unstructured, error) {
	if hook == nil || hook.ClientConfig == nil || !slices.Contains(hook.ConversionReviewVersions, "v1") {
		return nil, errors.New("the definition names no webhook that understands ConversionReview v1")
	}
	raw, err := codec.Marshal(u)
	if err != nil {
		return nil, err
	}
	review := &apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{
		UID: types.UID("conversion-" + strconv.FormatInt(time.Now().UnixNano(), 36)), DesiredAPIVersion: gv.String(), Objects: []metav1.RawExtension{{Raw: raw}},
	}}
	review.SetGroupVersionKind(apiextensionsv1.GroupVersion.WithKind("ConversionReview"))
	answer, err := w.ask(hook.ClientConfig, review)
	if err != nil {
		return nil, err
	}
	return accept(u, review.Request, answer, gv)
}

// accept checks an answer. A webhook may change everything but the kind and what identifies the object.
func accept(u *metav1.Unstructured, request *apiextensionsv1.ConversionRequest, answer *apiextensionsv1.ConversionReview, gv schema.GroupVersion) (*metav1.Unstructured, error) {
	r := answer.Response
	switch {
	case r == nil:
		return nil, errors.New("the answer has no response")
	case r.UID != request.UID:
		return nil, fmt.Errorf("the answer is for request %q, not %q", r.UID, request.UID)
	case r.Result.Status != metav1.StatusSuccess:
		return nil, errors.New(r.Result.Message)
	case len(r.ConvertedObjects) != 1:
		return nil, fmt.Errorf("the answer has %d objects, not 1", len(r.ConvertedObjects))
	}
	out := &metav1.Unstructured{}
	if err := codec.Unmarshal(r.ConvertedObjects[0].Raw, out); err != nil {
		return nil, err
	}
	switch {
	case out.APIVersion != gv.String() || out.Kind != u.Kind:
		return nil, fmt.Errorf("the answer is a %s of %s, not a %s of %s", out.Kind, out.APIVersion, u.Kind, gv)
	case out.Name != u.Name || out.Namespace != u.Namespace || out.UID != u.UID:
		return nil, errors.New("the answer is another object")
	}
	labels, annotations := out.Labels, out.Annotations
	out.ObjectMeta = u.ObjectMeta
	out.Labels, out.Annotations = labels, annotations
	return out, nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

func (w *Webhook) ask(c *apiextensionsv1.WebhookClientConfig, review *apiextensionsv1.ConversionReview) (*apiextensionsv1.ConversionReview, error) {
	body, err := codec.Marshal(review)
	if err != nil {
		return nil, err
	}
	client, url, err := w.client(c)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.options.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answered %s", resp.Status)
	}
	answer := &apiextensionsv1.ConversionReview{}
	return answer, codec.Unmarshal(data, answer)
}

// client returns the client for a webhook and its URL.
func (w *Webhook) client(c *apiextensionsv1.WebhookClientConfig) (*http.Client, string, error) {
	var url, name string
	switch {
	case c.URL != nil:
		url = *c.URL
	case c.Service != nil:
		port, path := int32(443), ""
		if c.Service.Port != nil {
			port = *c.Service.Port
		}
		if c.Service.Path != nil {
			path = *c.Service.Path
		}
		name = c.Service.Name + "." + c.Service.Namespace + ".svc"
		url = "https://" + net.JoinHostPort(name, strconv.Itoa(int(port))) + path
	default:
		return nil, "", errors.New("the definition names neither a URL nor a service")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := name + "\x00" + string(c.CABundle)
	if known := w.clients[key]; known != nil {
		return known, url, nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: name}
	if len(c.CABundle) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(c.CABundle) {
			return nil, "", errors.New("caBundle holds no certificate")
		}
	}
	dial := w.options.Dial
	if dial == nil {
		dial = w.dial(c.Service)
	}
	made := &http.Client{Transport: &http.Transport{DialContext: dial, TLSClientConfig: config, MaxIdleConnsPerHost: 8, ForceAttemptHTTP2: true}}
	w.clients[key] = made
	return made, url, nil
}

// dial opens connections to URLs directly, and to a service at its cluster IP.
func (w *Webhook) dial(service *apiextensionsv1.ServiceReference) func(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	if service == nil {
		return d.DialContext
	}
	key := types.NamespacedName{Namespace: service.Namespace, Name: service.Name}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if w.options.Services == nil {
			return nil, fmt.Errorf("service %s cannot be reached from here", key)
		}
		svc, err := registry.Get[*corev1.Service](ctx, w.options.Services, corev1.GroupVersion.WithResource("services"), key)
		if err != nil {
			return nil, err
		}
		if svc.Spec.ClusterIP == "" || svc.Spec.ClusterIP == corev1.ClusterIPNone {
			return nil, fmt.Errorf("service %s has no cluster IP", key)
		}
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return d.DialContext(ctx, network, net.JoinHostPort(svc.Spec.ClusterIP, port))
	}
}
