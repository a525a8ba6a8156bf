// Package website is the controller of the kind Website: of each it makes a Deployment and a Service, and it
// lists the hosts of a namespace's websites in a ConfigMap. Its reconciler declares the desired state by
// server-side apply, so that a reconcile that changes nothing writes nothing.
package website

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/client/events"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	v1 "github.com/keelson-dev/keelson/examples/operator/api/v1"
	"github.com/keelson-dev/keelson/informers"
)

// Name of the controller, and the field manager of what it applies.
const Name = "website"

// Label of the Deployment, its pods and the Service: the name of the Website.
const Label = "demo.keelson.dev/website"

// DefaultDomain is the domain of hosts unless Options have another one.
const DefaultDomain = "websites.example"

// The reasons of the condition Ready.
const (
	reasonReady       = "AllReplicasReady"
	reasonProgressing = "Progressing"
	reasonNameTaken   = "NameTaken"
	reasonHostTaken   = "HostTaken"
)

// takenRetry is the time until a name or host that was taken is tried again: nothing says when it is free.
const takenRetry = time.Minute

// Options of the controller. The zero value works.
type Options struct {
	// Domain is the end of the hosts of websites that name none; empty means DefaultDomain.
	Domain string
	// Metrics, if not nil, registers the controller's own metric, website_transitions_total.
	Metrics prometheus.Registerer
}

// The rights of the controller, where its websites are:
// +kubebuilder:rbac:groups=demo.keelson.dev,resources=websites,verbs=list;watch;patch
// +kubebuilder:rbac:groups=demo.keelson.dev,resources=websites/status,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=core,resources=services,verbs=list;watch;create;patch
// +kubebuilder:rbac:groups=core,resources=configmaps,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=core,resources=events,verbs=create;patch

// Add adds the controller to a manager, in whose scheme v1.Website must be registered.
func Add(m *manager.Manager, opts Options) error {
	r := &reconciler{
		opts: opts, recorder: m.Recorder(Name), metrics: newMetrics(opts.Metrics),
		sites:       informers.For[*v1.Website](m.Informers()).Lister(),
		deployments: informers.For[*appsv1.Deployment](m.Informers()).Lister(),
		websites:    client.For[*v1.Website](m.Conn()),
		apply:       client.For[*appsv1.Deployment](m.Conn()),
		expose:      client.For[*corev1.Service](m.Conn()),
		index:       hostIndex{client.For[*corev1.ConfigMap](m.Conn())},
	}
	r.opts.Domain = cmp.Or(opts.Domain, DefaultDomain)
	if err := r.finalizers.Add(Finalizer, r.unlist); err != nil {
		return err
	}
	_, err := controllers.Add(m, Name, r, controllers.Options{},
		controllers.For[*v1.Website](),
		controllers.Owns[*v1.Website, *appsv1.Deployment](),
		controllers.Owns[*v1.Website, *corev1.Service]())
	return err
}

type reconciler struct {
	opts        Options
	recorder    *events.Recorder
	metrics     metrics
	sites       informers.Lister[*v1.Website]
	deployments informers.Lister[*appsv1.Deployment]
	websites    *client.Client[*v1.Website]
	apply       *client.Client[*appsv1.Deployment]
	expose      *client.Client[*corev1.Service]
	index       hostIndex
	finalizers  controllers.Finalizers[*v1.Website]
}

// Reconcile applies the Deployment, the Service and the entry of the Website, and updates its status. The
// objects of a deleted Website are removed by the garbage collector, its entry by the finalizer.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	site, err := r.sites.Get(req)
	if err != nil {
		return reconcile.Result{}, apierrors.IgnoreNotFound(err)
	}
	site, deleting, err := r.finalizers.Run(ctx, r.websites, site)
	if deleting || err != nil {
		return reconcile.Result{}, err
	}
	if d, err := r.deployments.Get(req); err == nil && !metav1.IsControlledBy(d, site.UID) {
		return reconcile.Result{RequeueAfter: takenRetry}, r.report(ctx, site, notReady(reasonNameTaken, "a Deployment of this name has another owner"))
	}
	o := client.ApplyOptions{FieldManager: Name, Force: true}
	d, err := r.apply.Apply(ctx, deploymentFor(site), o)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply the Deployment: %w", err)
	}
	if _, err := r.expose.Apply(ctx, serviceFor(site), o); err != nil {
		return reconcile.Result{}, fmt.Errorf("apply the Service: %w", err)
	}
	host := site.HostIn(r.opts.Domain)
	if err := r.index.set(ctx, site, host); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: takenRetry}, r.report(ctx, site, notReady(reasonHostTaken, "another website has the host "+host))
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("list the host: %w", err)
	}
	return reconcile.Result{}, r.report(ctx, site, statusOf(site, d))
}

