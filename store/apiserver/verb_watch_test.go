package apiserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/schema"
	"github.com/keelson-dev/keelson/apimachinery/seeds"
	"github.com/keelson-dev/keelson/store/apiserver"
)

// stream reads watch events.
type stream struct {
	t    testing.TB
	resp *http.Response
	in   *bufio.Scanner
}

func (s *server) watch(path string, headers ...string) *stream {
	resp := s.open("GET", path, nil, headers...)
	require.Equal(s.t, 200, resp.StatusCode)
	in := bufio.NewScanner(resp.Body)
	in.Buffer(nil, 1<<20)
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{t: s.t, resp: resp, in: in}
}

// next returns the next event, or nil at the end of the stream.
func (w *stream) next() object {
	if !w.in.Scan() {
		return nil
	}
	var o object
	require.NoError(w.t, json.Unmarshal(w.in.Bytes(), &o))
	return o
}

func (w *stream) expect(eventType, name string) object {
	w.t.Helper()
	e := w.next()
	require.NotNil(w.t, e, "the stream has ended")
	require.Equal(w.t, eventType, e.str("type"), "%v", e)
	require.Equal(w.t, name, e.str("object.metadata.name"))
	return e
}

func TestWatch(t *testing.T) {
	s := start(t, apiserver.Options{})
	a := s.do("POST", configMaps, configMap("a")).ok(201)
	w := s.watch(configMaps + "?watch=1")
	require.Equal(t, "application/json", w.resp.Header.Get("Content-Type"))
	e := w.expect("ADDED", "a")
	require.Equal(t, "ConfigMap", e.str("object.kind"))
	require.Equal(t, "v1", e.str("object.apiVersion"))
	s.do("POST", configMaps, configMap("b")).ok(201)
	w.expect("ADDED", "b")
	s.do("PUT", configMaps+"/a", configMap("a", "k", "v")).ok(200)
	w.expect("MODIFIED", "a")
	s.do("DELETE", configMaps+"/a", nil).ok(200)
	gone := w.expect("DELETED", "a")
	require.Equal(t, "v", gone.str("object.data.k"), "the last state")

	// From a version on.
	w = s.watch(configMaps + "?watch=1&resourceVersion=" + a.str("metadata.resourceVersion"))
	w.expect("ADDED", "b")
	w.expect("MODIFIED", "a")
	again := w.expect("DELETED", "a")
	require.Equal(t, gone.str("object.metadata.resourceVersion"), again.str("object.metadata.resourceVersion"))

	// One name, by both forms of selection, and the legacy path.
	for _, path := range []string{configMaps + "?watch&fieldSelector=metadata.name%3Db", "/api/v1/watch/namespaces/default/configmaps/b"} {
		w := s.watch(path)
		w.expect("ADDED", "b")
	}
	require.Equal(t, "b", s.do("GET", configMaps+"/b?watch=1", nil).ok(200).str("metadata.name"), "one object by its name is read, not watched")
}

func TestWatchWithSelector(t *testing.T) {
	s := start(t, apiserver.Options{})
	label := func(v string) object {
		return s.do("PATCH", configMaps+"/a", fmt.Sprintf(`{"metadata":{"labels":{"x":%q}}}`, v), "Content-Type", "application/merge-patch+json").ok(200)
	}
	s.do("POST", configMaps, configMap("a")).ok(201)
	w := s.watch(configMaps + "?watch=1&labelSelector=x%3D1")
	label("1")
	w.expect("ADDED", "a")
	left := label("2")
	e := w.expect("DELETED", "a")
	require.Equal(t, "1", e.str("object.metadata.labels.x"), "the state that matched")
	require.Equal(t, left.str("metadata.resourceVersion"), e.str("object.metadata.resourceVersion"), "with the version of the change")
}

func TestWatchListAndBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		s.do("POST", configMaps, configMap("a")).ok(201)
		w := s.watch(configMaps + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=200")
		w.expect("ADDED", "a")
		end := w.next()
		require.Equal(t, "BOOKMARK", end.str("type"))
		require.Equal(t, "true", end["object"].(map[string]any)["metadata"].(map[string]any)["annotations"].(map[string]any)["k8s.io/initial-events-end"])
		begun := time.Now()
		other := s.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"other"}}`).ok(201)
		mark := w.next()
		require.Equal(t, "BOOKMARK", mark.str("type"))
		require.LessOrEqual(t, time.Since(begun), 70*time.Second)
		mark = w.next() // a bookmark asks for progress, the next one shows it
		require.GreaterOrEqual(t, number(t, mark.str("object.metadata.resourceVersion")), number(t, other.str("metadata.resourceVersion")), "progress of other resources counts")
		for w.next() != nil {
		}
		require.Equal(t, 200*time.Second, time.Since(begun).Round(time.Second), "the requested timeout")
		s.stop()
	})
}

func number(t testing.TB, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return n
}

func TestWatchAsTableAndMetadataAndProtobuf(t *testing.T) {
	s := start(t, apiserver.Options{})
	s.do("POST", configMaps, configMap("a", "k", "v")).ok(201)
	s.do("POST", configMaps, configMap("b", "k", "v")).ok(201)
	w := s.watch(configMaps+"?watch=1", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	first, second := w.next(), w.next()
	require.Len(t, first.at("object.columnDefinitions"), 3)
	require.Nil(t, second.at("object.columnDefinitions"), "only once")
	require.Equal(t, "Table", second.str("object.kind"))
	w = s.watch(configMaps+"?watch=1", "Accept", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
	e := w.expect("ADDED", "a")
	require.Equal(t, "PartialObjectMetadata", e.str("object.kind"))
	require.Nil(t, e.at("object.data"))

	resp := s.open("GET", configMaps+"?watch=1", nil, "Accept", "application/vnd.kubernetes.protobuf")
	defer resp.Body.Close()
	require.Equal(t, "application/vnd.kubernetes.protobuf;stream=watch", resp.Header.Get("Content-Type"))
	frames := codec.NewProtoFrames(resp.Body, 0)
	frame, err := frames.Next()
	require.NoError(t, err)
	eventType, obj, err := codec.DecodeEventProto(frame)
	require.NoError(t, err)
	require.Equal(t, "ADDED", eventType)
	var cm corev1.ConfigMap
	_, _, err = codec.UnmarshalEnvelope(obj, &cm)
	require.NoError(t, err)
	require.Equal(t, "a", cm.Name)
	require.NotEmpty(t, cm.ResourceVersion)
}

// The metadata of a watch in protobuf, which is cut from the stored object, is that of one in JSON, which is
// decoded.
func TestMetadataInProtobufIsThatInJSON(t *testing.T) {
	s := start(t, apiserver.Options{})
	const meta = ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
	owner := s.do("POST", configMaps, configMap("owner")).ok(201)
	metadata := object{"name": "a", "labels": object{"l": "1"}, "annotations": object{"n": "2"}, "finalizers": []string{"example.com/f"},
		"ownerReferences": []object{{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.str("metadata.uid")}}}
	for path, kind := range map[string]string{configMaps: "ConfigMap", pods: "Pod", "/api/v1/namespaces": "Namespace"} {
		o := object{"kind": kind, "apiVersion": "v1", "metadata": metadata}
		if kind == "Pod" {
			o["spec"] = object{"containers": []object{{"name": "c", "image": "i"}}}
		}
		s.do("POST", path, o).ok(201)
		s.do("PATCH", path+"/a", `{"metadata":{"labels":{"l":"3"}}}`, "Content-Type", "application/merge-patch+json").ok(200)
		s.do("DELETE", path+"/a", nil).ok(200)
		watch := path + "?watch=1&fieldSelector=metadata.name%3Da"
		want := s.watch(watch, "Accept", "application/json"+meta).next()
		resp := s.open("GET", watch, nil, "Accept", "application/vnd.kubernetes.protobuf"+meta)
		frame, err := codec.NewProtoFrames(resp.Body, 0).Next()
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		eventType, obj, err := codec.DecodeEventProto(frame)
		require.NoError(t, err)
		require.Equal(t, want.str("type"), eventType)
		var got metav1.PartialObjectMetadata
		apiVersion, partial, err := codec.UnmarshalEnvelope(obj, &got)
		require.NoError(t, err)
		require.Equal(t, "meta.k8s.io/v1 PartialObjectMetadata", apiVersion+" "+partial)
		require.NotZero(t, got.DeletionTimestamp)
		got.SetGroupVersionKind(schema.GroupVersionKind{Group: "meta.k8s.io", Version: "v1", Kind: "PartialObjectMetadata"})
		text, err := codec.Marshal(&got)
		require.NoError(t, err)
		wanted, err := codec.Marshal(want.at("object"))
		require.NoError(t, err)
		require.JSONEq(t, string(wanted), string(text), kind)
	}
}

func TestWatchTooOld(t *testing.T) {
	s := start(t, apiserver.Options{})
	for i := range 30 {
		s.do("POST", configMaps, configMap(fmt.Sprintf("c%d", i))).ok(201)
	}
	require.NoError(t, s.Registry().Store().Compact(t.Context(), 25))
	w := s.watch("/api/v1/secrets?watch=1&resourceVersion=3")
	e := w.next()
	require.Equal(t, "ERROR", e.str("type"))
	require.Equal(t, "Expired", e.str("object.reason"))
	require.EqualValues(t, 410, e.at("object.code"))
	require.Nil(t, w.next())
}

// Random writers and watchers: every watcher gets every change of every object, in order, however often it
// resumes.
func TestWatchersMissNothing(t *testing.T) {
	for _, seed := range seeds.Of(t, 20) {
		watchersMissNothing(t, seed)
	}
}

func watchersMissNothing(t *testing.T, seed uint64) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{NoPriorityAndFairness: true})
		const writes, watchers = 40, 3
		from := s.do("GET", configMaps, nil).ok(200).str("metadata.resourceVersion")
		var wg sync.WaitGroup
		histories := make([][]string, watchers)
		finished := make(chan struct{})
		for i := range watchers {
			rng := seeds.Stream(seed, uint64(i))
			wg.Go(func() { histories[i] = follow(t, s, from, rng, finished) })
		}
		rng := seeds.Stream(seed, 99)
		var want []string
		alive := map[string]bool{}
		for i := range writes {
			name := fmt.Sprintf("c%d", rng.IntN(6))
			var o object
			switch {
			case !alive[name]:
				o = s.do("POST", configMaps, configMap(name, "i", fmt.Sprint(i))).ok(201)
				want = append(want, "ADDED "+name+" "+o.str("metadata.resourceVersion"))
				alive[name] = true
			case rng.IntN(3) == 0:
				s.do("DELETE", configMaps+"/"+name, nil).ok(200)
				want = append(want, "DELETED "+name)
				alive[name] = false
			default:
				o = s.do("PUT", configMaps+"/"+name, configMap(name, "i", fmt.Sprint(i))).ok(200)
				want = append(want, "MODIFIED "+name+" "+o.str("metadata.resourceVersion"))
			}
			time.Sleep(time.Duration(rng.IntN(3)) * time.Second)
		}
		time.Sleep(time.Minute)
		close(finished)
		wg.Wait()
		for _, h := range histories {
			require.Equal(t, want, h, "seed %d", seed)
		}
		s.stop()
	})
}

// follow watches until finished, with interruptions.
func follow(t *testing.T, s *server, from string, rng *rand.Rand, finished chan struct{}) []string {
	var history []string
	for {
		select {
		case <-finished:
			return history
		default:
		}
		resp := s.open("GET", fmt.Sprintf("%s?watch=1&resourceVersion=%s&timeoutSeconds=%d", configMaps, from, 1+rng.IntN(40)), nil)
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var e object
			require.NoError(t, json.Unmarshal(in.Bytes(), &e))
			line := e.str("type") + " " + e.str("object.metadata.name")
			if e.str("type") != "DELETED" {
				line += " " + e.str("object.metadata.resourceVersion")
			}
			history = append(history, line)
			from = e.str("object.metadata.resourceVersion")
			if rng.IntN(10) == 0 {
				break // the connection is lost
			}
		}
		_ = resp.Body.Close()
	}
}

func TestShutdownEndsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, apiserver.Options{})
		w := s.watch(configMaps + "?watch=1")
		begun := time.Now()
		done := make(chan struct{})
		go func() {
			for w.next() != nil {
			}
			close(done)
		}()
		s.stop()
		<-done
		require.Less(t, time.Since(begun), time.Second)
	})
}

// Events that are ready together are written together, whatever their sizes, and arrive whole and in order.
func TestWatchOfManySizes(t *testing.T) {
	for _, seed := range seeds.Slow(t, 2) {
		random := seeds.Stream(seed, 1)
		s := start(t, apiserver.Options{})
		const n = 300
		sizes := make([]int, n)
		for i := range sizes {
			sizes[i] = 1 << random.IntN(17)
			s.do("POST", configMaps, configMap(fmt.Sprintf("m-%03d", i), "k", strings.Repeat("x", sizes[i]))).ok(201)
		}
		w := s.watch(configMaps + "?watch=1")
		for i, size := range sizes {
			e := w.expect("ADDED", fmt.Sprintf("m-%03d", i))
			require.Len(t, e.str("object.data.k"), size, "seed %d", seed)
		}
		s.do("DELETE", configMaps+"/m-007", nil).ok(200)
		w.expect("DELETED", "m-007")
	}
}
