package kubelet_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/controllers/kubelet"
)

// page is what the server of manifests answers; it is the transport, so that no time passes in it.
type page struct {
	mu     sync.Mutex
	status int
	text   string
	err    error
	asked  []*http.Request
}

func (p *page) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if p.err != nil {
		return nil, p.err
	}
	return &http.Response{StatusCode: p.status, Status: http.StatusText(p.status), Body: io.NopCloser(strings.NewReader(p.text)), Request: r}, nil
}

func (p *page) set(status int, text string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.status, p.text, p.err = status, text, err
}

func (p *page) requests() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

const pageList = `{"apiVersion":"v1","kind":"PodList","items":[
{"metadata":{"name":"static"},"spec":{"terminationGracePeriodSeconds":20,"containers":[{"name":"main","image":"img","imagePullPolicy":"IfNotPresent","command":["a"]}]}},
{"metadata":{"name":"other"},"spec":{"containers":[{"name":"main","image":"img","imagePullPolicy":"IfNotPresent","command":["OTHER"]}]}}]}`

func pageBubble(t *testing.T, broken outage, p *page, f func(*staticRig)) {
	staticBubble(t, broken, func(s *staticRig) {
		s.stop()
		s.opts.StaticPodURL = "https://manifests.test/pods"
		s.opts.StaticPodURLHeader = http.Header{"X-Node": {"n1"}, "Host": {"virtual.test"}}
		s.opts.StaticPodURLTransport = p
		s.start()
		f(s)
	})
}

// Pods of a URL run without the API server, follow the answers that are valid, and have mirrors.
func TestStaticPodsOfURL(t *testing.T) {
	p := &page{status: http.StatusOK, text: strings.ReplaceAll(pageList, "OTHER", "x")}
	pageBubble(t, refused, p, func(s *staticRig) {
		time.Sleep(5 * time.Second)
		require.ElementsMatch(t, []string{"static-n1/main", "other-n1/main"}, s.rt.Running())
		r := p.requests()[0]
		require.Equal(t, "n1", r.Header.Get("X-Node"))
		require.Equal(t, "virtual.test", r.Host)
		s.line.set(intact)
		time.Sleep(2 * time.Minute)
		mirror := s.get("static-n1")
		require.True(t, ready(mirror))
		require.Equal(t, "http", mirror.Annotations["kubernetes.io/config.source"])
		require.NotEmpty(t, mirror.Annotations["kubernetes.io/config.mirror"])

		// Answers that say nothing about the pods, with a start of the kubelet within.
		_, before := s.rt.Counts()
		for _, bad := range []*page{
			{err: errors.New("connection refused")}, {status: http.StatusInternalServerError},
			{status: http.StatusOK, text: "kind: Service\napiVersion: v1\n"}, {status: http.StatusOK, text: pageList[:200]},
			{status: http.StatusOK, text: strings.ReplaceAll(pageList, `"other"`, `"static"`)},
			{status: http.StatusOK, text: `{"apiVersion":"v1","kind":"PodList","items":[null]}`},
			{status: http.StatusOK, text: strings.ReplaceAll(pageList, `"spec"`, `"sepc"`)},
		} {
			p.set(bad.status, bad.text, bad.err)
			time.Sleep(25 * time.Second)
			require.Len(t, s.rt.Running(), 2, "%v", bad.text)
		}
		s.stop()
		s.start()
		time.Sleep(time.Minute)
		require.Len(t, s.rt.Running(), 2, "what is not known is not an orphan")

		// One pod of two changes; the other is left alone.
		p.set(http.StatusOK, strings.ReplaceAll(pageList, "OTHER", "y"), nil)
		time.Sleep(90 * time.Second)
		require.Len(t, s.rt.Running(), 2)
		require.Equal(t, []string{"y"}, s.rt.Config("other-n1", "main").Command)
		_, after := s.rt.Counts()
		require.Equal(t, before, after, "one container was replaced")
		require.Equal(t, mirror.UID, s.get("static-n1").UID)

		p.set(http.StatusOK, "\n", nil)
		time.Sleep(time.Minute)
		require.Empty(t, s.rt.Running())
		require.False(t, s.exists("static-n1"))
		require.False(t, s.exists("other-n1"))
	})
}

// Of two manifests of one name that of the folder is run, one after the other.
func TestStaticPodsOfFolderAndURL(t *testing.T) {
	p := &page{status: http.StatusOK, text: manifest("url")}
	pageBubble(t, intact, p, func(s *staticRig) {
		s.watch(5 * time.Second)
		require.Equal(t, "url", s.command())
		s.write(manifest("folder"))
		s.watch(30 * time.Second)
		require.Equal(t, "folder", s.command())
		require.Equal(t, one, s.rt.Running())
		s.remove()
		s.watch(30 * time.Second)
		require.Equal(t, "url", s.command())
		require.Equal(t, one, s.rt.Running())
		require.Equal(t, "http", s.get("static-n1").Annotations["kubernetes.io/config.source"])
	})
}

func TestStaticPodURLThatIsNone(t *testing.T) {
	for _, o := range []kubelet.Options{{StaticPodURL: "ftp://h/x"}, {StaticPodURL: "/pods"}, {StaticPodURL: "http://%"}, {StaticPodURLHeader: http.Header{"A": {"b"}}}} {
		o.NodeName = "n1"
		_, err := kubelet.New(nil, o)
		require.ErrorContains(t, err, "StaticPodURL")
	}
}
