package builtin_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/keelson-dev/keelson/apimachinery/api"
	"github.com/keelson-dev/keelson/apimachinery/api/apiserverinternalv1alpha1"
	"github.com/keelson-dev/keelson/apimachinery/api/appsv1"
	"github.com/keelson-dev/keelson/apimachinery/api/autoscalingv2"
	"github.com/keelson-dev/keelson/apimachinery/api/batchv1"
	"github.com/keelson-dev/keelson/apimachinery/api/certificatesv1beta1"
	"github.com/keelson-dev/keelson/apimachinery/api/coordinationv1"
	"github.com/keelson-dev/keelson/apimachinery/api/corev1"
	"github.com/keelson-dev/keelson/apimachinery/api/discoveryv1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1alpha3"
	"github.com/keelson-dev/keelson/apimachinery/api/resourcev1beta2"
	"github.com/keelson-dev/keelson/apimachinery/api/storagev1"
	"github.com/keelson-dev/keelson/apimachinery/labels"
	"github.com/keelson-dev/keelson/apimachinery/metav1"
	"github.com/keelson-dev/keelson/apimachinery/resource"
	"github.com/keelson-dev/keelson/apimachinery/scheme"
	"github.com/keelson-dev/keelson/client"
	"github.com/keelson-dev/keelson/controllers/builtin"
	"github.com/keelson-dev/keelson/controllers/builtin/attachdetach"
	"github.com/keelson-dev/keelson/controllers/builtin/certificates"
	"github.com/keelson-dev/keelson/controllers/builtin/horizontalpodautoscaler"
	"github.com/keelson-dev/keelson/controllers/builtin/nodeipam"
	"github.com/keelson-dev/keelson/controllers/controllertest"
	"github.com/keelson-dev/keelson/controllers/manager"
	"github.com/keelson-dev/keelson/store/apiserver"
	"github.com/keelson-dev/keelson/store/authz"
	"github.com/keelson-dev/keelson/store/certs"
)

// restart is a history in which the process of a controller ends after each of its writes.
type restart struct {
	controller string
	// long is true if it takes days, so that not all faults are tried at each write.
	long bool
	// before makes the objects, and after, if not nil, changes them a minute later.
	before, after func(c *controllertest.Cluster)
	// state is the end state, without what differs from run to run.
	state func(c *controllertest.Cluster) []string
}

// accounts is what the names of the service accounts of controllers begin with.
const accounts = "system:serviceaccount:kube-system:"

// starter is the user of a process that runs controllers, who writes for those without an account.
var starter = client.User{Name: "controllers", Groups: []string{"system:masters"}}

// process selects the requests of processes.
var process = controllertest.Requests{Matches: func(a authz.Attributes) bool { return a.User != nil && isProcess(a.User.Name) }}

func isProcess(user string) bool { return user == starter.Name || strings.HasPrefix(user, accounts) }

// start starts a process that runs the controller, which writes as its service account and so with its role.
func (r *restart) start(c *controllertest.Cluster, name string, opts builtin.Options) (stop func()) {
	return c.Run(c.ManagerOver(c.Conn(of(name, starter)), name, func(m *manager.Manager) error { return r.add(c, m, name, opts) }))
}

// add adds the controller to the manager of a process.
func (r *restart) add(c *controllertest.Cluster, m *manager.Manager, name string, opts builtin.Options) error {
	opts.Controllers = []string{r.controller}
	opts.Connect = func(account string) (client.Conn, error) {
		return c.Conn(of(name, client.User{Name: accounts + account, Groups: []string{"system:serviceaccounts", "system:authenticated"}})), nil
	}
	return builtin.Add(m, opts)
}

// of returns a user whose requests show which process they are of.
func of(name string, user client.User) client.User {
	user.Extra = map[string][]string{"process": {name}}
	return user
}

// outcome is how a history ends.
type outcome struct {
	state []string
	// work is how many objects of each resource the processes have created and deleted: nothing is made, or
	// deleted, twice.
	work []string
}

