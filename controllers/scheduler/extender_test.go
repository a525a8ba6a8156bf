package scheduler_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/scheduler"
)

// program is an extender: it answers by verb, and records what it was called for.
type program struct {
	mu      sync.Mutex
	answers map[string]func(call map[string]any) (int, any)
	calls   []string
	delay   time.Duration
}

// RoundTrip implements http.RoundTripper.
func (p *program) RoundTrip(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	call := map[string]any{}
	if err := json.Unmarshal(data, &call); err != nil {
		return nil, err
	}
	verb := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	p.mu.Lock()
	p.calls = append(p.calls, verb)
	answer := p.answers[verb]
	p.mu.Unlock()
	if err := backoff.Sleep(r.Context(), p.delay); err != nil {
		return nil, err
	}
	status, body := answer(call)
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	if text, ok := body.(string); ok {
		w.Body = bytes.NewBufferString(text)
	} else if err := json.NewEncoder(w).Encode(body); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

func (p *program) called() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// only leaves one node and says why not the others.
func only(name, reason string) func(map[string]any) (int, any) {
	return func(call map[string]any) (int, any) {
		failed, left := map[string]string{}, []string{}
		for _, n := range call["NodeNames"].([]any) {
			if n == name {
				left = append(left, name)
			} else {
				failed[n.(string)] = reason
			}
		}
		return 200, map[string]any{"NodeNames": left, "FailedNodes": failed}
	}
}

// withExtenders runs a scheduler with extenders that are all one program.
func withExtenders(t *testing.T, p *program, f func(t *testing.T, c *controllertest.Cluster), extenders ...scheduler.Extender) {
	synctest.Test(t, func(t *testing.T) {
		for i := range extenders {
			extenders[i].URL, extenders[i].Client = "http://extender/v1/", &http.Client{Transport: p}
		}
		c := controllertest.Start(t, controllertest.Options{Controllers: []controllertest.Adder{
			func(m *manager.Manager) error { return scheduler.Add(m, scheduler.Options{Extenders: extenders}) }}})
		for _, name := range []string{"a", "b", "c"} {
			addNode(c, name, "4", "10")
		}
		f(t, c)
	})
}

// An extender leaves out nodes, by names or as objects, and the event says why.
func TestExtenderFilters(t *testing.T) {
	p := &program{answers: map[string]func(map[string]any) (int, any){"filter": only("b", "no licence"), "objects": func(call map[string]any) (int, any) {
		items := call["Nodes"].(map[string]any)["items"].([]any)
		name := items[0].(map[string]any)["metadata"].(map[string]any)["name"]
		return 200, map[string]any{"nodes": map[string]any{"items": []any{}}, "failedAndUnresolvableNodes": map[string]any{name.(string): "not for " + call["Pod"].(map[string]any)["metadata"].(map[string]any)["name"].(string)}}
	}}}
	withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
		create(c, "p", "1")
		c.Settle()
		require.Equal(t, "b", get(c, "p").Spec.NodeName)
		create(c, "q", "4")
		c.Settle()
		require.Contains(t, scheduled(get(c, "q")).Message, "0/3 nodes are available: 1 Insufficient cpu, 2 no licence")
		c.Sleep(time.Second)
		require.Empty(t, get(c, "q").Spec.NodeName)
	}, scheduler.Extender{Filter: "filter", NodeCacheCapable: true})
	withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
		create(c, "p", "1")
		c.Settle()
		require.Contains(t, scheduled(get(c, "p")).Message, "1 not for p, 2 node(s) were left out by extender http://extender/v1/")
	}, scheduler.Extender{Filter: "objects"})
}

// Extenders score nodes; a failure to do so does not matter.
func TestExtenderPrioritizes(t *testing.T) {
	p := &program{answers: map[string]func(map[string]any) (int, any){
		"prioritize": func(map[string]any) (int, any) {
			return 200, []map[string]any{{"Host": "c", "Score": 10}, {"host": "a", "score": 99}}
		},
		"broken": func(map[string]any) (int, any) { return 500, "" },
	}}
	withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
		controllertest.Update(c, "", "a", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		c.Settle()
		for _, name := range []string{"p", "q", "r"} {
			create(c, name, "1")
			c.Settle()
			require.Equal(t, "c", get(c, name).Spec.NodeName)
		}
	}, scheduler.Extender{Prioritize: "prioritize", Weight: 5}, scheduler.Extender{Prioritize: "broken", Weight: 1})
}

// An extender is called for pods that use its resources only, which may be left out of the plugins' sums.
func TestExtenderOfAResource(t *testing.T) {
	p := &program{answers: map[string]func(map[string]any) (int, any){"filter": only("b", "full")}}
	withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
		create(c, "p", "1")
		c.Settle()
		require.NotEmpty(t, get(c, "p").Spec.NodeName)
		require.Empty(t, p.called())
		create(c, "q", "1", func(p *corev1.Pod) {
			one := corev1.ResourceList{"example.com/licence": amounts("1", "", "")[corev1.ResourceCPU]}
			p.Spec.Containers[0].Resources.Limits = one
			maps.Copy(p.Spec.Containers[0].Resources.Requests, one)
		})
		c.Settle()
		require.Contains(t, scheduled(get(c, "q")).Message, "3 Insufficient example.com/licence")
		require.Empty(t, p.called(), "no node is left to filter")
	}, scheduler.Extender{Filter: "filter", NodeCacheCapable: true, Resources: []corev1.ResourceName{"example.com/licence"}})
}

