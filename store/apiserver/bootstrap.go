package apiserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/flowcontrolv1"
	"github.com/keelson-dev/keelson/apimachinery/api/networkingv1"
	"github.com/keelson-dev/keelson/apimachinery/api/schedulingv1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/backoff"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/store"
	"github.com/keelson-dev/keelson/store/flowcontrol"
)

// The service by which pods reach the server.
const kubernetesService = "kubernetes"

// bootstrap writes the objects every cluster has, those that are missing, in one transaction.
func (s *Server) bootstrap(ctx context.Context) error {
	if s.opts.NoBootstrap {
		return nil
	}
	if err := s.registry.Seed(ctx, s.systemObjects()...); err != nil {
		return fmt.Errorf("apiserver: bootstrap: %w", err)
	}
	if s.advertises() {
		if err := s.publishEndpoints(ctx); err != nil {
			return fmt.Errorf("apiserver: bootstrap: %w", err)
		}
	}
	return nil
}

// bootstrapRetry is how often the objects are tried again while the store cannot be reached.
var bootstrapRetry = backoff.Policy{Max: 5 * time.Second, Jitter: 0.5}

// bootstrapUntilDone writes the objects when the store can be reached, or until ctx ends. Meanwhile the
// server is alive but not ready.
func (s *Server) bootstrapUntilDone(ctx context.Context) error {
	return backoff.Retry(ctx, bootstrapRetry, outOfReach, func(ctx context.Context) error {
		err := s.bootstrap(ctx)
		if err != nil && ctx.Err() == nil && outOfReach(err) {
			s.logger.Warn("bootstrap failed, the store is unavailable", "err", err)
		}
		return err
	})
}

// outOfReach reports whether an error came of a store that did not answer, as another time it may.
func outOfReach(err error) bool {
	_, ok := errors.AsType[*store.UnavailableError](err)
	return ok || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsConflict(err) || errors.Is(err, context.DeadlineExceeded)
}

func (s *Server) systemObjects() []metav1.Object {
	var objs []metav1.Object
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		objs = append(objs, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	var cidrs []string
	for _, p := range s.kinds.ServiceRanges() {
		cidrs = append(cidrs, p.String())
	}
	objs = append(objs, &networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: cidrs},
		Status: networkingv1.ServiceCIDRStatus{Conditions: []metav1.Condition{{Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
			Reason: "Configured", Message: "The service range the server was started with.", LastTransitionTime: metav1.Now().Truncated()}}},
	}, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: kubernetesService, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{"component": "apiserver", "provider": "kubernetes"}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: s.kinds.ServiceAddress(1).String(),
			Ports: []corev1.ServicePort{{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromInt32(int32(s.opts.AdvertisePort))}},
		},
	})
	for _, gv := range s.localVersions() {
		objs = append(objs, apiService(gv))
	}
	schemas, levels := flowcontrol.Defaults()
	for _, l := range levels {
		objs = append(objs, l)
	}
	for _, f := range schemas {
		f.Status.Conditions = []flowcontrolv1.FlowSchemaCondition{dangling(f, true)}
		objs = append(objs, f)
	}
	for _, c := range []struct {
		name  string
		value int32
		text  string
	}{
		{"system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."},
		{"system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
	} {
		objs = append(objs, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}, Value: c.value, Description: c.text})
	}
	return objs
}