// play plays a history. begin starts processes and may inject faults; what it returns, if not nil, is called
// after each part of the history.
func (r *restart) play(t *testing.T, begin func(c *controllertest.Cluster) (then func())) (end outcome) {
	synctest.Test(t, func(t *testing.T) {
		c := controllertest.Start(t, cluster())
		then := begin(c)
		next := func() {
			c.Sleep(time.Minute)
			if then != nil {
				then()
			}
		}
		r.before(c)
		next()
		if r.after != nil {
			r.after(c)
			next()
		}
		end = outcome{r.state(c), workOf(c.History())}
	})
	return end
}

// workOf counts what processes have created and deleted.
func workOf(h *controllertest.History) (lines []string) {
	counts := map[string]int{}
	for _, w := range h.Writes {
		if isProcess(w.User) && w.Verb != "update" && w.Resource.Resource != "events" && w.Resource.Resource != "leases" {
			counts[w.Verb+" "+w.Resource.String()]++
		}
	}
	for what, n := range counts {
		lines = append(lines, fmt.Sprint(what, ": ", n))
	}
	slices.Sort(lines)
	return lines
}

// crashed plays a history in which the first process ends at its write number n, counted from 0, which the
// server makes if done is true. A second one begins after the part of the history in which that happens.
func (r *restart) crashed(t *testing.T, opts builtin.Options, n int, done bool) (end outcome, ended bool) {
	end = r.play(t, func(c *controllertest.Cluster) func() {
		crash := c.Crash(process, n, done)
		stop := r.start(c, "first", opts)
		return func() {
			if ended || !crash.Happened() {
				return
			}
			ended = true
			stop()
			crash.Remove()
			r.start(c, "second", opts)
			c.Sleep(time.Minute)
		}
	})
	return end, ended
}

// cluster are the options of a cluster that serves every kind that can be switched on.
func cluster() controllertest.Options {
	s := gatedSchemes()
	return controllertest.Options{Scheme: s.known, Server: apiserver.Options{Scheme: s.served}}
}

// schemes are what a server has and what clients have of the kinds.
type schemes struct{ served, known *scheme.Scheme }

// gatedSchemes are frozen, so that the servers of the tests share what follows from them.
var gatedSchemes = sync.OnceValue(func() (s schemes) {
	s.known = api.Scheme().Clone()
	served, err := apiserver.BuiltinScheme()
	s.served = served
	for _, g := range api.AllGated() {
		err = errors.Join(err, g.AddToScheme(s.served), g.AddRules(s.served), g.AddToScheme(s.known))
	}
	if err != nil {
		panic(err)
	}
	s.served.Freeze()
	s.known.Freeze()
	return s
})

// gated are the features of all kinds that can be switched on.
func gated() (features []string) {
	for _, g := range api.AllGated() {
		features = append(features, g.Feature)
	}
	return features
}

// list describes objects by their names, without what is generated of them, and what text says of each.
func list[T metav1.Object](c *controllertest.Cluster, namespace string, text func(T) any) []string {
	var out []string
	for _, obj := range controllertest.List[T](c, namespace) {
		m := metav1.MetaOf(obj)
		name := m.Name
		if m.GenerateName != "" {
			name = m.GenerateName + "*"
		}
		for _, ref := range m.OwnerReferences {
			name += " of " + ref.Name
		}
		if m.DeletionTimestamp != nil {
			name += ", deleted"
		}
		out = append(out, fmt.Sprint(name, ": ", text(obj)))
	}
	slices.Sort(out)
	return out
}

func podTemplate() corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{}
	t.Labels = map[string]string{"app": "web"}
	t.Spec.Containers = []corev1.Container{{Name: "main", Image: "app:1"}}
	return t
}

func podState(p *corev1.Pod) any { return p.Labels["app"] }

// runningPod creates a ready pod with an address.
func runningPod(c *controllertest.Cluster, name, address string) {
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name), Spec: podTemplate().Spec}
	p.Labels = podTemplate().Labels
	controllertest.Create(c, p)
	controllertest.UpdateStatus(c, "default", name, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.PodIP, p.Status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
}

func webService(selector map[string]string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: controllertest.Name("default", "web")}
	s.Spec.Selector = selector
	s.Spec.Ports = []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	return s
}

func sliceState(s *discoveryv1.EndpointSlice) any {
	out := string(s.AddressType)
	for _, e := range s.Endpoints {
		out += " " + e.Addresses[0]
	}
	return out
}