// An extender binds the pod. One that fails after it has bound it did bind it; one that is ignorable leaves
// the pod to the scheduler.
func TestExtenderBinds(t *testing.T) {
	for name, x := range map[string]struct {
		binds, ignorable bool
		answer           any
		status           int
		bound            bool
	}{
		"bound":                 {true, false, map[string]any{}, 200, true},
		"bound, answer is lost": {true, false, "", 0, true},
		"refused":               {false, false, map[string]any{"Error": "no"}, 200, false},
		"ignored":               {false, true, map[string]any{"Error": "no"}, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			var inner *testing.T
			var cluster *controllertest.Cluster
			p := &program{answers: map[string]func(map[string]any) (int, any){"bind": func(call map[string]any) (int, any) {
				if x.binds {
					bindTo(inner, cluster, call["PodName"].(string), call["Node"].(string))
				}
				return x.status, x.answer
			}}}
			withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
				inner, cluster = t, c
				create(c, "p", "1")
				c.Sleep(time.Minute)
				require.Equal(t, x.bound, get(c, "p").Spec.NodeName != "")
				if !x.bound {
					require.Contains(t, scheduled(get(c, "p")).Message, "binding rejected: no")
				}
			}, scheduler.Extender{Bind: "bind", Ignorable: x.ignorable})
		})
	}
}

// An extender that binds after its time-out, when the pod's attempt has failed, does not overcommit the node:
// no other pod has got the room. If it does not bind, the room is free after a minute.
func TestAnExtenderThatBindsLate(t *testing.T) {
	for _, binds := range []bool{true, false} {
		var inner *testing.T
		var cluster *controllertest.Cluster
		p := &program{}
		p.answers = map[string]func(map[string]any) (int, any){"bind": func(call map[string]any) (int, any) {
			if call["PodName"] != "late" {
				bindTo(inner, cluster, call["PodName"].(string), call["Node"].(string))
				return 200, map[string]any{}
			}
			if len(p.called()) > 1 {
				return 200, map[string]any{"Error": "busy"}
			}
			if binds {
				go func() {
					<-time.After(40 * time.Second)
					bindTo(inner, cluster, "late", call["Node"].(string))
				}()
			}
			<-time.After(6 * time.Second) // past the time-out
			return 0, nil
		}}
		withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
			inner, cluster = t, c
			create(c, "late", "3", to("a"))
			c.Sleep(8 * time.Second)
			require.Empty(t, get(c, "late").Spec.NodeName)
			create(c, "other", "3", to("a"))
			c.Sleep(30 * time.Second)
			require.Empty(t, get(c, "other").Spec.NodeName, "the room is kept")
			if !binds {
				deleteNow(c, "late")
			}
			c.Sleep(5 * time.Minute)
			require.Equal(t, !binds, get(c, "other").Spec.NodeName == "a")
			if binds {
				require.Equal(t, "a", get(c, "late").Spec.NodeName)
			}
		}, scheduler.Extender{Bind: "bind"})
	}
}

// An extender chooses the node to preempt on, and may choose other victims there.
func TestExtenderPreempts(t *testing.T) {
	for _, cached := range []bool{true, false} {
		p := &program{}
		p.answers = map[string]func(map[string]any) (int, any){"preempt": func(call map[string]any) (int, any) {
			var pods []any
			if cached {
				pods = call["NodeNameToMetaVictims"].(map[string]any)["b"].(map[string]any)["Pods"].([]any)
			} else {
				for _, v := range call["NodeNameToVictims"].(map[string]any)["b"].(map[string]any)["Pods"].([]any) {
					pods = append(pods, map[string]any{"UID": v.(map[string]any)["metadata"].(map[string]any)["uid"]})
				}
			}
			return 200, map[string]any{"NodeNameToMetaVictims": map[string]any{"b": map[string]any{"Pods": pods}}}
		}}
		withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
			controllertest.Create(c, &schedulingv1.PriorityClass{ObjectMeta: controllertest.Name("", "high"), Value: 1000})
			for _, n := range []string{"a", "b", "c"} {
				create(c, "low-"+n, "3", to(n), func(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(0)) })
			}
			c.Settle()
			create(c, "high", "3", class("high"))
			c.Sleep(time.Minute)
			require.Equal(t, "b", get(c, "high").Spec.NodeName)
			require.Len(t, controllertest.List[*corev1.Pod](c, "default"), 3)
		}, scheduler.Extender{Preempt: "preempt", NodeCacheCapable: cached})
	}
}

