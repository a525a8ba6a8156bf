package load

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/types"
	"github.com/keelson-dev/keelson/client"
)

// phase is one kind of load. Either each of its operations is one call of do, or it runs as a whole.
type phase struct {
	name  string
	count func(l *Load) int
	do    func(ctx context.Context, l *Load, conn client.Conn, n int) error
	whole func(ctx context.Context, l *Load) ([]time.Duration, error)
}

func objects(l *Load) int { return l.Objects }
func lists(l *Load) int   { return l.Lists }

// phases are all phases in order: the lists come first, because the writes make the objects larger.
var phases = []phase{
	{name: "create", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		_, err := client.For[*corev1.Pod](conn).Create(ctx, Pod(l.Namespace, n))
		return err
	}},
	{name: "get", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		_, err := client.For[*corev1.Pod](conn).Get(ctx, l.key(n))
		return err
	}},
	{name: "list", count: lists, do: func(ctx context.Context, l *Load, conn client.Conn, _ int) error {
		return l.list(ctx, conn, "application/json", client.ListOptions{})
	}},
	{name: "list-protobuf", count: lists, do: func(ctx context.Context, l *Load, conn client.Conn, _ int) error {
		return l.list(ctx, conn, "application/vnd.kubernetes.protobuf", client.ListOptions{})
	}},
	{name: "list-label", count: lists, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		one := labels.SelectorFromSet(map[string]string{"shard": strconv.Itoa(n % shards)})
		return l.list(ctx, conn, "application/json", client.ListOptions{LabelSelector: one})
	}},
	{name: "update", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		_, err := client.Update(ctx, client.For[*corev1.Pod](conn), l.key(n), func(p *corev1.Pod) error {
			p.Annotations = map[string]string{"loadtest/updated": strconv.Itoa(n)}
			return nil
		})
		return err
	}},
	{name: "patch", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		change := fmt.Appendf(nil, `{"metadata":{"annotations":{"loadtest/patched":"%d"}}}`, n)
		_, err := client.For[*corev1.Pod](conn).Patch(ctx, l.key(n), client.Patch{Type: types.MergePatchType, Data: change})
		return err
	}},
	{name: "status", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		change := fmt.Appendf(nil, `{"status":{"phase":"Running","message":"patched %d"}}`, n)
		_, err := client.For[*corev1.Pod](conn).Patch(ctx, l.key(n), client.Patch{Type: types.MergePatchType, Data: change}, client.PatchOptions{Subresource: "status"})
		return err
	}},
	{name: "apply", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: "config-" + strconv.Itoa(n%100)}, Data: map[string]string{"key": "value"}}
		if n*100 < l.Objects*l.Changes {
			cm.Data["key"] = strconv.Itoa(n)
		}
		_, err := client.For[*corev1.ConfigMap](conn).Apply(ctx, cm, client.ApplyOptions{FieldManager: "loadtest", Force: true})
		return err
	}},
	{name: "watch", whole: fanOut},
	{name: "delete", count: objects, do: func(ctx context.Context, l *Load, conn client.Conn, n int) error {
		now := int64(0)
		return client.For[*corev1.Pod](conn).Delete(ctx, l.key(n), client.DeleteOptions{GracePeriodSeconds: &now})
	}},
}

// Names lists the phases.
func Names() []string {
	var all []string
	for _, p := range phases {
		all = append(all, p.name)
	}
	return all
}

// shards is how many values the label has by which the list-label phase selects.
const shards = 50

func (l *Load) key(n int) types.NamespacedName { return Key(l.Namespace, n) }

// Key returns the key of the n-th pod.
func Key(namespace string, n int) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: "pod-" + strconv.Itoa(n)}
}

// list reads a whole list without decoding it: what is measured is the server.
func (l *Load) list(ctx context.Context, conn client.Conn, accept string, o client.ListOptions) error {
	query := map[string][]string{}
	if !o.LabelSelector.Empty() {
		query["labelSelector"] = []string{o.LabelSelector.String()}
	}
	_, err := conn.Do(ctx, &client.Request{Resource: client.For[*corev1.Pod](conn).Resource().GVR, Namespace: l.Namespace, Query: query, Accept: accept})
	return err
}

// ChangedAt is the annotation that carries the number of a change and its time to the watchers.
const ChangedAt = "loadtest/changed-at"

// fanOut opens all watches, changes one pod again and again, and returns how long after a change each watcher
// saw it.
func fanOut(ctx context.Context, l *Load) ([]time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	list, err := client.For[*corev1.Pod](l.conns[0]).List(ctx, client.ListOptions{Namespace: l.Namespace, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("there is no pod to change")
	}
	subject := metav1.KeyOf(list.Items[0])
	seen := make([][]time.Duration, l.Watchers)
	var delivered atomic.Int64
	opened := make(chan struct{}, l.Watchers)
	var watchers sync.WaitGroup
	for i := range l.Watchers {
		watchers.Go(func() {
			o := client.WatchOptions{Namespace: l.Namespace, ResourceVersion: list.ResourceVersion}
			reported := false
			for e, err := range client.For[*corev1.Pod](l.conns[i%len(l.conns)]).Watch(ctx, o) {
				if err != nil {
					cancel(fmt.Errorf("watch: %w", err))
					return
				}
				n, at, isChange := parseChange(e.Object.Annotations[ChangedAt])
				if !isChange {
					continue
				}
				if n == 0 { // detects which watchers are connected
					if !reported {
						reported = true
						opened <- struct{}{}
					}
					continue
				}
				seen[i] = append(seen[i], time.Since(at))
				delivered.Add(1)
				if len(seen[i]) == l.Events {
					return
				}
			}
		})
	}
	err = l.change(ctx, subject, 0)
	for range l.Watchers {
		select {
		case <-opened:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	for n := 1; n <= l.Events && err == nil; n++ {
		err = l.change(ctx, subject, n)
		l.progress.show("watch", int(delivered.Load()), l.Watchers*l.Events)
	}
	if err != nil {
		cancel(err)
	}
	watchers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return slices.Concat(seen...), cause
	}
	return slices.Concat(seen...), nil
}

// change makes the n-th change, at this time.
func (l *Load) change(ctx context.Context, key types.NamespacedName, n int) error {
	change := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d %d"}}}`, ChangedAt, n, time.Now().UnixNano())
	_, err := client.For[*corev1.Pod](l.conns[rand.IntN(len(l.conns))]).Patch(ctx, key, client.Patch{Type: types.MergePatchType, Data: change})
	return err
}

func parseChange(text string) (n int, at time.Time, ok bool) {
	var nanos int64
	if _, err := fmt.Sscanf(text, "%d %d", &n, &nanos); err != nil {
		return 0, time.Time{}, false
	}
	return n, time.Unix(0, nanos), true
}