// restarts are the histories.
var restarts = []restart{
	{controller: "replicationcontroller-controller",
		before: func(c *controllertest.Cluster) {
			rc := &corev1.ReplicationController{ObjectMeta: controllertest.Name("default", "web")}
			rc.Spec.Replicas, rc.Spec.Template = new(int32(3)), new(podTemplate())
			controllertest.Create(c, rc)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "web", func(rc *corev1.ReplicationController) { rc.Spec.Replicas = new(int32(1)) })
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", podState), list(c, "default", func(rc *corev1.ReplicationController) any { return rc.Status })...)
		}},
	{controller: "replicaset-controller",
		before: func(c *controllertest.Cluster) {
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
			rs.Spec.Replicas, rs.Spec.Template = new(int32(3)), podTemplate()
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
			controllertest.Create(c, rs)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Spec.Replicas = new(int32(1)) })
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", podState), list(c, "default", func(rs *appsv1.ReplicaSet) any { return rs.Status.Replicas })...)
		}},
	{controller: "statefulset-controller",
		before: func(c *controllertest.Cluster) {
			set := &appsv1.StatefulSet{ObjectMeta: controllertest.Name("default", "db")}
			set.Spec.Replicas, set.Spec.Template, set.Spec.PodManagementPolicy = new(int32(3)), podTemplate(), appsv1.ParallelPodManagement
			set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claimSpec()}
			set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{claim}
			controllertest.Create(c, set)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "db", func(set *appsv1.StatefulSet) { set.Spec.Replicas = new(int32(1)) })
		},
		state: func(c *controllertest.Cluster) []string {
			out := append(list(c, "default", podState), list(c, "default", claimState)...)
			out = append(out, list(c, "default", func(r *appsv1.ControllerRevision) any { return r.Revision })...)
			return append(out, list(c, "default", func(s *appsv1.StatefulSet) any { return s.Status.Replicas })...)
		}},
	{controller: "daemonset-controller",
		before: func(c *controllertest.Cluster) {
			for i := range 3 {
				controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", fmt.Sprint("node-", i))})
			}
			set := &appsv1.DaemonSet{ObjectMeta: controllertest.Name("default", "agent")}
			set.Spec.Template = podTemplate()
			// Nodes have the taint of those that are not ready.
			set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			set.Spec.Selector = &metav1.LabelSelector{MatchLabels: set.Spec.Template.Labels}
			controllertest.Create(c, set)
		},
		after: func(c *controllertest.Cluster) { controllertest.Delete[*corev1.Node](c, "", "node-1") },
		state: func(c *controllertest.Cluster) []string {
			out := append(list(c, "default", podState), list(c, "default", func(r *appsv1.ControllerRevision) any { return r.Revision })...)
			return append(out, list(c, "default", func(s *appsv1.DaemonSet) any { return s.Status.DesiredNumberScheduled })...)
		}},
	{controller: "cronjob-controller",
		before: func(c *controllertest.Cluster) {
			cj := &batchv1.CronJob{ObjectMeta: controllertest.Name("default", "report")}
			cj.Spec.Schedule, cj.Spec.ConcurrencyPolicy = "0 * * * *", batchv1.ReplaceConcurrent
			cj.Spec.JobTemplate.Spec.Template = podTemplate()
			cj.Spec.JobTemplate.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
			controllertest.Create(c, cj)
			c.Sleep(time.Hour)
		},
		after: func(c *controllertest.Cluster) { c.Sleep(time.Hour) },
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(*batchv1.Job) any { return "" }),
				list(c, "default", func(cj *batchv1.CronJob) any {
					return fmt.Sprint(len(cj.Status.Active), cj.Status.LastScheduleTime.UTC())
				})...)
		}},
	{controller: "job-controller",
		before: func(c *controllertest.Cluster) { controllertest.Create(c, work()) },
		after: func(c *controllertest.Cluster) {
			for _, p := range controllertest.List[*corev1.Pod](c, "default") {
				controllertest.UpdateStatus(c, "default", p.Name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(p *corev1.Pod) any { return p.Finalizers }),
				list(c, "default", func(j *batchv1.Job) any { return fmt.Sprint(j.Status.Succeeded, len(j.Status.Conditions)) })...)
		}},
	{controller: "ttl-after-finished-controller",
		before: func(c *controllertest.Cluster) {
			j := work()
			j.Spec.TTLSecondsAfterFinished = new(int32(10))
			controllertest.Create(c, j)
			finish(c, "work")
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(j *batchv1.Job) any { return j.Finalizers })
		}},
	{controller: "deployment-controller",
		before: func(c *controllertest.Cluster) {
			d := &appsv1.Deployment{ObjectMeta: controllertest.Name("default", "web")}
			d.Spec.Replicas, d.Spec.Template, d.Spec.RevisionHistoryLimit = new(int32(3)), podTemplate(), new(int32(0))
			d.Spec.Selector = &metav1.LabelSelector{MatchLabels: d.Spec.Template.Labels}
			controllertest.Create(c, d)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "app:2" })
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(rs *appsv1.ReplicaSet) any { return *rs.Spec.Replicas }),
				list(c, "default", func(d *appsv1.Deployment) any { return fmt.Sprint(d.Annotations, len(d.Status.Conditions)) })...)
		}},
	{controller: "ephemeral-volume-controller",
		before: func(c *controllertest.Cluster) {
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			for _, name := range []string{"a", "b"} {
				p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
					Ephemeral: &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{Spec: claimSpec()}}}})
			}
			controllertest.Create(c, p)
		},
		state: func(c *controllertest.Cluster) []string { return list(c, "default", claimState) }},
	{controller: "endpoints-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(podTemplate().Labels))
			runningPod(c, "a", "10.0.0.1")
		},
		after: func(c *controllertest.Cluster) { runningPod(c, "b", "10.0.0.2") },
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(e *corev1.Endpoints) any {
				out := ""
				for _, s := range e.Subsets {
					for _, a := range s.Addresses {
						out += a.IP + " "
					}
				}
				return out
			})
		}},
	{controller: "endpointslice-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(podTemplate().Labels))
			runningPod(c, "a", "10.0.0.1")
		},
		after: func(c *controllertest.Cluster) { runningPod(c, "b", "10.0.0.2") },
		state: func(c *controllertest.Cluster) []string { return list(c, "default", sliceState) }},
	{controller: "endpointslice-mirroring-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, webService(nil))
			e := &corev1.Endpoints{ObjectMeta: controllertest.Name("default", "web")}
			e.Subsets = []corev1.EndpointSubset{{Ports: []corev1.EndpointPort{{Port: 80, Protocol: corev1.ProtocolTCP}},
				Addresses: []corev1.EndpointAddress{{IP: "192.0.2.1"}, {IP: "2001:db8::1"}}}}
			controllertest.Create(c, e)
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "web", func(e *corev1.Endpoints) { e.Subsets[0].Addresses[0].IP = "192.0.2.2" })
		},
		state: func(c *controllertest.Cluster) []string { return list(c, "default", sliceState) }},
	{controller: "ttl-controller",
		before: func(c *controllertest.Cluster) {
			for i := range 3 {
				controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", fmt.Sprint("node-", i))})
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(n *corev1.Node) any { return n.Annotations })
		}},
	{controller: "node-ipam-controller",
		before: func(c *controllertest.Cluster) {
			for i := range 3 {
				controllertest.Create(c, &corev1.Node{ObjectMeta: controllertest.Name("", fmt.Sprint("node-", i))})
			}
		},
		// Which node has which range depends on their order; none has that of another.
		state: func(c *controllertest.Cluster) (out []string) {
			for _, n := range controllertest.List[*corev1.Node](c, "") {
				out = append(out, n.Spec.PodCIDRs...)
			}
			slices.Sort(out)
			return append(slices.Compact(out), fmt.Sprint(len(out)))
		}},
	{controller: "persistentvolume-binder-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, &storagev1.StorageClass{ObjectMeta: controllertest.Name("", "made"), Provisioner: "example.com/disks"})
			for name, class := range map[string]string{"bound": "disk", "made": "made"} {
				pvc := &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", name), Spec: claimSpec()}
				pvc.Spec.StorageClassName = &class
				controllertest.Create(c, pvc)
			}
			controllertest.Create(c, diskVolume("disk-1"))
		},
		after: func(c *controllertest.Cluster) {
			controllertest.Update(c, "default", "bound", func(p *corev1.PersistentVolumeClaim) { p.Finalizers = nil })
			controllertest.Delete[*corev1.PersistentVolumeClaim](c, "default", "bound")
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(p *corev1.PersistentVolumeClaim) any {
				return fmt.Sprint(p.Spec.VolumeName, p.Status.Phase, p.Annotations)
			}),
				list(c, "", func(v *corev1.PersistentVolume) any {
					return fmt.Sprint(v.Status.Phase, v.Annotations, v.Spec.ClaimRef.Name)
				})...)
		}},
	{controller: "persistentvolume-attach-detach-controller",
		before: func(c *controllertest.Cluster) {
			n := &corev1.Node{ObjectMeta: controllertest.Name("", "node-1")}
			n.Annotations = map[string]string{attachdetach.ManagedAnnotation: "true"}
			controllertest.Create(c, n)
			pvc := controllertest.Create(c, &corev1.PersistentVolumeClaim{ObjectMeta: controllertest.Name("default", "data"), Spec: claimSpec()})
			controllertest.Update(c, "default", "data", func(p *corev1.PersistentVolumeClaim) { p.Spec.VolumeName = "disk-1" })
			v := diskVolume("disk-1")
			v.Spec.HostPath, v.Spec.CSI = nil, &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: "1"}
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "default", Name: "data", UID: pvc.UID}
			controllertest.Create(c, v)
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			p.Spec.NodeName = "node-1"
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			controllertest.Create(c, p)
		},
		after: func(c *controllertest.Cluster) {
			for _, a := range controllertest.List[*storagev1.VolumeAttachment](c, "") {
				controllertest.UpdateStatus(c, "", a.Name, func(a *storagev1.VolumeAttachment) { a.Status.Attached = true })
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "", func(a *storagev1.VolumeAttachment) any { return a.Spec.NodeName }),
				list(c, "", func(n *corev1.Node) any { return n.Status.VolumesAttached })...)
		}},
	{controller: "resourceclaim-controller",
		before: func(c *controllertest.Cluster) {
			template := &resourcev1.ResourceClaimTemplate{ObjectMeta: controllertest.Name("default", "gpu")}
			template.Spec.Spec = deviceClaim()
			controllertest.Create(c, template)
			p := &corev1.Pod{ObjectMeta: controllertest.Name("default", "web"), Spec: podTemplate().Spec}
			p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "a", ResourceClaimTemplateName: new("gpu")}, {Name: "b", ResourceClaimTemplateName: new("gpu")}}
			controllertest.Create(c, p)
			controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", "shared"), Spec: deviceClaim()})
		},
		// Someone else has allocated the claims, and another consumer of one of them is gone.
		after: func(c *controllertest.Cluster) {
			for _, claim := range controllertest.List[*resourcev1.ResourceClaim](c, "default") {
				controllertest.Update(c, "default", claim.Name, func(r *resourcev1.ResourceClaim) { r.Finalizers = []string{resourcev1.Finalizer} })
				controllertest.UpdateStatus(c, "default", claim.Name, func(r *resourcev1.ResourceClaim) {
					r.Status.Allocation = &resourcev1.AllocationResult{}
					r.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "gone", UID: "1"}}
				})
			}
		},
		// A finalizer without an allocation may stay until the claim is deleted: it may be that of a
		// scheduler which is about to allocate.
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(r *resourcev1.ResourceClaim) any {
				return fmt.Sprint(r.Annotations, r.Status.Allocation != nil, r.Status.ReservedFor)
			}), list(c, "default", func(p *corev1.Pod) any { return len(p.Status.ResourceClaimStatuses) })...)
		}},
	{controller: "device-taint-eviction-controller",
		before: func(c *controllertest.Cluster) {
			for i := range 2 {
				createDeviceUser(c, fmt.Sprint("web-", i))
			}
		},
		after: func(c *controllertest.Cluster) {
			r := &resourcev1beta2.DeviceTaintRule{ObjectMeta: controllertest.Name("", "broken")}
			r.Spec.DeviceSelector = &resourcev1beta2.DeviceTaintSelector{}
			r.Spec.Taint = resourcev1.DeviceTaint{Key: "broken", Effect: resourcev1.DeviceTaintEffectNoExecute}
			controllertest.Create(c, r)
		},
		// How many pods were evicted is counted from the start of a process.
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(p *corev1.Pod) any { return len(p.Status.Conditions) }),
				list(c, "", func(r *resourcev1beta2.DeviceTaintRule) any { return r.Status.Conditions[0].Status })...)
		}},
	{controller: "storageversion-garbage-collector-controller",
		before: func(c *controllertest.Cluster) {
			lease := &coordinationv1.Lease{ObjectMeta: controllertest.Name("kube-system", "runs")}
			lease.Labels = map[string]string{"apiserver.kubernetes.io/identity": "kube-apiserver"}
			controllertest.Create(c, lease)
			for i, servers := range [][]string{{"runs", "ended"}, {"ended"}, {"runs"}} {
				name := fmt.Sprint("core.r", i)
				controllertest.Create(c, &apiserverinternalv1alpha1.StorageVersion{ObjectMeta: controllertest.Name("", name)})
				controllertest.UpdateStatus(c, "", name, func(v *apiserverinternalv1alpha1.StorageVersion) {
					for _, id := range servers {
						v.Report(apiserverinternalv1alpha1.ServerStorageVersion{APIServerID: id, EncodingVersion: "v1", DecodableVersions: []string{"v1"}}, metav1.Now().Truncated())
					}
				})
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(v *apiserverinternalv1alpha1.StorageVersion) any { return len(v.Status.StorageVersions) })
		}},
	{controller: "resourcepoolstatusrequest-controller",
		before: func(c *controllertest.Cluster) {
			s := &resourcev1.ResourceSlice{ObjectMeta: controllertest.Name("", "gpus")}
			s.Spec.Driver, s.Spec.AllNodes, s.Spec.Devices = "example.com", new(true), []resourcev1.Device{{Name: "gpu-0"}}
			s.Spec.Pool = resourcev1.ResourcePool{Name: "a", Generation: 1, ResourceSliceCount: 1}
			controllertest.Create(c, s)
			c.Sleep(10 * time.Second) // the controller reads copies of slices
			for _, name := range []string{"one", "two"} {
				controllertest.Create(c, &resourcev1alpha3.ResourcePoolStatusRequest{ObjectMeta: controllertest.Name("", name), Spec: resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: "example.com"}})
			}
		},
		after: func(c *controllertest.Cluster) {
			c.Sleep(time.Hour)
			controllertest.Create(c, &resourcev1alpha3.ResourcePoolStatusRequest{ObjectMeta: controllertest.Name("", "three"), Spec: resourcev1alpha3.ResourcePoolStatusRequestSpec{Driver: "example.com"}})
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(r *resourcev1alpha3.ResourcePoolStatusRequest) any { return *r.Status.Pools[0].AvailableDevices })
		}},
	{controller: "horizontal-pod-autoscaler-controller",
		before: func(c *controllertest.Cluster) {
			rs := &appsv1.ReplicaSet{ObjectMeta: controllertest.Name("default", "web")}
			rs.Spec.Replicas, rs.Spec.Template = new(int32(1)), podTemplate()
			rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: rs.Spec.Template.Labels}
			controllertest.Create(c, rs)
			controllertest.UpdateStatus(c, "default", "web", func(rs *appsv1.ReplicaSet) { rs.Status.Replicas = 1 })
			createAutoscaler(c, "web")
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(rs *appsv1.ReplicaSet) any { return *rs.Spec.Replicas }),
				list(c, "default", func(h *autoscalingv2.HorizontalPodAutoscaler) any {
					return fmt.Sprint(h.Status.CurrentReplicas, h.Status.DesiredReplicas, len(h.Status.Conditions))
				})...)
		}},
	{controller: "bootstrap-signer-controller",
		before: func(c *controllertest.Cluster) {
			controllertest.Create(c, bootstrapToken("aaaaaa", ""))
			cm := &corev1.ConfigMap{ObjectMeta: controllertest.Name("kube-public", "cluster-info")}
			cm.Data = map[string]string{"kubeconfig": "text"}
			controllertest.Create(c, cm)
		},
		after: func(c *controllertest.Cluster) { controllertest.Create(c, bootstrapToken("bbbbbb", "")) },
		state: func(c *controllertest.Cluster) []string {
			return list(c, "kube-public", func(m *corev1.ConfigMap) any { return m.Data })
		}},
	{controller: "token-cleaner-controller",
		before: func(c *controllertest.Cluster) {
			for _, id := range []string{"aaaaaa", "bbbbbb"} {
				controllertest.Create(c, bootstrapToken(id, "1999-01-01T00:00:00Z"))
			}
			controllertest.Create(c, bootstrapToken("cccccc", ""))
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "kube-system", func(s *corev1.Secret) any { return s.Type })
		}},
	{controller: "podcertificaterequest-cleaner-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				controllertest.Create(c, podCertificateRequest(name))
			}
			c.Sleep(15 * time.Minute)
			controllertest.Create(c, podCertificateRequest("c"))
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "default", func(r *certificatesv1beta1.PodCertificateRequest) any { return r.Spec.PodName })
		}},
	{controller: "kube-apiserver-serving-clustertrustbundle-publisher-controller",
		before: func(c *controllertest.Cluster) {
			for _, name := range []string{"a", "b"} {
				b := &certificatesv1beta1.ClusterTrustBundle{ObjectMeta: controllertest.Name("", "kubernetes.io:kube-apiserver-serving:"+name)}
				b.Spec = certificatesv1beta1.ClusterTrustBundleSpec{SignerName: certificates.ServingSigner, TrustBundle: string(rootCA())}
				controllertest.Create(c, b)
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return list(c, "", func(b *certificatesv1beta1.ClusterTrustBundle) any { return b.Spec.TrustBundle })
		}},
	{controller: "serviceaccount-token-controller",
		before: func(c *controllertest.Cluster) {
			for _, account := range []string{"robot", "none"} {
				s := &corev1.Secret{ObjectMeta: controllertest.Name("default", account), Type: corev1.SecretTypeServiceAccountToken}
				s.Annotations = map[string]string{corev1.ServiceAccountNameKey: account}
				if account == "robot" {
					a := &corev1.ServiceAccount{ObjectMeta: controllertest.Name("default", account)}
					a.Secrets = []corev1.ObjectReference{{Name: "later"}}
					controllertest.Create(c, a)
				}
				controllertest.Create(c, s)
			}
		},
		state: func(c *controllertest.Cluster) []string {
			return append(list(c, "default", func(s *corev1.Secret) any { return len(s.Data) }),
				list(c, "default", func(a *corev1.ServiceAccount) any { return a.Secrets })...)
		}},
}

