package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/types"
)

// Extender is a program that takes part in decisions: it is called by HTTP, with the requests and responses
// of kube-scheduler's extenders. While it is called, decisions about other pods go on, and the node that is
// selected in the end is looked at again. A new scheduler is better served by plugins.
type Extender struct {
	// URL is the address that the verbs are appended to.
	URL string
	// Filter, Prioritize, Preempt and Bind are the last parts of the paths that are called to leave out
	// nodes, to score them, to choose among victims and to bind pods; empty for what the extender does not
	// do.
	Filter, Prioritize, Preempt, Bind string
	// Weight multiplies the scores, which are from 0 to 10. It must be positive if Prioritize is set.
	Weight int64
	// Timeout is the limit of a call; 0 means 5 seconds.
	Timeout time.Duration
	// NodeCacheCapable sends the names of nodes and the UIDs of victims instead of the objects.
	NodeCacheCapable bool
	// Resources restrict the extender to pods that request or limit one of them; none means all pods.
	Resources []corev1.ResourceName
	// Ignorable lets pods be scheduled without the extender when it fails. An error of Prioritize never
	// matters.
	Ignorable bool
	// Client makes the calls; nil means http.DefaultClient.
	Client *http.Client
}

const (
	extenderTimeout = 5 * time.Second
	// maxExtenderScore is the highest score of an extender.
	maxExtenderScore = 10
	// maxExtenderResponse limits the size of a response, in bytes.
	maxExtenderResponse = 64 << 20
	// extending is how many pods extenders are called for at a time.
	extending = 16
)

// check reports what makes an extender unusable.
func (x *Extender) check() error {
	switch {
	case x.URL == "":
		return errors.New("no URL")
	case x.Prioritize != "" && x.Weight <= 0:
		return fmt.Errorf("weight %d: want a positive one, for its scores", x.Weight)
	}
	return nil
}

func checkExtenders(list []Extender) error {
	binders := 0
	for i := range list {
		if err := list[i].check(); err != nil {
			return fmt.Errorf("scheduler: extender %d: %w", i, err)
		}
		if list[i].Bind != "" {
			binders++
		}
	}
	if binders > 1 {
		return fmt.Errorf("scheduler: %d extenders bind: want at most one", binders)
	}
	return nil
}

// interested reports whether the extender is to be called for a pod.
func (x *Extender) interested(pod *corev1.Pod) bool {
	if len(x.Resources) == 0 {
		return true
	}
	manages := func(c corev1.Container) bool {
		return slices.ContainsFunc(x.Resources, func(name corev1.ResourceName) bool {
			_, requested := c.Resources.Requests[name]
			_, limited := c.Resources.Limits[name]
			return requested || limited
		})
	}
	return slices.ContainsFunc(pod.Spec.Containers, manages) || slices.ContainsFunc(pod.Spec.InitContainers, manages)
}

// The requests and responses. Their names are those of k8s.io/kube-scheduler/extender/v1.
type (
	extenderArgs struct {
		Pod       json.RawMessage
		Nodes     *extenderNodes
		NodeNames *[]string
	}
	extenderNodes struct {
		Items []json.RawMessage `json:"items"`
	}
	extenderResult struct {
		Nodes *struct {
			Items []struct {
				Metadata struct {
					Name string `json:"name"`
				} `json:"metadata"`
			} `json:"items"`
		}
		NodeNames                               *[]string
		FailedNodes, FailedAndUnresolvableNodes map[string]string
		Error                                   string
	}
	extenderScore struct {
		Host  string
		Score int64
	}
	extenderVictims struct {
		Pods             []json.RawMessage
		NumPDBViolations int64
	}
	extenderMetaVictims struct {
		Pods             []extenderMetaPod
		NumPDBViolations int64
	}
	extenderMetaPod        struct{ UID types.UID }
	extenderPreemptionArgs struct {
		Pod                   json.RawMessage
		NodeNameToVictims     map[string]*extenderVictims
		NodeNameToMetaVictims map[string]*extenderMetaVictims
	}
	extenderPreemptionResult struct {
		NodeNameToMetaVictims map[string]*extenderMetaVictims
	}
	extenderBindingArgs struct {
		PodName, PodNamespace string
		PodUID                types.UID
		Node                  string
	}
)

// call posts a request and reads the response.
func (x *Extender) call(ctx context.Context, verb string, args, result any) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(x.Timeout, extenderTimeout))
	defer cancel()
	body, err := json.Marshal(args)
	if err != nil {
		return err
	}
	url := strings.TrimRight(x.URL, "/") + "/" + verb
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := cmp.Or(x.Client, http.DefaultClient).Do(req)
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		return err
	} else if err != nil {
		return &lostAnswer{err}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("failed %s with extender at URL %s, code %d", verb, url, resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxExtenderResponse+1))
	switch {
	case err != nil:
		return err
	case len(data) > maxExtenderResponse:
		return fmt.Errorf("response of %s is larger than %d bytes", url, maxExtenderResponse)
	}
	if err := json.Unmarshal(data, result); err != nil {
		return fmt.Errorf("response of %s: %w", url, err)
	}
	return nil
}

// lostAnswer is the error of a call that may have reached the extender.
type lostAnswer struct{ error }

// Unwrap returns what happened.
func (e *lostAnswer) Unwrap() error { return e.error }

