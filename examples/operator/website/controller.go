package website

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/apierrors"
	"github.com/keelson-dev/keelson/apimachinery/codec"
	"github.com/keelson-dev/keelson/apimachinery/intstr"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/controllers/reconcile"
	"github.com/keelson-dev/keelson/informers"
)

// Name of the controller, and the field manager of what it applies.
const Name = "website"

// Label of the Deployment, its pods and the Service: the name of the Website.
const Label = "demo.keelson.dev/website"

// Add adds the controller to a manager, in whose scheme Website must be registered; see Register.
func Add(m *manager.Manager) error {
	r := &reconciler{
		sites:       informers.For[*Website](m.Informers()).Lister(),
		deployments: informers.For[*appsv1.Deployment](m.Informers()).Lister(),
		status:      client.For[*Website](m.Conn()),
		apply:       client.For[*appsv1.Deployment](m.Conn()),
		expose:      client.For[*corev1.Service](m.Conn()),
	}
	_, err := controllers.Add(m, Name, r, controllers.Options{},
		controllers.For[*Website](),
		controllers.Owns[*Website, *appsv1.Deployment](),
		controllers.Owns[*Website, *corev1.Service]())
	return err
}

type reconciler struct {
	sites       informers.Lister[*Website]
	deployments informers.Lister[*appsv1.Deployment]
	status      *client.Client[*Website]
	apply       *client.Client[*appsv1.Deployment]
	expose      *client.Client[*corev1.Service]
}

// Reconcile applies the Deployment and the Service of the Website, and updates its status. An apply that
// changes nothing writes nothing; the objects of a deleted Website are removed by the garbage collector.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	site, err := r.sites.Get(req)
	if apierrors.IsNotFound(err) || err == nil && metav1.IsTerminating(site) {
		return reconcile.Result{}, nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if d, err := r.deployments.Get(req); err == nil && !metav1.IsControlledBy(d, site.UID) {
		return reconcile.Result{}, r.report(ctx, site, notReady("NameTaken", "a Deployment of this name has another owner"))
	}
	o := client.ApplyOptions{FieldManager: Name, Force: true}
	d, err := r.apply.Apply(ctx, deploymentFor(site), o)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("apply the Deployment: %w", err)
	}
	if _, err := r.expose.Apply(ctx, serviceFor(site), o); err != nil {
		return reconcile.Result{}, fmt.Errorf("apply the Service: %w", err)
	}
	return reconcile.Result{}, r.report(ctx, site, statusOf(site, d))
}

// report writes the status if it has changed.
func (r *reconciler) report(ctx context.Context, site *Website, s observed) error {
	before := codec.DeepCopy(site.Status)
	s.condition.Type, s.condition.ObservedGeneration = "Ready", site.Generation
	site.Status.ObservedGeneration, site.Status.ReadyReplicas, site.Status.URL = site.Generation, s.ready, s.url
	metav1.SetCondition(&site.Status.Conditions, s.condition)
	if codec.Equal(&before, &site.Status) {
		return nil
	}
	_, err := r.status.UpdateStatus(ctx, site)
	return err
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

func statusOf(site *Website, d *appsv1.Deployment) observed {
	want := replicas(site)
	s := notReady("Progressing", fmt.Sprintf("%d of %d replicas are ready", d.Status.ReadyReplicas, want))
	if d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas >= want && d.Status.ReadyReplicas >= want {
		s.condition.Status, s.condition.Reason = metav1.ConditionTrue, "AllReplicasReady"
	}
	s.ready = d.Status.ReadyReplicas
	s.url = "http://" + net.JoinHostPort(site.Name+"."+site.Namespace+".svc", strconv.Itoa(int(site.Spec.Port)))
	return s
}

func replicas(site *Website) int32 {
	if site.Spec.Replicas == nil {
		return 1
	}
	return *site.Spec.Replicas
}

// owned returns the metadata of the objects of a website.
func owned(site *Website) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: site.Namespace, Name: site.Name, Labels: map[string]string{Label: site.Name},
		OwnerReferences: []metav1.OwnerReference{metav1.NewControllerRef(site, GroupVersion.WithKind("Website"))},
	}
}

func deploymentFor(site *Website) *appsv1.Deployment {
	labels := map[string]string{Label: site.Name}
	return &appsv1.Deployment{
		ObjectMeta: owned(site),
		Spec: appsv1.DeploymentSpec{
			Replicas: new(replicas(site)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "web", Image: site.Spec.Image,
					Ports:          []corev1.ContainerPort{{Name: "http", ContainerPort: site.Spec.Port, Protocol: corev1.ProtocolTCP}},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString("http")}}},
				}}},
			},
		},
	}
}

func serviceFor(site *Website) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: owned(site),
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{Label: site.Name},
			Ports:    []corev1.ServicePort{{Name: "http", Port: site.Spec.Port, TargetPort: intstr.FromString("http"), Protocol: corev1.ProtocolTCP}},
		},
	}
}