// queueLength is a metric that is always 25.
type queueLength struct {
	horizontalpodautoscaler.Metrics
}

func (queueLength) External(context.Context, string, string, labels.Selector) ([]int64, error) {
	return []int64{25_000}, nil
}

// rootCA is the certificate of an authority.
var rootCA = sync.OnceValue(func() []byte {
	a, err := certs.NewAuthority("root")
	if err != nil {
		panic(err)
	}
	return a.CertPEM()
})

// podCertificateRequest is a request with a new key.
func podCertificateRequest(name string) *certificatesv1beta1.PodCertificateRequest {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	stub, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		panic(err)
	}
	r := &certificatesv1beta1.PodCertificateRequest{ObjectMeta: controllertest.Name("default", name)}
	r.Spec = certificatesv1beta1.PodCertificateRequestSpec{SignerName: "example.com/signer", PodName: "web", PodUID: "1", ServiceAccountName: "default", ServiceAccountUID: "2",
		NodeName: "node-1", NodeUID: "3", StubPKCS10Request: stub}
	return r
}

// createDeviceUser creates a pod on node-1 and the claim of its name, which has the device of that name.
func createDeviceUser(c *controllertest.Cluster, name string) {
	controllertest.Create(c, &resourcev1.ResourceClaim{ObjectMeta: controllertest.Name("default", name), Spec: deviceClaim()})
	p := &corev1.Pod{ObjectMeta: controllertest.Name("default", name), Spec: podTemplate().Spec}
	p.Spec.NodeName, p.Spec.ResourceClaims = "node-1", []corev1.PodResourceClaim{{Name: "a", ResourceClaimName: &name}}
	p = controllertest.Create(c, p)
	controllertest.UpdateStatus(c, "default", name, func(r *resourcev1.ResourceClaim) {
		r.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Request: "gpu", Driver: "example.com", Pool: "a", Device: name}}}}
		r.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: p.UID}}
	})
}