// args are the arguments about a pod and nodes.
func (x *Extender) args(pod *corev1.Pod, nodes []*corev1.Node) (out extenderArgs, err error) {
	if out.Pod, err = codec.Marshal(pod); err != nil {
		return out, err
	}
	if x.NodeCacheCapable {
		names := make([]string, len(nodes))
		for i, n := range nodes {
			names[i] = n.Name
		}
		out.NodeNames = &names
		return out, nil
	}
	out.Nodes = &extenderNodes{Items: []json.RawMessage{}}
	for _, n := range nodes {
		raw, err := codec.Marshal(n)
		if err != nil {
			return out, err
		}
		out.Nodes.Items = append(out.Nodes.Items, raw)
	}
	return out, nil
}

// filter returns which of the nodes the extender leaves, and what it says of others.
func (x *Extender) filter(ctx context.Context, pod *corev1.Pod, nodes []*corev1.Node) (left map[string]bool, refused map[string]*Status, err error) {
	args, err := x.args(pod, nodes)
	if err != nil {
		return nil, nil, err
	}
	var r extenderResult
	if err := x.call(ctx, x.Filter, args, &r); err != nil {
		return nil, nil, err
	}
	if r.Error != "" {
		return nil, nil, errors.New(r.Error)
	}
	var names []string
	switch {
	case x.NodeCacheCapable && r.NodeNames != nil:
		names = *r.NodeNames
	case r.Nodes != nil:
		for _, n := range r.Nodes.Items {
			names = append(names, n.Metadata.Name)
		}
	}
	left, refused = map[string]bool{}, map[string]*Status{}
	for _, name := range names {
		if !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == name }) {
			return nil, nil, fmt.Errorf("extender %q claims a filtered node %q which is not found in the input node list", x.URL, name)
		}
		left[name] = true
	}
	for name, reason := range r.FailedNodes {
		refused[name] = refusal(Unschedulable, x.URL, reason)
	}
	for name, reason := range r.FailedAndUnresolvableNodes {
		refused[name] = refusal(UnschedulableAndUnresolvable, x.URL, reason)
	}
	return left, refused, nil
}

// prioritize returns the weighted scores of nodes. Those out of range count as the nearest in it.
func (x *Extender) prioritize(ctx context.Context, pod *corev1.Pod, nodes []*corev1.Node) (map[string]int64, error) {
	args, err := x.args(pod, nodes)
	if err != nil {
		return nil, err
	}
	var r []extenderScore
	if err := x.call(ctx, x.Prioritize, args, &r); err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, s := range r {
		out[s.Host] = min(max(s.Score, 0), maxExtenderScore) * x.Weight * (MaxNodeScore / maxExtenderScore)
	}
	return out, nil
}

// preempt returns those of the candidates, by node, that the extender leaves, with the victims it wants. The
// numbers of violated budgets are those that it says.
func (x *Extender) preempt(ctx context.Context, pod *corev1.Pod, candidates map[string]*candidate) (map[string]*candidate, error) {
	var args extenderPreemptionArgs
	var err error
	if args.Pod, err = codec.Marshal(pod); err != nil {
		return nil, err
	}
	for name, c := range candidates {
		if err := args.add(x, name, c); err != nil {
			return nil, err
		}
	}
	var r extenderPreemptionResult
	if err := x.call(ctx, x.Preempt, args, &r); err != nil {
		return nil, err
	}
	out := map[string]*candidate{}
	for name, v := range r.NodeNameToMetaVictims {
		switch {
		case candidates[name] == nil:
			return nil, fmt.Errorf("extender %q chooses node %q, which was not offered", x.URL, name)
		case v == nil || len(v.Pods) == 0:
			if x.Ignorable {
				continue
			}
			return nil, fmt.Errorf("expected at least one victim pod on node %q", name)
		}
		c := &candidate{violating: int(v.NumPDBViolations), nodePods: candidates[name].nodePods}
		for _, p := range v.Pods {
			known := c.nodePods[p.UID]
			if known == nil {
				return nil, fmt.Errorf("extender %q chooses pod %s, which is not on node %q", x.URL, p.UID, name)
			}
			c.victims = append(c.victims, known)
		}
		out[name] = c
	}
	return out, nil
}

// candidate is a set of pods whose end makes room on a node.
type candidate struct {
	victims   []*corev1.Pod
	violating int
	// nodePods are the pods of the node that may be ended.
	nodePods map[types.UID]*corev1.Pod
}

func (a *extenderPreemptionArgs) add(x *Extender, name string, c *candidate) error {
	if x.NodeCacheCapable {
		v := &extenderMetaVictims{NumPDBViolations: int64(c.violating), Pods: []extenderMetaPod{}}
		for _, p := range c.victims {
			v.Pods = append(v.Pods, extenderMetaPod{p.UID})
		}
		if a.NodeNameToMetaVictims == nil {
			a.NodeNameToMetaVictims = map[string]*extenderMetaVictims{}
		}
		a.NodeNameToMetaVictims[name] = v
		return nil
	}
	v := &extenderVictims{NumPDBViolations: int64(c.violating), Pods: []json.RawMessage{}}
	for _, p := range c.victims {
		raw, err := codec.Marshal(p)
		if err != nil {
			return err
		}
		v.Pods = append(v.Pods, raw)
	}
	if a.NodeNameToVictims == nil {
		a.NodeNameToVictims = map[string]*extenderVictims{}
	}
	a.NodeNameToVictims[name] = v
	return nil
}

// bindPod binds a pod.
func (x *Extender) bindPod(ctx context.Context, pod *corev1.Pod, node string) error {
	var r struct{ Error string }
	if err := x.call(ctx, x.Bind, extenderBindingArgs{pod.Name, pod.Namespace, pod.UID, node}, &r); err != nil {
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	return nil
}