// A slow extender holds up no pod that it is not called for, and is left out after its time if it is
// ignorable; if not, the pod waits and its event says why.
func TestASlowExtender(t *testing.T) {
	for _, ignorable := range []bool{true, false} {
		p := &program{delay: time.Minute, answers: map[string]func(map[string]any) (int, any){"filter": func(map[string]any) (int, any) { return 200, map[string]any{} }}}
		withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
			controllertest.UpdateStatus(c, "", "a", func(n *corev1.Node) { n.Status.Allocatable["example.com/slow"] = resource.MustParse("1") })
			c.Settle()
			create(c, "slow", "1", func(p *corev1.Pod) {
				p.Spec.Containers[0].Resources.Requests["example.com/slow"] = resource.MustParse("1")
				p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"example.com/slow": resource.MustParse("1")}
			})
			create(c, "p", "1")
			c.Sleep(100 * time.Millisecond)
			require.NotEmpty(t, get(c, "p").Spec.NodeName)
			require.Empty(t, get(c, "slow").Spec.NodeName)
			c.Sleep(3 * time.Second)
			if ignorable {
				require.NotEmpty(t, get(c, "slow").Spec.NodeName)
			} else {
				require.Empty(t, get(c, "slow").Spec.NodeName)
				require.Contains(t, scheduled(get(c, "slow")).Message, "extender http://extender/v1/: Post")
				require.Equal(t, "SchedulerError", scheduled(get(c, "slow")).Reason)
			}
		}, scheduler.Extender{Filter: "filter", Timeout: 2 * time.Second, Ignorable: ignorable, Resources: []corev1.ResourceName{"example.com/slow"}})
	}
}

// Nonsense from an extender fails the attempt, and names the extender.
func TestNonsenseOfExtenders(t *testing.T) {
	for name, answer := range map[string]struct {
		status int
		body   any
		text   string
	}{
		"an unknown node":    {200, map[string]any{"NodeNames": []string{"x"}}, `claims a filtered node "x"`},
		"an error":           {200, map[string]any{"Error": "out of licences"}, "out of licences"},
		"not JSON":           {200, "<html>", "invalid character"},
		"a wrong type":       {200, `{"NodeNames": 5}`, "cannot unmarshal"},
		"a status":           {503, "", "code 503"},
		"nothing":            {200, "", "unexpected end of JSON input"},
		"no connection":      {0, "", "connection refused"},
		"no node":            {200, `{}`, "3 node(s) were left out by extender"},
		"a node of the past": {200, `{"NodeNames": ["a", "gone"]}`, `claims a filtered node "gone"`},
	} {
		t.Run(name, func(t *testing.T) {
			p := &program{answers: map[string]func(map[string]any) (int, any){"filter": func(map[string]any) (int, any) { return answer.status, answer.body }}}
			withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
				create(c, "p", "1")
				c.Sleep(2 * time.Second)
				require.Contains(t, scheduled(get(c, "p")).Message, answer.text)
				require.Empty(t, get(c, "p").Spec.NodeName)
			}, scheduler.Extender{Filter: "filter", NodeCacheCapable: true})
		})
	}
}

// Pods whose extenders answer at the same time never overcommit a node: what others have taken meanwhile is
// seen.
func TestExtendersDoNotOvercommit(t *testing.T) {
	p := &program{delay: time.Second, answers: map[string]func(map[string]any) (int, any){"filter": func(call map[string]any) (int, any) {
		return 200, map[string]any{"NodeNames": call["NodeNames"]}
	}}}
	withExtenders(t, p, func(t *testing.T, c *controllertest.Cluster) {
		for i := range 16 {
			create(c, string(rune('a'+i)), "1")
		}
		c.Sleep(2 * time.Minute)
		on := map[string]int{}
		for _, p := range controllertest.List[*corev1.Pod](c, "default") {
			on[p.Spec.NodeName]++
		}
		require.Equal(t, map[string]int{"a": 4, "b": 4, "c": 4, "": 4}, on)
	}, scheduler.Extender{Filter: "filter", NodeCacheCapable: true})
}

func TestWrongExtenders(t *testing.T) {
	for text, list := range map[string][]scheduler.Extender{
		"extender 0: no URL": {{}}, "extender 1: weight 0": {{URL: "http://x"}, {URL: "http://y", Prioritize: "p"}},
		"2 extenders bind": {{URL: "http://x", Bind: "b"}, {URL: "http://y", Bind: "b"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := controllertest.Start(t, controllertest.Options{})
			var err error
			c.Manager("m", func(m *manager.Manager) error {
				_, err = scheduler.New(m, scheduler.Options{Extenders: list})
				return nil
			})
			require.ErrorContains(t, err, text)
		})
	}
}

// bindTo binds a pod as an extender does.
func bindTo(t *testing.T, c *controllertest.Cluster, pod, node string) {
	sub := client.Subresource[*corev1.Binding](client.For[*corev1.Pod](c.Admin()), "binding")
	_, err := sub.Create(t.Context(), types.NamespacedName{Namespace: "default", Name: pod}, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: pod}, Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	require.NoError(t, err)
}