// deviceClaim is a request for one device.
func deviceClaim() resourcev1.ResourceClaimSpec {
	request := resourcev1.DeviceRequest{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}
	return resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}}}
}

// work is a Job of two pods.
func work() *batchv1.Job {
	j := &batchv1.Job{ObjectMeta: controllertest.Name("default", "work")}
	j.Spec.Completions, j.Spec.Parallelism, j.Spec.Template = new(int32(2)), new(int32(2)), podTemplate()
	j.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return j
}

func claimSpec() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}
}

// diskVolume is a volume of the class "disk", which is kept when its claim is deleted.
func diskVolume(name string) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: controllertest.Name("", name)}
	v.Spec.AccessModes, v.Spec.Capacity, v.Spec.StorageClassName = claimSpec().AccessModes, claimSpec().Resources.Requests, "disk"
	v.Spec.PersistentVolumeReclaimPolicy, v.Spec.HostPath = corev1.PersistentVolumeReclaimRetain, &corev1.HostPathVolumeSource{Path: "/data"}
	return v
}

func claimState(p *corev1.PersistentVolumeClaim) any { return p.Spec.AccessModes }

func bootstrapToken(id, expiration string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: controllertest.Name("kube-system", "bootstrap-token-"+id), Type: corev1.SecretTypeBootstrapToken}
	s.Data = map[string][]byte{"token-id": []byte(id), "token-secret": []byte("0123456789abcdef"), "usage-bootstrap-signing": []byte("true")}
	if expiration != "" {
		s.Data["expiration"] = []byte(expiration)
	}
	return s
}