// unlist is the finalizer: it removes the host of a deleted Website.
func (r *reconciler) unlist(ctx context.Context, site *v1.Website) error {
	removed, err := r.index.remove(ctx, site)
	if removed {
		r.recorder.Event(site, events.Normal, "Unlisted", "removed its host from ConfigMap "+IndexName)
	}
	return err
}

// report writes the status if it has changed. Changes of the condition's reason are recorded as events.
func (r *reconciler) report(ctx context.Context, site *v1.Website, s observed) error {
	before := codec.DeepCopy(site.Status)
	s.condition.Type, s.condition.ObservedGeneration = "Ready", site.Generation
	site.Status.ObservedGeneration, site.Status.ReadyReplicas, site.Status.URL = site.Generation, s.ready, s.url
	metav1.SetCondition(&site.Status.Conditions, s.condition)
	if codec.Equal(&before, &site.Status) {
		return nil
	}
	site, err := r.websites.UpdateStatus(ctx, site)
	if err != nil {
		return err
	}
	was := metav1.FindCondition(before.Conditions, "Ready")
	if was != nil && was.Reason == s.condition.Reason {
		return nil
	}
	r.metrics.transitions.WithLabelValues(s.condition.Reason).Inc()
	switch s.condition.Reason {
	case reasonReady:
		r.recorder.Eventf(site, events.Normal, "Ready", "%d replicas serve %s", s.ready, s.url)
	case reasonNameTaken, reasonHostTaken:
		r.recorder.Event(site, events.Warning, s.condition.Reason, s.condition.Message)
	}
	return nil
}

// observed is the state that a reconcile found.
type observed struct {
	ready     int32
	url       string
	condition metav1.Condition
}

func notReady(reason, message string) observed {
	return observed{condition: metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}}
}

func statusOf(site *v1.Website, d *appsv1.Deployment) observed {
	want := replicas(site)
	s := notReady(reasonProgressing, fmt.Sprintf("%d of %d replicas are ready", d.Status.ReadyReplicas, want))
	if d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= want && d.Status.ReadyReplicas >= want {
		s.condition.Status, s.condition.Reason = metav1.ConditionTrue, reasonReady
	}
	s.ready = d.Status.ReadyReplicas
	s.url = "http://" + net.JoinHostPort(site.Name+"."+site.Namespace+".svc", strconv.Itoa(int(site.Spec.Port)))
	return s
}

func replicas(site *v1.Website) int32 {
	if site.Spec.Replicas == nil {
		return 1
	}
	return *site.Spec.Replicas
}

// owned returns the metadata of the objects of a website.
func owned(site *v1.Website) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: site.Namespace, Name: site.Name, Labels: map[string]string{Label: site.Name},
		OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(site, v1.GroupVersion.WithKind("Website"))},
	}
}

func deploymentFor(site *v1.Website) *appsv1.Deployment {
	labels := map[string]string{Label: site.Name}
	var env []corev1.EnvVar
	for _, name := range slices.Sorted(maps.Keys(site.Spec.Environment)) {
		env = append(env, corev1.EnvVar{Name: name, Value: site.Spec.Environment[name]})
	}
	return &appsv1.Deployment{
		ObjectMeta: owned(site),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas(site)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: site.Spec.Image, Env: env,
					Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: site.Spec.Port, Protocol: corev1.ProtocolTCP}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}},
				}}},
			},
		},
	}
}

func serviceFor(site *v1.Website) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: owned(site),
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{Label: site.Name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: site.Spec.Port, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		},
	}
}