// withWork are options with which every controller has work to do.
func withWork(t testing.TB) builtin.Options {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	authority, err := certs.NewAuthority("signer")
	require.NoError(t, err)
	return builtin.Options{TokenKey: key, UnusedTokens: 24 * time.Hour, RootCA: rootCA(), Gated: gated(), HorizontalPodAutoscaler: horizontalpodautoscaler.Options{Metrics: queueLength{}},
		NodeIPAM: nodeipam.Options{ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}},
		Signing:  certificates.SigningOptions{Cert: authority.Cert, Key: authority.Key}}
}

// histories are those of all controllers, with the options that they need.
func histories(t *testing.T) ([]restart, builtin.Options) {
	opts := withWork(t)
	all := slices.Concat(restarts, clusterRestarts)
	for _, name := range builtin.Names() {
		if name == "persistentvolume-expander-controller" || name == "selinux-warning-controller" {
			continue // they write events only
		}
		require.True(t, slices.ContainsFunc(all, func(r restart) bool { return r.controller == name }), "there is no history of %s", name)
	}
	return all, opts
}

// outcomes are those without faults by controller, which all tests of a history compare with.
var outcomes = map[string]outcome{}

// undisturbed is the outcome without faults.
func (r *restart) undisturbed(t *testing.T, opts builtin.Options) outcome {
	end, known := outcomes[r.controller]
	if !known {
		end = r.play(t, func(c *controllertest.Cluster) func() {
			r.start(c, "first", opts)
			return func() { r.requireAccount(t, c.History()) }
		})
		require.NotEmpty(t, end.state)
		outcomes[r.controller] = end
	}
	return end
}

// requireAccount requires that the controller has written as one service account, and nothing as the user of
// its process. That of tokens, which may be what accounts connect by, is the exception.
func (r *restart) requireAccount(t *testing.T, h *controllertest.History) {
	users := map[string]bool{}
	for _, w := range h.Writes {
		if isProcess(w.User) {
			users[w.User] = true
		}
	}
	require.Equal(t, r.controller == "serviceaccount-token-controller", users[starter.Name])
	require.LessOrEqual(t, len(users), 1, "%v", users)
}

// A process that ends at any of its writes, with or without the write being done, leaves what another one
// completes: the outcome is that of a process that does not end.
func TestRestartAtEveryWrite(t *testing.T) {
	all, opts := histories(t)
	for _, r := range all {
		t.Run(r.controller, func(t *testing.T) {
			want := r.undisturbed(t, opts)
			writes := 0
			for ended := true; ended; writes++ {
				for _, done := range []bool{true, false} {
					if testing.Short() && !done {
						continue
					}
					var got outcome
					got, ended = r.crashed(t, opts, writes, done)
					require.Equal(t, want, got, "the process ended at write %d, done %t", writes, done)
				}
			}
			require.Greater(t, writes, 1, "the controller writes nothing")
		})
	}
}
